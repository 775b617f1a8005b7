"""Work in an event loop that a signal ends in good order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

import click

T = TypeVar("T")


def run_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """What the work returns. Raises `click.Abort` if a SIGTERM or the end of the terminal cancelled it.

    Ctrl-C is `KeyboardInterrupt`, as in every command. What the work has to clean up is cleaned up in either case.
    """

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this is one
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, task.cancel)
        return await work

    try:
        return asyncio.run(main())
    except asyncio.CancelledError as end:
        raise click.Abort from end
