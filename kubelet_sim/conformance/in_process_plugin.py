"""A plugin in our own process, for plugins written in Python: a context manager that serves as long as it is entered.

It has no pid, hears no signal and says nothing that we could keep; checks that need a process are skipped for it.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from kubelet_sim.errors import UsageError
from kubelet_sim.node.plugin.launch import Launch
from kubelet_sim.node.plugin.plugin_output import OutputLine
from kubelet_sim.node.plugin.plugin_process import PluginProcess
from kubelet_sim.node.root_directory.layout import RootLayout

Start = Callable[[Path], AbstractContextManager[object]]
"""Given the device-plugin directory, a plugin that serves there from its entry, registered or about to be, to its exit."""
_ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)


class InProcessPlugin(PluginProcess):
    """Fits where a `PluginProcess` does. It is entered and left in threads of its own: it may block, and have threads.

    Args:
        start: makes it.
        layout: where the node is.
        changed: called when it has ended.
    """

    def __init__(self, start: Start, layout: RootLayout, changed: Callable[[], None] = lambda: None) -> None:
        super().__init__(Launch((), layout), changed)
        self._start = start
        self._directory = layout.device_plugins
        self._is_changed = changed
        self._context: AbstractContextManager[object] | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._code: int | None = None

    @property
    def pid(self) -> int | None:
        """None: it is not a process."""
        return None

    @property
    def was_started(self) -> bool:
        """Whether the context manager was ever entered."""
        return self.started_at_s is not None

    @property
    def has_ended(self) -> bool:
        """Whether it was entered and left, or could not be entered."""
        return self.was_started and self.ended_at_s is not None

    @property
    def exit_code(self) -> int | None:
        """0 after it was left, 1 if it raised; `None` meanwhile."""
        return self._code

    async def start(self) -> None:
        """Enter it. What it raises is its output, and it has ended with 1. Raises `UsageError` if it runs already."""
        if self.was_started and not self.has_ended:
            raise UsageError("the plugin runs already")
        self.started_at_s, self.ended_at_s, self._code, self._leaving = time.monotonic(), None, None, None

        def enter() -> None:
            context = self._start(self._directory)
            context.__enter__()
            self._context = context

        if not await self._do(enter):
            self._end(1)

    def signal(self, number: int) -> None:
        """Leave it, for a signal that would end a process; no other reaches it."""
        if number in _ENDS and self._context is not None and self._leaving is None:
            self._leaving = asyncio.get_running_loop().create_task(self._leave(self._context))

    async def ended(self, within_s: float) -> bool:
        """Whether it is left within so many seconds; nobody leaves it for that."""
        if self._leaving is not None:
            await asyncio.wait({self._leaving}, timeout=within_s)
        return self.has_ended or not self.was_started

    async def kill(self) -> None:
        """Leaves the context manager: there is no harder way."""
        self.signal(signal.SIGKILL)
        await self.ended(5.0)

    async def close(self, grace_s: float = 5.0) -> None:
        """Leave it. One that takes longer than that is given up; its threads go on."""
        self.signal(signal.SIGTERM)
        await self.ended(grace_s)

    def family(self) -> list[int]:
        """Always empty: no process is the plugin's own."""
        return []

    async def _leave(self, context: AbstractContextManager[object]) -> None:
        is_clean = await self._do(lambda: context.__exit__(None, None, None))
        self._context = None
        self._end(0 if is_clean else 1)

    def _end(self, code: int) -> None:
        self._code, self.ended_at_s = code, time.monotonic()
        self._is_changed()

    async def _do(self, work: Callable[[], object]) -> bool:
        """Whether it raised nothing, in a thread that nobody waits for at the end of the process; else that is its output."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        failures: list[str] = []

        def run() -> None:
            try:
                work()
            except BaseException:  # noqa: BLE001 - whatever a plugin raises is told of
                failures.extend(traceback.format_exc().splitlines())
            if not loop.is_closed():
                loop.call_soon_threadsafe(done.set)

        threading.Thread(target=run, name="plugin", daemon=True).start()
        await done.wait()
        self.lines.extend(OutputLine(time.monotonic(), line) for line in failures)
        return not failures
