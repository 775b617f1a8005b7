"""What is not left half done."""

from __future__ import annotations

import asyncio

import pytest

from kubelet_sim.waiting import to_its_end


def test_a_cancellation_waits_for_the_end() -> None:
    """However often it comes; then it goes on."""
    done = []

    async def work() -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        done.append(True)

    async def body() -> None:
        waiting = asyncio.create_task(to_its_end(work()))
        for _ in range(3):
            await asyncio.sleep(0)
            waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert done == [True]

    asyncio.run(body())


def test_what_goes_wrong_is_told_rather_than_the_cancellation() -> None:
    """And without one, what comes is what the work returns."""

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("as it is")

    async def seven() -> int:
        return 7

    async def body() -> None:
        assert await to_its_end(seven()) == 7
        waiting = asyncio.create_task(to_its_end(fails()))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(ValueError, match="as it is"):
            await waiting

    asyncio.run(body())
