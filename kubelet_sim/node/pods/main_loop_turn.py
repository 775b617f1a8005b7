"""Whose turn it is, and since when: a main loop that has been at one thing for too long is not well."""

from __future__ import annotations

import asyncio

from attrs import define, field

from kubelet_sim.node.ports import Clock


@define
class Turn:
    """Held by whoever the main loop is busy with; an asynchronous context manager."""

    _clock: Clock
    _lock: asyncio.Lock = field(factory=asyncio.Lock)
    _since_s: float = 0.0

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        self._since_s = self._clock.now()

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()

    def held_for_s(self) -> float:
        """How long somebody has held the turn; 0 if nobody does."""
        return self._clock.now() - self._since_s if self._lock.locked() else 0.0
