from __future__ import annotations

import pytest

from kubelet_sim.model.durations import duration_text, parse_duration


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("10s", 10.0),
        ("5m", 300.0),
        ("1h30m", 5400.0),
        ("500ms", 0.5),
        ("1m500ms", 60.5),
        ("1.5h", 5400.0),
        (".5s", 0.5),
        ("2.s", 2.0),
        ("7", 7.0),
        ("0.25", 0.25),
        ("0", 0.0),
        ("3us", 3e-6),
        ("3µs", 3e-6),
        ("9ns", 9e-9),
    ],
)
def test_a_duration_is_read_as_go_writes_it(text: str, seconds: float) -> None:
    """Parts with units add up, and a plain number counts seconds."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "-5s", "+1s", "5 s", "5d", "1h 2m", "10s5", "inf", "nan", "1e3", "٣s", "1..2s"]
)
def test_anything_else_is_no_duration(text: str) -> None:
    """The error names what was found, and shows what would do."""
    with pytest.raises(ValueError, match="1h30m") as caught:
        parse_duration(text)
    assert repr(text) in str(caught.value)


def test_a_duration_without_end_is_refused() -> None:
    """A number that no clock could hold is an error of the command line, not an overflow later."""
    with pytest.raises(ValueError, match="too long"):
        parse_duration("9" * 400 + "h")


@pytest.mark.parametrize("seconds, text", [(90.0, "90s"), (0.5, "0.5s"), (30.0, "30s"), (1_000_000.0, "1000000s")])
def test_seconds_are_shown_short(seconds: float, text: str) -> None:
    """Without needless zeros, and without exponents."""
    assert duration_text(seconds) == text
