"""What a user can choose about the ends and beginnings of a node: how a kubelet comes back, how a pod is deleted."""

from __future__ import annotations

from math import inf

from attrs import frozen

from kubelet_sim.errors import UsageError


@frozen
class Comeback:
    """How a kubelet process comes back. By default nothing was lost meanwhile, and its socket is there at once."""

    socket_after_s: float = 0.0
    """How long the new process takes from the cleaned directory to the listening socket, on the node's clock."""
    keeps_checkpoint: bool = True
    """Whether the checkpoint is still there. Rules: DM-113"""
    keeps_directory: bool = True
    """Whether the device-plugin directory is; it goes with all that lies in it, the checkpoint and plugins' sockets."""
    same_inode: bool = False
    """Whether the socket gets the inode number that the one before it had, where the file system gives it."""

    runtime_after_s: float = 0.0
    """How long the container runtime is not ready yet, on the node's clock: so long the new process does nothing but tell
    the API server of the node. Rules: DM-5, DM-68"""

    @property
    def is_late(self) -> bool:
        """Whether the socket is not there at once."""
        return bool(self.socket_after_s or self.runtime_after_s)

    def check(self) -> None:
        """Raises `UsageError` for what no kubelet could do."""
        if not 0 <= self.runtime_after_s < inf:
            raise UsageError(f"a runtime is ready after 0 seconds or more, not after {self.runtime_after_s}")
        if not 0 <= self.socket_after_s < inf:
            raise UsageError(f"a socket appears after 0 seconds or more, not after {self.socket_after_s}")


AS_USUAL = Comeback()


@frozen
class Deletion:
    """How a pod is deleted, as `kubectl delete` has it. By default gracefully, and until the pod is gone."""

    grace_s: float | None = None
    """How long its containers may take to stop, on the node's clock; `None`: as the pod says."""
    is_forced: bool = False
    """Whether the API server forgets it at once, while its containers are still stopping. Rules: DM-116"""
    waits: bool = True
    """Whether to wait until it is gone."""

    def check(self) -> None:
        """Raises `UsageError` for a time that is none."""
        if self.grace_s is not None and not 0 <= self.grace_s < inf:
            raise UsageError(f"a grace period is 0 seconds or more, not {self.grace_s}")


GRACEFUL = Deletion()
