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
