from __future__ import annotations

import threading

from kubelet_sim.present.record_lines import LineWriter, record_line
from kubelet_sim.transcript import Record, RecordLevel
from tests.patience import PATIENCE_S


def test_a_record_on_one_line() -> None:
    """Time, kind, subject, text and rules; foreign text is escaped, and a warning is marked."""
    record = Record(7, 1.25, "decision", "example.com/gpu", "a\x1b[2J\nb", ("DM-1", "DM-2"))
    assert record_line(record) == r"     1.250  decision  example.com/gpu: a\x1b[2J\nb  [DM-1, DM-2]"
    warning = Record(8, 0.0, "node", "kubelet", "x", level=RecordLevel.WARNING)
    assert record_line(warning) == "     0.000  node      WARNING kubelet: x"


def test_every_line_is_written_in_order() -> None:
    """All lines that were given before the end come out before `close` returns."""
    written: list[bytes] = []
    with LineWriter(written.append) as lines:
        for number in range(1000):
            lines.line(str(number))
    assert b"".join(written).split() == [str(number).encode() for number in range(1000)]


def test_nobody_waits_for_a_reader_that_does_not_read() -> None:
    """Lines beyond the bound are left out, and their number is told when reading goes on."""
    reading, busy = threading.Event(), threading.Event()
    written: list[bytes] = []

    def write(data: bytes) -> None:
        busy.set()
        assert reading.wait(PATIENCE_S)
        written.append(data)

    with LineWriter(write, kept=10) as lines:
        lines.line("first")
        assert busy.wait(PATIENCE_S)
        for number in range(25):
            lines.line(str(number))
        reading.set()
    text = b"".join(written).decode().splitlines()
    assert text[:11] == ["first", *map(str, range(10))]
    assert text[11:] == ["… 15 lines were left out: they came faster than they were read"]


def test_a_reader_that_is_gone_is_no_error() -> None:
    """After a write has failed, nothing is written any more, and nobody is told."""
    calls: list[bytes] = []

    def write(data: bytes) -> None:
        calls.append(data)
        raise BrokenPipeError

    with LineWriter(write) as lines:
        lines.line("first")
        lines._thread.join(PATIENCE_S)
        lines.line("second")
    assert calls == [b"first\n"]


def test_a_write_that_never_returns_does_not_hold_up_the_end() -> None:
    """`close` gives up after its time."""
    for_ever = threading.Event()

    def write(_data: bytes) -> None:
        for_ever.wait(PATIENCE_S)

    with LineWriter(write) as lines:
        lines.line("x")
        lines.close(0.01)
        for_ever.set()
