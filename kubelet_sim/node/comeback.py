"""How a kubelet process comes back: what happened to its directory while it was away, and how soon its socket appears."""

from __future__ import annotations

import shutil

from attrs import frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.node.layout import RootLayout


@frozen
class Comeback:
    """By default nothing was lost, and the socket is there at once."""

    socket_after_s: float = 0.0
    """How long the new process takes from the cleaned directory to the listening socket, on the node's clock."""
    keeps_checkpoint: bool = True
    """Whether the checkpoint is still there. Rules: DM-113"""
    keeps_directory: bool = True
    """Whether the device-plugin directory is; it goes with all that lies in it, the checkpoint and plugins' sockets."""

    def check(self) -> None:
        """Raises `UsageError` for what no kubelet could do."""
        if not 0 <= self.socket_after_s < float("inf"):
            raise UsageError(f"a socket appears after 0 seconds or more, not after {self.socket_after_s}")

    def lose_files(self, layout: RootLayout) -> list[str]:
        """Remove what is lost, and say of what; the root is ours, and no kubelet runs."""
        lost = []
        if not self.keeps_directory:
            shutil.rmtree(layout.device_plugins, ignore_errors=True)
            lost.append("the device-plugin directory")
        elif not self.keeps_checkpoint and layout.checkpoint.is_file():
            layout.checkpoint.unlink()
            lost.append("the checkpoint")
        return lost


AS_USUAL = Comeback()
