"""A clock that runs as the machine's does and can jump: the node's own times pass at once, a plugin gets its real ones.

Whoever jumps sees to it that nothing waits for a plugin just then (`CheckContext.skip` does): a dial that has waited one of its
ten seconds must not be told that they are over.
"""

from __future__ import annotations

import asyncio
import time


class JumpingClock:
    """Real time, and whatever was skipped; fits `kubelet_sim.node.ports.Clock`."""

    def __init__(self) -> None:
        self._skipped_s = 0.0
        self._jumped: set[asyncio.Event] = set()

    def now(self) -> float:
        """Seconds since an arbitrary start; never goes back."""
        return time.monotonic() + self._skipped_s

    async def sleep(self, seconds: float) -> None:
        """Return when so much time has passed or was skipped."""
        deadline, jumped = self.now() + seconds, asyncio.Event()
        self._jumped.add(jumped)
        try:
            while (left_s := deadline - self.now()) > 0:
                jumped.clear()
                try:
                    async with asyncio.timeout(left_s):
                        await jumped.wait()
                except TimeoutError:
                    return
        finally:
            self._jumped.discard(jumped)
        if seconds <= 0:
            await asyncio.sleep(0)

    def skip(self, seconds: float) -> None:
        """Let so much time have passed; who slept until then wakes."""
        self._skipped_s += seconds
        for jumped in self._jumped:
            jumped.set()
