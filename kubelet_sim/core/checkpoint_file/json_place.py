"""Where in a JSON text a value stands: line and column for a path such as `Data.PodDeviceEntries[0].DeviceIDs`.

The text has been read before, so it is JSON; only what leads to the value is looked at again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from kubelet_sim.core.checkpoint_file.decoder import WHOLE, shown

_WHITE = re.compile(r"[ \t\n\r]*")
_MARK = re.compile(r'["\[\]{}]')
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(r"[^,\]}\s]*")
_OPENING = "[{"


def line_and_column(text: str, path: str) -> tuple[int, int] | None:
    """Both counted from 1, in characters; of a repeated member the first one. `None` for a path that there is not."""
    begin = _next(text, 0)
    at = begin if path == WHOLE else _locate(text, begin, path, "")
    return None if at is None else position(text, at)


def position(text: str, at: int) -> tuple[int, int]:
    """Line and column of an offset, counted from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _locate(text: str, at: int, path: str, here: str) -> int | None:
    for names, value in _children(text, at, here):
        for name in names:
            if path == name:
                return value
            if path.startswith((f"{name}.", f"{name}[")):
                found = _locate(text, value, path, name)
                if found is not None:
                    return found
    return None


def _children(text: str, at: int, here: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """The paths that a value inside may have, and where it begins."""
    opening, at, index = text[at], _next(text, at + 1), 0
    while opening in _OPENING and text[at] not in "]}":
        if opening == "{":
            end = _match_end(_STRING, text, at)
            name = json.loads(text[at:end])
            at = _next(text, _next(text, end) + 1)  # behind the colon
            yield (f"{here}.{name}" if here else name, f"{here}[{shown(name)}]"), at
        else:
            yield (f"{here}[{index}]",), at
        at, index = _next(text, _end(text, at)), index + 1
        if text[at] == ",":
            at = _next(text, at + 1)


def _end(text: str, at: int) -> int:
    """Behind a value; what is in it is counted, not visited: it may be nested deeply."""
    depth = 0
    while True:
        if text[at] == '"':
            at = _match_end(_STRING, text, at)
        elif text[at] in "[]{}":
            depth, at = depth + (1 if text[at] in _OPENING else -1), at + 1
        else:
            return _match_end(_SCALAR, text, at)
        if depth == 0:
            return at
        mark = _MARK.search(text, at)
        if mark is None:
            return len(text)
        at = mark.start()


def _next(text: str, at: int) -> int:
    return _match_end(_WHITE, text, at)


def _match_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()
