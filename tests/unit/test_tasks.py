"""What is not left half done."""

from __future__ import annotations

import asyncio

import pytest

from kubelet_sim.tasks import Tasks, to_its_end


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


def test_tasks_end_with_their_owner() -> None:
    """They are forgotten one by one; those that are left are cancelled, but not the one that asks for it."""

    async def body() -> None:
        tasks, ended = Tasks(), asyncio.Event()
        assert await tasks.run(asyncio.sleep(0, "done")) == "done"
        assert len(tasks) == 0
        endless = tasks.run(asyncio.Event().wait())

        async def end() -> None:
            await tasks.cancel()
            ended.set()

        tasks.run(end())
        await ended.wait()
        assert endless.cancelled()
        await tasks.over()
        assert len(tasks) == 0

    asyncio.run(body())


def test_waiting_for_tasks_cancels_none() -> None:
    """Those that are begun meanwhile are waited for, too, and a waiter that is cancelled leaves them alone."""

    async def body() -> None:
        tasks, begun = Tasks(), asyncio.Event()

        async def first() -> None:
            await begun.wait()
            tasks.run(asyncio.sleep(0))

        task = tasks.run(first())
        waiting = asyncio.create_task(tasks.over())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
        assert not task.done()
        begun.set()
        await tasks.over()
        assert len(tasks) == 0

    asyncio.run(body())
