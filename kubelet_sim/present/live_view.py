"""The live view of a running node: takes looks in the node's loop, and draws them in a thread of its own.

Drawing never holds the node up: the thread draws the newest look only, at most four times a second, and looks are taken
the more rarely the longer one takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from itertools import chain
from typing import IO, TYPE_CHECKING, Self, cast

from attrs import evolve
from rich.console import Console
from rich.live import Live

from kubelet_sim.errors import UsageError
from kubelet_sim.present.dashboard import DeviceChanges, Look, picture

if TYPE_CHECKING:
    from kubelet_sim.node.node import Node

PERIOD_S = 0.25
_AT_LEAST_EVERY_S = 1.0
_SHARE = 10
"""A look that took a second is followed by ten seconds without one."""
_CLOSING_S = 2.0
_LINES = 300
_EVENTS = 50


def is_possible() -> bool:
    """Whether somebody sits at a terminal that can be drawn on."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in {"", "dumb", "unknown"}


class LiveView:
    """Draws on the terminal's other screen between entry and exit; a context manager.

    Args:
        write: writes bytes to the terminal; raises `OSError` when nobody is there any more.
    """

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._look: Look | None = None
        self._is_closing = False
        self._changed = threading.Condition()
        # A daemon, for a write that never returns. It holds no lock of Python's streams, so that ending is safe.
        self._thread = threading.Thread(target=self._draw, name="live", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the terminal back; does not wait for ever for one that is paused."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(_CLOSING_S)

    def line(self, text: str) -> None:
        """Show a line, which is fit for a terminal, among the last ones."""
        with self._changed:
            self._lines.append(text)

    @contextlib.asynccontextmanager
    async def of(self, node: Node) -> AsyncGenerator[None, None]:
        """Follow a node as long as the block lasts."""
        following = asyncio.create_task(self._follow(node))
        try:
            yield
        finally:
            following.cancel()
            await asyncio.wait([following])

    async def _follow(self, node: Node) -> None:
        changes = node.changes()
        try:
            waiting: asyncio.Future[None] = asyncio.ensure_future(anext(changes))
            while True:
                await asyncio.wait([waiting], timeout=_AT_LEAST_EVERY_S)
                if waiting.done():
                    waiting.result()
                    waiting = asyncio.ensure_future(anext(changes))
                began = time.monotonic()
                with contextlib.suppress(UsageError):  # between two kubelets
                    self._show(Look(node.status(), node.events()[-_EVENTS:]))
                await asyncio.sleep(max(PERIOD_S, _SHARE * (time.monotonic() - began)))
        finally:
            waiting.cancel()
            await asyncio.wait([waiting])
            await changes.aclose()

    def _show(self, look: Look) -> None:
        with self._changed:
            self._look = look
            self._changed.notify()

    def _draw(self) -> None:
        looks = self._looks()
        first = next(looks, None)
        if first is None:  # the node could not start: the terminal stays as it is
            return
        changes = DeviceChanges()
        screen = _Screen(self._write)
        stream = cast("IO[str]", screen)
        console = Console(file=stream, force_terminal=True, markup=False, emoji=False, highlight=False)
        live = Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        with live:
            for look in chain([first], looks):
                if screen.is_gone:
                    return
                seen = evolve(look, changes=changes.see(look.snapshot))
                live.update(picture(seen, console.width, console.height), refresh=True)
                time.sleep(PERIOD_S)

    def _looks(self) -> Iterator[Look]:
        """The newest look each time there is a new one, until the end."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._look is not None or self._is_closing)
                if self._is_closing or self._look is None:
                    return
                look, self._look = self._look, None
                lines = tuple(self._lines)
            yield Look(look.snapshot, look.events, lines)


class _Screen(io.TextIOBase):
    """A stream that writes at once, past the buffers and locks of Python's own.

    A terminal that is gone is no error here: rich would end the process for it.
    """

    encoding = "utf-8"

    def __init__(self, write: Callable[[bytes], None]) -> None:
        super().__init__()
        self._out = write
        self.is_gone = False

    def write(self, text: str) -> int:
        if not self.is_gone:
            try:
                self._out(text.encode("utf-8", "backslashreplace"))
            except OSError:
                self.is_gone = True
        return len(text)

    def isatty(self) -> bool:
        return True
