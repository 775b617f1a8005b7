"""Work in an event loop that a signal ends in good order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, whoever wants the process to end, the end of the terminal."""


def run_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """What the work returns, in a loop of its own; call it in the main thread.

    A signal that is not ignored cancels the work, and what it has to clean up is cleaned up. It does so between two turns of
    the loop: asyncio's own way for Ctrl-C cancels in the middle of one, which a future that is just getting its result does
    not bear. A second signal of the same kind ends the process as it would otherwise.

    Raises:
        KeyboardInterrupt: a signal has ended it, whichever.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    caught: list[signal.Signals] = []

    async def main() -> T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None  # noqa: S101 - this is one

        def end(number: signal.Signals) -> None:
            caught.append(number)
            loop.remove_signal_handler(number)
            task.cancel()

        for number in SIGNALS:
            if before[number] is not signal.SIG_IGN:
                loop.add_signal_handler(number, end, number)
        return await work

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        if not caught:
            raise
        raise KeyboardInterrupt from None
    finally:
        for number, handler in before.items():
            if handler is not None:  # else it was not set by Python
                signal.signal(number, handler)
