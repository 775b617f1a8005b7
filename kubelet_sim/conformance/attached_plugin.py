"""A plugin that somebody else has started: it registers by itself, and we know of its process what its socket tells."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

import psutil

from kubelet_sim.errors import UsageError
from kubelet_sim.node.faults.signals import listener
from kubelet_sim.node.plugin.plugin_output import OutputLine


class AttachedPlugin:
    """Fits where a `PluginProcess` does; what cannot be done with a process of others raises `UsageError`.

    Args:
        socket_path: of a socket on which it serves; `None` as long as it has not registered.
    """

    can_start = False

    def __init__(self, socket_path: Callable[[], str | None]) -> None:
        self._socket_path = socket_path
        self._pid: int | None = None
        self.lines: deque[OutputLine] = deque()
        """Nothing: its output goes elsewhere."""
        self.started_at_s: float | None = None
        self.ended_at_s: float | None = None
        self.exit_code: int | None = None

    @property
    def pid(self) -> int | None:
        """The process that listens on its socket, if that can be found out and it runs."""
        if self._pid is None and (path := self._socket_path()) is not None:
            self._pid = _listener(path)
        return None if self._pid is None or self.has_ended else self._pid

    @property
    def was_started(self) -> bool:
        """Always true: somebody else has started it."""
        return True

    @property
    def has_ended(self) -> bool:
        """Whether the process that once listened is gone, and no other that somebody started has come into its place."""
        if self._pid is None or psutil.pid_exists(self._pid):
            return False
        path = self._socket_path()
        self._pid = (_listener(path) if path is not None else None) or self._pid
        return not psutil.pid_exists(self._pid)

    def family(self) -> list[int]:
        """The ids of its one process, if that is known."""
        return [] if self.pid is None else [self.pid]

    def output(self, since_s: float = 0.0) -> str:
        """Always empty: what the plugin writes goes elsewhere."""
        del since_s
        return ""

    async def start(self) -> None:
        """Raises `UsageError`: the process is not ours to start."""
        raise UsageError("a plugin that was attached to cannot be started: give its command instead")

    async def ended(self, within_s: float) -> bool:
        """Whether it is gone; it is not waited for."""
        del within_s
        return self.has_ended

    def signal(self, number: int) -> None:
        """Raises `UsageError`: it is not ours."""
        raise UsageError(f"a plugin that was attached to is not sent signal {number}: give its command instead")

    def stop(self) -> None:
        """Raises `UsageError`: it is not ours."""
        self.signal(15)

    async def kill(self) -> None:
        """Does nothing: the process is not ours to end."""

    async def close(self, grace_s: float = 0.0) -> None:
        """Does nothing: the process goes on without us."""
        del grace_s


def _listener(path: str) -> int | None:
    """The process that listens there; `None` if nobody does, or it is in another pid namespace."""
    try:
        return listener(Path(path)).pid or None
    except UsageError:
        return None
