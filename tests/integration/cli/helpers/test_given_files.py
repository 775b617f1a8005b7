"""What commands read from standard input, and what they say of one that cannot be read."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from kubelet_sim.cli.main import cli

READERS = (
    ["apply", "-f", "-"],
    ["delete", "-f", "-"],
    ["checkpoint", "show", "-"],
    ["checkpoint", "verify", "-"],
    ["call", "x.sock", "Allocate", "--json", "@-"],
    ["call", "x.sock", "Allocate", "--json", "-"],
    ["scenario", "check", "-"],
)


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_closed_standard_input(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python has none then: one line that says so, and misuse."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SystemExit) as end:
        cli(words, prog_name="kubelet-sim")
    assert (end.value.code, capsys.readouterr().err) == (2, "error: standard input is closed\n")


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_standard_input_that_is_for_writing(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As after `0> file`: it is the input that fails, and not the output."""
    with (tmp_path / "f").open("wb") as file:
        stream = io.TextIOWrapper(io.BufferedReader(io.FileIO(os.dup(file.fileno()), "rb")))
    monkeypatch.setattr(sys, "stdin", stream)
    with stream, pytest.raises(SystemExit) as end:
        cli(words, prog_name="kubelet-sim")
    assert end.value.code == 2
    assert capsys.readouterr().err == "error: cannot read standard input: Bad file descriptor\n"
