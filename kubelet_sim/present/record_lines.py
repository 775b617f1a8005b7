"""Lines of running commands: what a record looks like on one, and how they get out without holding anybody up."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from kubelet_sim.foreign import cut, escape_terminal

if TYPE_CHECKING:
    from kubelet_sim.transcript import Record

_KEPT = 10_000
_BATCH = 200
_CLOSING_S = 2.0


def record_line(record: Record) -> str:
    """A record on one line, its foreign text escaped, and cut if it is very long: time, kind, subject, text, rules."""
    from kubelet_sim.transcript import RecordLevel

    mark = "WARNING " if record.level is RecordLevel.WARNING else ""
    rules = f"  [{', '.join(record.rules)}]" if record.rules else ""
    subject, text = escape_terminal(cut(record.subject)), escape_terminal(cut(record.text))
    return f"{record.at_s:10.3f}  {record.kind:<8}  {mark}{subject}: {text}{rules}"


def standard_output() -> Callable[[bytes], None]:
    """A function that writes bytes to stdout, all of them and at once. It raises `OSError` when nobody reads any more."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):  # captured by a test
        return _write_text
    sys.stdout.flush()

    def write(data: bytes) -> None:
        while data:
            try:
                data = data[os.write(descriptor, data) :]
            except BlockingIOError:
                select.select([], [descriptor], [])

    return write


def _write_text(data: bytes) -> None:
    sys.stdout.write(data.decode("utf-8"))
    sys.stdout.flush()


class LineWriter:
    """Writes lines from a thread of its own; a context manager.

    Who has a line to write never waits: a terminal that was paused must not stop the node. Lines that nobody takes are
    kept up to a bound, then left out, and that is said. When writing fails, because the reader is gone, the rest is
    dropped in silence.
    """

    def __init__(self, write: Callable[[bytes], None], *, kept: int = _KEPT) -> None:
        self._write = write
        self._kept = kept
        self._lines: deque[str] = deque()
        self._left_out = 0
        self._is_closing = False
        self._changed = threading.Condition()
        # A daemon, for a write that never returns. It holds no lock of Python's streams, so that ending is safe.
        self._thread = threading.Thread(target=self._run, name="lines", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def line(self, text: str) -> None:
        """Write the text, which is fit for a terminal, and a line end."""
        with self._changed:
            if len(self._lines) >= self._kept:
                self._left_out += 1
                return
            self._lines.append(text)
            self._changed.notify()

    def close(self, timeout_s: float = _CLOSING_S) -> None:
        """Wait until all is written, but no longer than that."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while lines := self._next():
                self._write(("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))
        with self._changed:
            self._kept = 0
            self._lines.clear()

    def _next(self) -> list[str]:
        """Some lines, as soon as there are any; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._is_closing)
            lines = [self._lines.popleft() for _ in range(min(len(self._lines), _BATCH))]
            if self._left_out and not self._lines:
                lines.append(f"… {self._left_out} lines were left out: they came faster than they were read")
                self._left_out = 0
            return lines
