"""The node's time, real or moved by hand, and deadlines that run on it.

Every timer of ours asks a `Clock` (see `ports`); what a plugin does takes real time all the same, which is why whoever
moves a `ManualClock` may have to say when the world has settled.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from attrs import define

from kubelet_sim.errors import UsageError
from kubelet_sim.node.ports import Clock

_T = TypeVar("_T")

_NS_PER_S = 1_000_000_000
# How often the loop goes round before a task that was woken counts as waiting again. A walk through a few layers of
# tasks takes two to five rounds; a round costs some microseconds.
_SETTLING_ROUNDS = 50


class RealClock:
    """The clock that runs as the machine's monotonic time does."""

    def now(self) -> float:
        """Seconds since an arbitrary start; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds of real time."""
        await asyncio.sleep(seconds)


async def settle() -> None:
    """Let all tasks that can go on without the outside world go on until they wait."""
    for _ in range(_SETTLING_ROUNDS):
        await asyncio.sleep(0)


@define(eq=False)
class _Sleeper:
    deadline_ns: int
    woken: asyncio.Future[None]


class ManualClock:
    """Time that stands still until `advance` moves it; it begins at 0.0.

    Times are kept in whole nanoseconds, so that ten sleeps of 0.1 s end exactly when one of 1 s does.
    """

    def __init__(self, settle: Callable[[], Awaitable[None]] = settle) -> None:
        """`settle` is awaited before time moves and after each step: it returns when nobody has anything to do now."""
        self._now_ns = 0
        self._settlers = [settle]
        self._sleepers: list[_Sleeper] = []
        self._moving = asyncio.Lock()

    @property
    def sleeper_count(self) -> int:
        """How many wait for time to move."""
        return len(self._sleepers)

    def also_settle(self, settle: Callable[[], Awaitable[None]]) -> Callable[[], None]:
        """Wait for one more before time moves, such as a thread that the loop does not see; the answer ends that."""
        self._settlers.append(settle)
        return lambda: self._settlers.remove(settle)

    def now(self) -> float:
        """Seconds since the clock was made."""
        return self._now_ns / _NS_PER_S

    async def sleep(self, seconds: float) -> None:
        """Return when time has been moved so far; at once, after one turn of the loop, if that is no time at all."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        if math.isinf(seconds):
            await asyncio.get_running_loop().create_future()
        sleeper = _Sleeper(self._now_ns + max(1, _nanoseconds(seconds)), asyncio.get_running_loop().create_future())
        self._sleepers.append(sleeper)
        try:
            await sleeper.woken
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)

    async def advance(self, seconds: float) -> None:
        """Move time on, stopping at each deadline on the way until those who slept until then wait again.

        Sleepers with the same deadline wake in the order in which they went to sleep. Two callers at once move one
        after the other. Raises `UsageError` for a time that is negative or endless.
        """
        if not 0 <= seconds < math.inf:
            raise UsageError(f"a clock can be moved on by 0 seconds or more, not by {seconds}")
        async with self._moving:
            await self._settle()
            end_ns = self._now_ns + _nanoseconds(seconds)
            while due := self._next_due(end_ns):
                self._now_ns = due[0].deadline_ns
                for sleeper in due:
                    self._sleepers.remove(sleeper)
                    if not sleeper.woken.done():  # else it was cancelled, and has not run yet
                        sleeper.woken.set_result(None)
                await self._settle()
            self._now_ns = end_ns

    async def _settle(self) -> None:
        for settle in tuple(self._settlers):
            await settle()

    def _next_due(self, end_ns: int) -> list[_Sleeper]:
        first_ns = min((sleeper.deadline_ns for sleeper in self._sleepers), default=end_ns)
        return [sleeper for sleeper in self._sleepers if sleeper.deadline_ns == first_ns <= end_ns]


def _nanoseconds(seconds: float) -> int:
    return round(seconds * _NS_PER_S)


async def all_over(under_way: Callable[[], Mapping[asyncio.Task[Any], float]]) -> None:
    """For `ManualClock.also_settle`: return when none of these tasks is under way whose end, in the loop's time, is to come."""
    loop = asyncio.get_running_loop()
    while waiting := {task: until_s for task, until_s in under_way().items() if until_s > loop.time()}:
        await asyncio.wait(waiting, timeout=max(waiting.values()) - loop.time())
        await settle()


async def with_timeout(clock: Clock, awaitable: Awaitable[_T], seconds: float) -> _T:
    """What the awaitable returns, if it does within so many seconds of the clock.

    Else it is cancelled, and when it has ended `TimeoutError` is raised; if it answers its cancellation with a result
    or another error, that is the outcome. When the caller is cancelled, so is the awaitable, and its end is awaited.
    """
    work = asyncio.ensure_future(awaitable)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait((work, timer), return_when=asyncio.FIRST_COMPLETED)
        timed_out = not work.done()
    finally:
        await _end(work, timer)
    if timed_out and work.cancelled():
        raise TimeoutError
    return work.result()


async def _end(*tasks: asyncio.Future[Any]) -> None:
    """Cancel and wait, through further cancellations of the caller, so that nothing is left running."""
    interruption: asyncio.CancelledError | None = None
    while running := [task for task in tasks if not task.done()]:
        for task in running:
            task.cancel()
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError as exc:
            interruption = exc
    for task in tasks:
        if not task.cancelled():
            task.exception()  # looked at, or asyncio complains of an error that nobody asked for
    if interruption:
        raise interruption
