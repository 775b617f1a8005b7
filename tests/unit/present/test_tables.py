from __future__ import annotations

import sys

import pytest

from kubelet_sim.present.tables import table_text
from tests.unit.present.snapshots import NASTY, NASTY_SHOWN


def test_a_table_escapes_and_does_not_cut() -> None:
    """Markup in an id is text, controls are shown, and a file gets every character of a long id."""
    long = "x" * 5000
    text = table_text(["A", "B"], [[NASTY, long], ["[bold]b", "2"]])
    lines = text.splitlines()
    assert [line.split()[0] for line in lines] == ["A", NASTY_SHOWN, "[bold]b"]
    assert lines[1].endswith(long)
    assert all(line == line.rstrip() for line in lines)


def test_a_table_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and titles stay in one piece, and each row is one line: the terminal may fold it, whoever copies has it whole."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in (("COLUMNS", "40"), ("TERM", "dumb"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    names = [f"example.com/a-resource-with-a-long-name-{n}" for n in range(3)]
    lines = table_text(["RESOURCE", "GRACE PERIOD", "MESSAGE"], [names, ["a", "b", "the words of " * 9]]).splitlines()
    assert len(lines) == 3
    assert "GRACE PERIOD" in lines[0]
    assert lines[1].split() == names
