"""The beginning of every command: what ends it by a signal ends it in good order, and without a word of Python's.

Apart from `main`, whose imports take so long that a Ctrl-C can come in between: nothing heavy may be imported here.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType

from kubelet_sim import exit_codes

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, whoever wants the process to end, the end of the terminal."""
_SAME_S = 1.0
"""`timeout` sends its signal to the process and then to the group that it is in: that is one wish, and not two."""


def main() -> None:
    """Run the command line, and end the process with its exit code.

    A command that looks after a signal itself does so. For any other one, each signal that is not ignored is Ctrl-C.
    """
    heard = [number for number in SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    for number in heard:
        signal.signal(number, _end)
    from kubelet_sim.cli.main import main as run

    try:
        interrupt = _Interrupt()
        for number in heard:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else interrupt)
        run()
    except KeyboardInterrupt:
        sys.exit(exit_codes.INTERRUPTED)


def _end(_number: int, _frame: FrameType | None) -> None:
    """Nothing was begun yet: there is nothing to clean up, and half of an import is nothing to go on with."""
    os._exit(exit_codes.INTERRUPTED)


class _Interrupt:
    """Does what Ctrl-C would do now, and does it where Ctrl-C is ignored, as in a background job of a script."""

    def __init__(self) -> None:
        self._last_s: float | None = None

    def __call__(self, _number: int, frame: FrameType | None) -> None:
        now_s, last_s = time.monotonic(), self._last_s
        self._last_s = now_s
        if last_s is not None and now_s - last_s < _SAME_S:
            return
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)
