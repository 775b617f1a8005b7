from __future__ import annotations

import re

import pytest

from kubelet_sim.scenario.record.shared_text import pattern, without_times

STAMPS = [
    ("2026/11/30 01:27:48", "2026/11/30 01:37:02", "2027/01/02 23:00:00"),
    ("2026/11/30 01:27:48.212802", "2026/11/30 01:27:51.9", "2026/12/01 00:00:00.1"),
    ("2026-11-30T01:27:48Z", "2026-11-30T01:27:49Z", "2027-01-01T00:00:00Z"),
    ("2026-11-30T01:27:48.212+01:00", "2026-11-30T01:27:48.5+01:00", "2027-01-01T00:00:00.1+02:00"),
    ("2026-11-30 01:27:48,212", "2026-11-30 01:27:55,212", "2027-01-01 00:00:00,000"),
    (
        "2026-11-30 01:27:48.1 +0000 UTC m=+0.01",
        "2026-11-30 01:27:48.2 +0000 UTC m=+0.02",
        "2027-01-01 00:00:00.1 +0000 UTC",
    ),
    ("I1130 01:27:48.212802   19958", "I1130 01:27:50.000002   19971", "E0101 00:00:00.000000       1"),
    ("01:27:48", "01:27:49", "23:00:00"),
    ("Mon Nov 30 01:27:48 2026", "Mon Nov 30 01:27:49 2026", "Fri Jan  1 00:00:00 2027"),
    ("Mon, 30 Nov 2026 01:27:48 GMT", "Mon, 30 Nov 2026 01:27:49 GMT", "Fri, 01 Jan 2027 00:00:00 GMT"),
    ("[30/Nov/2026:01:27:48 +0000]", "[30/Nov/2026:01:27:49 +0000]", "[01/Jan/2027:00:00:00 +0000]"),
    ("1793323668.25", "1793323671.75", "1893323671.5"),
]


@pytest.mark.parametrize("one, other, later", STAMPS)
@pytest.mark.parametrize(
    "line", ["{} registered", "main: {} registered", "{}] registered gpu-7", "at={}", 'time="{}" x']
)
def test_a_time_is_left_open_as_a_whole(one: str, other: str, later: str, line: str) -> None:
    """Whatever two plays share of it; everything else stays."""
    shared = pattern(line.format(one), line.format(other))
    assert shared is not None
    assert re.search(shared, line.format(later))
    assert not re.search(r"\d", shared.replace("gpu-7", ""))
    for word in re.findall("registered|gpu-7|main|at=|time=| x", line):
        assert word in shared


def test_a_time_beside_what_differs_is_left_open_too() -> None:
    """It was the same by chance."""
    assert pattern("2026/11/30 01:27:48 pid 12 up", "2026/11/30 01:27:48 pid 13 up") == "^.* pid .* up$"
    assert pattern("pid 12 up at 01:27:48.5 now", "pid 13 up at 01:27:48.5 now") == "^pid .* up at .* now$"


@pytest.mark.parametrize(
    "one, other, shared",
    [
        ("took 12.25 s", "took 12.31 s", "^took .* s$"),
        ("took 1.25s", "took 2.25s", "^took .*s$"),
        ("3,141 of 10", "3,142 of 10", "^.* of 10$"),
        ("0000:01:00.0 is a", "0000:01:00.0 is b", r"^0000:01:00\.0 is .*$"),
        ("02:42:ac:11:00:02 is a", "02:42:ac:11:00:02 is b", "^02:42:ac:11:00:02 is .*$"),
        ("v1.36 is a", "v1.36 is b", r"^v1\.36 is .*$"),
        ("12.25", "12.31", None),
        ("2026/11/30 01:27:48", "2026/11/30 01:27:49", None),
    ],
)
def test_numbers_are_left_open_where_they_differ(one: str, other: str, shared: str | None) -> None:
    """As a whole; others stay, and so do addresses."""
    assert pattern(one, other) == shared


def test_a_text_without_times() -> None:
    """Open where they are; a day alone is none, there is nothing to open in others, and nothing to expect of a time alone."""
    assert without_times("2026/11/30 01:27:48 up (1)") == r"^.* up \(1\)$"
    assert without_times("gpu 0000:01:00.0") is None
    assert without_times("01:27:48 ") is None
    assert without_times("built 2024-01-02") is None
