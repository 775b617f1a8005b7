from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.node.clock import ManualClock, RealClock, with_timeout
from kubelet_sim.node.ports import Clock
from tests.patience import PATIENCE_S

T = TypeVar("T")


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run to the end within 20 s of real time, and find no task left over."""

    async def watched() -> T:
        async with asyncio.timeout(PATIENCE_S):
            result = await coroutine
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return asyncio.run(watched())


async def _sleeping(clock: Clock, *naps: float, log: list[tuple[float, str]], name: str = "") -> None:
    for nap in naps:
        await clock.sleep(nap)
        log.append((clock.now(), name))


def test_the_real_clock_goes_on() -> None:
    """Real time never goes back, and a sleep takes at least as long as asked."""

    async def run() -> tuple[float, float]:
        clock: Clock = RealClock()
        before = clock.now()
        await clock.sleep(0.01)
        return before, clock.now()

    before, after = _run(run())
    assert after - before >= 0.009


def test_time_stands_still() -> None:
    """A manual clock begins at 0.0 and nobody wakes before it is moved."""

    async def run() -> None:
        clock = ManualClock()
        sleeper = asyncio.create_task(clock.sleep(1e-6))
        await clock.advance(0)
        assert clock.now() == 0.0
        assert not sleeper.done()
        assert clock.sleeper_count == 1
        await clock.advance(1e-6)
        assert sleeper.done()
        assert clock.sleeper_count == 0

    _run(run())


def test_sleepers_wake_in_the_order_of_their_deadlines() -> None:
    """Each sleeper sees its own deadline as the time; equal ones wake in the order of going to sleep."""

    async def run() -> list[tuple[float, str]]:
        clock, log = ManualClock(), list[tuple[float, str]]()
        async with asyncio.TaskGroup() as group:
            for name, nap in (("a", 3.0), ("b", 1.0), ("c", 2.0), ("d", 1.0)):
                group.create_task(_sleeping(clock, nap, log=log, name=name))
            await clock.advance(10)
        assert clock.now() == 10.0
        return log

    assert _run(run()) == [(1.0, "b"), (1.0, "d"), (2.0, "c"), (3.0, "a")]


def test_chains_of_sleeps_happen_on_time() -> None:
    """A task that goes to sleep again within one move wakes at the right times, interleaved with others."""

    async def run() -> list[tuple[float, str]]:
        clock, log = ManualClock(), list[tuple[float, str]]()
        async with asyncio.TaskGroup() as group:
            group.create_task(_sleeping(clock, 2, 2, 2, log=log, name="even"))
            group.create_task(_sleeping(clock, 1, 2, 2, log=log, name="odd"))
            await clock.advance(6)
        return log

    expected = [(1.0, "odd"), (2.0, "even"), (3.0, "odd"), (4.0, "even"), (5.0, "odd"), (6.0, "even")]
    assert _run(run()) == expected


def test_fractions_add_up() -> None:
    """Ten naps of a tenth end within a second, however floats add up."""

    async def run() -> list[tuple[float, str]]:
        clock, log = ManualClock(), list[tuple[float, str]]()
        async with asyncio.TaskGroup() as group:
            group.create_task(_sleeping(clock, *[0.1] * 10, log=log))
            await clock.advance(0.3)
            await clock.advance(0.7)
        return log

    assert [time for time, _ in _run(run())] == [tenth / 10 for tenth in range(1, 11)]


@pytest.mark.parametrize("seconds", [0, -1])
def test_no_sleep_at_all(seconds: float) -> None:
    """A sleep of no time returns without the clock being moved."""
    _run(ManualClock().sleep(seconds))


def test_endless_sleep() -> None:
    """A sleep without end is never over, and can be cancelled."""

    async def run() -> None:
        clock = ManualClock()
        sleeper = asyncio.create_task(clock.sleep(math.inf))
        await clock.advance(10**9)
        assert not sleeper.done()
        sleeper.cancel()
        await asyncio.wait([sleeper])

    _run(run())


def test_a_cancelled_sleeper_is_forgotten() -> None:
    """A sleeper that is cancelled, even in the moment of a move, leaves nothing behind and holds up nobody."""

    async def run() -> None:
        clock, log = ManualClock(), list[tuple[float, str]]()
        doomed = asyncio.create_task(_sleeping(clock, 1, log=log, name="doomed"))
        other = asyncio.create_task(_sleeping(clock, 1, log=log, name="other"))
        await clock.advance(0)
        doomed.cancel()
        await clock.advance(1)
        await asyncio.wait([doomed, other])
        assert log == [(1.0, "other")]
        assert clock.sleeper_count == 0

    _run(run())


@pytest.mark.parametrize("seconds", [-1, math.inf, math.nan])
def test_moves_that_make_no_sense(seconds: float) -> None:
    """Time is not moved back, nor to its end."""
    with pytest.raises(UsageError):
        _run(ManualClock().advance(seconds))


def test_two_who_move_time() -> None:
    """Moves asked for at once happen one after the other, and add up."""

    async def run() -> float:
        clock = ManualClock()
        await asyncio.gather(clock.advance(2), clock.advance(3))
        return clock.now()

    assert _run(run()) == 5.0


def test_work_that_takes_real_time() -> None:
    """With a rule of its own for when the world has settled, a clock waits for work outside of the loop."""

    async def run() -> list[float]:
        idle = asyncio.Event()

        async def settle() -> None:
            await asyncio.sleep(0)
            await idle.wait()

        clock, times = ManualClock(settle), []

        async def work() -> None:
            for _ in range(3):
                idle.set()
                await clock.sleep(10)
                idle.clear()
                await asyncio.to_thread(lambda: None)
                times.append(clock.now())
            idle.set()

        async with asyncio.TaskGroup() as group:
            group.create_task(work())
            await clock.advance(30)
        return times

    assert _run(run()) == [10.0, 20.0, 30.0]


async def _advanced(clock: ManualClock, seconds: float, awaitable: Awaitable[T]) -> T:
    task = asyncio.ensure_future(awaitable)
    await clock.advance(seconds)
    return await task


def test_work_that_ends_in_time_gives_its_result() -> None:
    """What ends before or at the deadline gives its result, and the timer is gone."""

    async def run() -> int:
        clock = ManualClock()

        async def work() -> int:
            await clock.sleep(1)
            return 7

        result = await _advanced(clock, 1, with_timeout(clock, work(), 1))
        assert clock.sleeper_count == 0
        return result

    assert _run(run()) == 7


def test_work_that_is_late_is_cancelled_before_the_error() -> None:
    """At the deadline the work is cancelled, and its clean-up is over before the error is raised."""

    async def run() -> None:
        clock, steps = ManualClock(), []

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                steps.append(clock.now())

        with pytest.raises(TimeoutError):
            await _advanced(clock, 60, with_timeout(clock, work(), 10))
        assert steps == [10.0]

    _run(run())


def test_the_work_fails() -> None:
    """The work's own error is raised, in time or while it is being cancelled."""

    async def run() -> None:
        clock = ManualClock()

        async def work(seconds: float) -> None:
            try:
                await clock.sleep(seconds)
            finally:
                raise KeyError(seconds)

        with pytest.raises(KeyError, match="1"):
            await _advanced(clock, 60, with_timeout(clock, work(1), 10))
        with pytest.raises(KeyError, match="20"):
            await _advanced(clock, 60, with_timeout(clock, work(20), 10))

    _run(run())


def test_the_caller_is_cancelled() -> None:
    """A cancelled caller takes the work with it, and waits for its clean-up however often it is cancelled."""

    async def run() -> None:
        clock, steps, may_end = ManualClock(), [], asyncio.Event()

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                while not may_end.is_set():
                    try:
                        await may_end.wait()
                    except asyncio.CancelledError:
                        steps.append("cancelled again")
                steps.append("cleaned up")
                raise

        caller = asyncio.create_task(with_timeout(clock, work(), 10))
        await clock.advance(1)
        for _ in range(2):
            caller.cancel()
            await clock.advance(1)
        assert not caller.done()
        may_end.set()
        await asyncio.wait([caller])
        assert caller.cancelled()
        assert steps == ["cancelled again", "cleaned up"]
        assert clock.sleeper_count == 0

    _run(run())
