"""The way of a change of device health from the reader of a stream to the kubelet's main loop.

In 1.31 there is no room on it: the reader waits until the main loop takes the notice, and reads no further list. Later
it holds a hundred notices, and one that does not fit is lost. Which pods a notice names is decided in the core.
"""

from __future__ import annotations

import asyncio
from collections import deque

from kubelet_sim.model.ids import PodUID
from kubelet_sim.transcript import RecordLevel, Transcript

ROOM = 100
"""Messages that wait for the main loop. Rules: DM-158"""

Notice = tuple[PodUID, ...]


class Notices:
    """Those of one kubelet process, oldest first.

    Args:
        transcript: is told of what is lost.
        has_room: whether the notices have a queue; otherwise whoever puts one waits (DM-174).
    """

    def __init__(self, transcript: Transcript, *, has_room: bool = True) -> None:
        self._transcript = transcript
        self._has_room = has_room
        self._waiting: deque[tuple[Notice, asyncio.Event]] = deque()
        self._is_there = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    async def put(self, pods: Notice) -> None:
        """Hand a notice over. Rules: DM-158, DM-174, DM-175"""
        if self._has_room and len(self._waiting) >= ROOM:
            names = ", ".join(pods)
            text = f"discard pods info: device update channel is full: {names} learn of it at their next sync"
            self._transcript.add("effect", "node", text, rules=("DM-158",), level=RecordLevel.WARNING)
            return
        taken = asyncio.Event()
        self._waiting.append((pods, taken))
        self._is_there.set()
        if not self._has_room:
            await taken.wait()

    async def wait(self) -> None:
        """Return when there is one; it stays where it is."""
        await self._is_there.wait()

    def take(self) -> Notice:
        """The oldest one; whoever waits to be rid of it goes on. Only after `wait`."""
        pods, taken = self._waiting.popleft()
        taken.set()
        if not self._waiting:
            self._is_there.clear()
        return pods
