"""What is read of the files that a user gives, by commands and by the suite alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.conformance.known_failures import known_failures
from kubelet_sim.errors import UsageError
from kubelet_sim.text_files import read_text


def test_a_text_is_read_without_its_byte_order_mark(tmp_path: Path) -> None:
    """Windows puts a mark before UTF-8; what is no UTF-8 is told with its place."""
    file = tmp_path / "f"
    file.write_bytes(b"\xef\xbb\xbfx")
    assert read_text(file) == "x"
    file.write_bytes(b"ab\xff")
    with pytest.raises(UsageError, match="it is no UTF-8 text: byte 2 is 0xff"):
        read_text(file)


def test_a_list_of_known_failures_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """The first id of such a list is an id like the others."""
    file = tmp_path / "known"
    file.write_bytes(b"\xef\xbb\xbflaw-a\r\nlaw-b\r\n")
    assert known_failures(file, ["law-a", "law-b"]) == {"law-a", "law-b"}
