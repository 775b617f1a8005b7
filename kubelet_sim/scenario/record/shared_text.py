"""What texts of two plays share, as a regular expression that other plays fit as well.

What changes by itself is left open as a whole, even if a part of it was the same by chance: plays that are seconds apart share
the date and the hour of their logs, and numbers that are drawn may begin alike.
"""

from __future__ import annotations

import re
from itertools import takewhile

_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? +"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DATE = rf"(?:{_DAY})?(?:\d{{4}}([-/.])\d\d?\1\d\d?|\d\d?/\d\d?/\d{{4}}|\d\d?[ /-]{_MONTH}[ /-]\d{{4}}|{_MONTH} +\d\d?(?:,? \d{{4}})?)"
_TIME = r"\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?"
_LONG_TIME = r"\d\d?:\d\d:\d\d(?:[.,]\d+)?"
_ZONE = r"(?: ?(?:Z|[+-]\d\d:?\d\d)\b)?(?: (?:[A-Z]{3,4})\b)?(?: m=[+-][\d.]+)?"
"""Go tells the zone twice, and the time since its process began."""
_KLOG = rf"[IWEF]\d{{4}} {_LONG_TIME}(?: +\d+)?"
_BEGIN, _END = r"(?<![\w:.])", r"(?![\w:])"
"""An address on a PCI bus, or of a network card, is no time."""
_STAMP = re.compile(
    rf"{_BEGIN}(?:{_KLOG}|{_DATE}(?:[ T,:_]+{_TIME}{_ZONE}(?: \d{{4}})?)?|{_LONG_TIME}{_ZONE}){_END}", re.ASCII
)
"""A date, a time of day with seconds, or both; with the process that klog writes after it."""
_CHANCE_AT_THE_END = re.compile(r"(?:\d[\d.,:/]*|[^\W_]+)\Z")
"""What two texts share of a word or a number is chance."""


def pattern(one: str, other: str) -> str | None:
    """A regular expression that fits both; `None` if they have too little in common for one.

    Times are left open wherever they stand, and with a part that differs the word and the number that it is a part of.
    """
    begin = _common(one, other)
    end = _common(one[begin:][::-1], other[begin:][::-1])
    for text in (one, other):
        for stamp in _STAMP.finditer(text):
            if begin <= stamp.end() and stamp.start() <= len(text) - end:
                begin, end = min(begin, stamp.start()), min(end, len(text) - stamp.end())
    before = _CHANCE_AT_THE_END.sub("", one[:begin])
    after = _CHANCE_AT_THE_END.sub("", one[len(one) - end :][::-1])[::-1]
    if not before and not after:
        return None
    between = "(?s:.*)" if "\n" in one + other else ".*"
    return f"^{_open(before)}{between}{_open(after)}$"


def without_times(text: str) -> str | None:
    """A regular expression that fits the text at any other time of day; `None` if there is none in it, or nothing else."""
    has_time = any(":" in stamp[0] for stamp in _STAMP.finditer(text))
    if not has_time or not _STAMP.sub("", text).strip():
        return None
    return f"^{_open(text)}$"


def _common(one: str, other: str) -> int:
    """The length of their common beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _open(text: str) -> str:
    """The text as it is, but for its times."""
    pieces, at = [], 0
    for stamp in _STAMP.finditer(text):
        pieces.append(_escaped(text[at : stamp.start()]))
        at = stamp.end()
    return ".*".join([*pieces, _escaped(text[at:])])


def _escaped(text: str) -> str:
    """For a regular expression, without the backslashes that only look bad."""
    return re.sub(r"\\([ -])", r"\1", re.escape(text))
