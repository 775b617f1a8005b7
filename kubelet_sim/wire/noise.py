"""Keeps one known complaint of the gRPC library out of the logs.

All event loops of a process share its queue of events. In older versions (seen in 1.63, not in 1.85) a loop that another
thread's loop has beaten to an event finds nothing to read, and asyncio logs a `BlockingIOError`. Nothing is lost by it.
"""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakSet

_quiet: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


def hush(loop: asyncio.AbstractEventLoop) -> None:
    """Drop that complaint on this loop; every other goes where it went before. May be repeated."""
    if loop in _quiet:
        return
    _quiet.add(loop)
    before = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if _is_empty_wakeup(context):
            return
        if before is None:
            loop.default_exception_handler(context)
        else:
            before(loop, context)

    loop.set_exception_handler(handle)


def _is_empty_wakeup(context: dict[str, Any]) -> bool:
    is_pollers = "PollerCompletionQueue._handle_events" in repr(context.get("handle"))
    return is_pollers and isinstance(context.get("exception"), BlockingIOError)
