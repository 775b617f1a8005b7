"""Keeps two known complaints of the gRPC library out of the logs.

All event loops of a process share its queue of events. In older versions (seen in 1.63, not in 1.85) a loop that another
thread's loop has beaten to an event finds nothing to read, and asyncio logs a `BlockingIOError`. And an event may come for a
loop that was closed with a call cut in it (seen in 1.85, rarely): whichever loop finds it cannot hand it on. Nothing is lost
by either.
"""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakSet

_quiet: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


def hush(loop: asyncio.AbstractEventLoop) -> None:
    """Drop these complaints on this loop; every other goes where it went before. May be repeated."""
    if loop in _quiet:
        return
    _quiet.add(loop)
    before = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if _is_known(context):
            return
        if before is None:
            loop.default_exception_handler(context)
        else:
            before(loop, context)

    loop.set_exception_handler(handle)


def _is_known(context: dict[str, Any]) -> bool:
    error = context.get("exception")
    is_for_nobody = isinstance(error, RuntimeError) and str(error) == "Event loop is closed"
    is_pollers = "PollerCompletionQueue._handle_events" in repr(context.get("handle"))
    return is_pollers and (is_for_nobody or isinstance(error, BlockingIOError))
