"""To wait for what must not be left half done."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


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
