"""What is under way: tasks that end with their owner, and work that must not be left half done."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Tasks:
    """The tasks of one owner, which end with it at the latest; each is forgotten when it is over."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def run(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Set the work going in the loop that runs."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def over(self) -> None:
        """Return when none is under way any more, except the task that asks; those that come meanwhile count, too."""
        while tasks := self._others():
            await asyncio.wait(tasks)

    async def cancel(self) -> None:
        """Cancel them all, except the task that asks, and return when they are over, however they ended."""
        tasks = self._others()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _others(self) -> list[asyncio.Task[Any]]:
        mine = asyncio.current_task()
        return [task for task in self._tasks if task is not mine]


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """What the work returns, such as cleaning up, which is never left half done: a cancellation waits for its end."""
    task = asyncio.get_running_loop().create_task(work)
    interruption: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as cancelled:
            interruption = cancelled
    if interruption is not None and (task.cancelled() or task.exception() is None):
        raise interruption
    return task.result()
