"""Durations as people write them, on a command line, in a story and in the arguments of faults alike."""

from __future__ import annotations

import re
from fractions import Fraction

_LONGEST_S = 10**9
_UNITS = {
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+", re.ASCII)
_PART = re.compile(rf"({_NUMBER.pattern})(h|ms|m|s|us|µs|ns)")
WITH_UNITS = rf"(?:{_PART.pattern})+"
"""A regular expression of durations that are more than a number."""


def parse_duration(text: str) -> float:
    """The seconds of `1h30m`, `10s`, `500ms`, or of a plain number. Raises `ValueError` with what was expected."""
    if _NUMBER.fullmatch(text):
        seconds = Fraction(text.rstrip("."))
    elif re.fullmatch(WITH_UNITS, text, re.ASCII):
        seconds = sum(
            (Fraction(number.rstrip(".")) * _UNITS[unit] for number, unit in _PART.findall(text)), start=Fraction(0)
        )
    else:
        raise ValueError(f"{text!r} is no duration such as 10s, 5m, 1h30m, 500ms, or a number of seconds")
    if seconds > _LONGEST_S:
        raise ValueError(f"{text!r} is too long")
    return float(seconds)


def duration_text(seconds: float) -> str:
    """Seconds for people, as short as they can be: `90s`, `0.5s`."""
    return f"{seconds:g}s" if seconds < 10**5 else f"{seconds:.0f}s"


def age_text(seconds: float) -> str:
    """An age as kubectl writes it, in one or two units: `7s`, `2m5s`, `3h12m`, `9d`."""
    whole = max(0, int(seconds))
    if whole < 120:  # noqa: PLR2004 - two minutes, and so on: two units only where the second one says something
        return f"{whole}s"
    for unit, size, below, smaller in (("m", 60, 600, "s"), ("m", 60, 10_800, ""), ("h", 3600, 28_800, "m")):
        if whole < below:
            rest = whole % size // (60 if smaller == "m" else 1)
            return f"{whole // size}{unit}" + (f"{rest}{smaller}" if smaller and rest else "")
    return f"{whole // 3600}h" if whole < 48 * 3600 else f"{whole // 86_400}d"
