"""Waiting for what may come at any time: whoever knows of a change rings, whoever waits looks again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from kubelet_sim.errors import TransportError

T = TypeVar("T")
PATIENCE_S = 15.0
"""How long something that has to happen may take, in real time."""
_POLL_S = 0.1
"""How often is looked again at what rings no bell: files, processes."""


class Bell:
    """Rings when something may have changed; whoever waits looks again then."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Event] = set()

    def ring(self, *_: object) -> None:
        """Wake everybody who waits: something may have changed."""
        for event in self._waiting:
            event.set()

    @contextlib.contextmanager
    def listening(self) -> Iterator[Callable[[float], Awaitable[bool]]]:
        """Listen from now on; the answer returns when it has rung, or false after so many seconds of real time."""
        with self._rung() as rung:

            async def until(seconds: float) -> bool:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(rung.wait(), seconds)
                return rung.is_set()

            yield until

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Return when it holds. Raises `TransportError`, which says what was waited for, if that takes too long."""
        with self._rung() as rung:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    while not holds():
                        rung.clear()
                        await rung.wait()
            except TimeoutError:
                raise TransportError(f"{what} did not happen within {PATIENCE_S:g} s") from None

    async def first(self, look: Callable[[], T | None], within_s: float) -> T | None:
        """The first true answer of `look`; `None` if there is none within so many real seconds.

        What rings no bell is seen as well, a moment later.
        """
        deadline = time.monotonic() + within_s
        with self._rung() as rung:
            while True:
                rung.clear()
                if answer := look():
                    return answer
                if (left_s := deadline - time.monotonic()) <= 0:
                    return None
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left_s, _POLL_S)):
                        await rung.wait()

    @contextlib.contextmanager
    def _rung(self) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            yield event
        finally:
            self._waiting.discard(event)
