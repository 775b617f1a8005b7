"""Whether what came is what a story expects.

Lists are bags: the order of ids, entries and names is nobody's promise. Two are not: calls and notifications of a plugin came
one after the other, and the members of a list inside a list (`[container path, host path, read only]`) have their places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_TEXTS = ("message", "error")
"""Where `...` stands for any text."""
_IN_ORDER = ("calls", "notified")


def matches(expected: Any, came: Any) -> bool:
    """Whether it fits as a whole: what is not expected must not come."""
    return _fits(expected, came, key="")


def _fits(expected: Any, came: Any, key: str) -> bool:
    match expected:
        case Mapping():
            return (
                isinstance(came, Mapping)
                and expected.keys() == came.keys()
                and all(_fits(item, came[name], name) for name, item in expected.items())
            )
        case str() if key in _TEXTS and isinstance(came, str):
            return text_matches(expected, came)
        case str():
            return isinstance(came, str) and expected == came
        case Sequence():
            if not isinstance(came, Sequence) or isinstance(came, str) or len(expected) != len(came):
                return False
            if key in _IN_ORDER:
                return all(_fits(one, other, "") for one, other in zip(expected, came, strict=True))
            return _same_bag(expected, came)
        case bool() | None:
            return expected is came
        case _:
            return not isinstance(came, bool) and bool(expected == came)


def text_matches(pattern: str, text: str) -> bool:
    """Whether the text is the pattern, where each `...` stands for anything, nothing included."""
    parts = (re.escape(part) for part in pattern.split("..."))
    return re.fullmatch(".*".join(parts), text, re.DOTALL) is not None


def _same_bag(expected: Sequence[Any], came: Sequence[Any]) -> bool:
    left = list(came)
    for item in expected:
        found = next((at for at, other in enumerate(left) if _fits_in_bag(item, other)), None)
        if found is None:
            return False
        del left[found]
    return not left


def _fits_in_bag(expected: Any, came: Any) -> bool:
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        return isinstance(came, Sequence) and list(expected) == list(came)
    return _fits(expected, came, "")
