from __future__ import annotations

import asyncio
import time

from kubelet_sim.conformance.clock import JumpingClock
from tests.patience import PATIENCE_S


def test_who_sleeps_wakes_when_the_time_is_skipped() -> None:
    """Five minutes pass at once for those who waited for them, and not for those who wait for more."""

    async def run() -> None:
        clock, began_s = JumpingClock(), time.monotonic()
        short, long = (asyncio.ensure_future(clock.sleep(s)) for s in (300.0, 600.0))
        await asyncio.sleep(0)
        before = clock.now()
        clock.skip(300.5)
        await asyncio.wait_for(short, PATIENCE_S)
        assert clock.now() - before >= 300.5
        assert not long.done()
        long.cancel()
        assert time.monotonic() - began_s < PATIENCE_S

    asyncio.run(run())


def test_without_a_jump_it_is_real_time() -> None:
    """A sleep of no time ends at once, a short one after it."""

    async def run() -> None:
        clock = JumpingClock()
        await clock.sleep(0)
        await clock.sleep(-1)
        before = clock.now()
        await clock.sleep(0.02)
        assert clock.now() - before >= 0.02

    asyncio.run(run())
