"""Which warnings say once more what was said a moment ago: a plugin may do the same wrong a thousand times a second."""

from __future__ import annotations

import re

QUIET_S = 60.0
"""For how long a warning stands for all that say the same."""
_KNOWN = 1000
_COMPARED = 300
_NUMBER = re.compile(r"\d+")


class Repeats:
    """Remembers what was warned of lately. Two texts on one subject say the same if only numbers differ."""

    def __init__(self) -> None:
        self._warned_at_s: dict[tuple[str, str], float] = {}

    def is_repeat(self, subject: str, text: str, now_s: float) -> bool:
        """Whether the same was warned of less than `QUIET_S` ago; if not, it counts as warned of now.

        Of long texts only the beginning is compared. Of many different warnings the oldest is forgotten.
        """
        key = subject[:_COMPARED], _NUMBER.sub("#", text[:_COMPARED])
        warned_at_s = self._warned_at_s.get(key)
        if warned_at_s is not None and now_s - warned_at_s < QUIET_S:
            return True
        self._warned_at_s.pop(key, None)  # to the end: the order is that of time
        self._warned_at_s[key] = now_s
        if len(self._warned_at_s) > _KNOWN:
            del self._warned_at_s[next(iter(self._warned_at_s))]
        return False
