"""Work in an event loop that a signal ends in good order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, whoever wants the process to end, the end of the terminal."""


def run_interruptible(work: Coroutine[Any, Any, T], heard_one: Callable[[], None] = lambda: None) -> T:
    """What the work returns, in a loop of its own; call it in the main thread.

    A signal that is not ignored cancels the work, and what it has to clean up is cleaned up. It does so between two turns of
    the loop: asyncio's own way for Ctrl-C cancels in the middle of one, which a future that is just getting its result does
    not bear. A second signal of the same kind ends the process as it would otherwise. `heard_one` is called at each, before
    the cleaning up, which may take its time.

    Raises:
        KeyboardInterrupt: a signal has ended it, whichever.
    """
    caught: list[int] = []

    def note(number: int, _frame: object = None) -> None:
        """While the loop is made and closed, which nothing may break off."""
        caught.append(number)

    async def main() -> T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None  # noqa: S101 - this is one

        def end(number: signal.Signals) -> None:
            caught.append(number)
            loop.remove_signal_handler(number)
            task.cancel()
            heard_one()

        for number in heard:
            loop.add_signal_handler(number, end, number)
        if caught:
            task.cancel()
        try:
            return await work
        finally:
            for number in heard:
                loop.remove_signal_handler(number)
                signal.signal(number, note)

    with _handled_by(note) as heard:
        try:
            result = asyncio.run(main())
        except asyncio.CancelledError:
            if not caught:
                raise
            raise KeyboardInterrupt from None
    if caught:
        raise KeyboardInterrupt
    return result


@contextmanager
def _handled_by(handler: Callable[[int, object], None]) -> Iterator[tuple[signal.Signals, ...]]:
    """Have that handle each signal that is not ignored, and yield which they are; in the end it is as it was before."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    heard = tuple(number for number, each in before.items() if each is not None and each is not signal.SIG_IGN)
    for number in heard:
        signal.signal(number, handler)
    try:
        yield heard
    finally:
        for number in heard:
            signal.signal(number, before[number])
