"""A token bucket, on a clock that is given."""

from __future__ import annotations

from collections.abc import Callable


class TokenBucket:
    """Full at the start; fills evenly, up to its capacity.

    Args:
        now: seconds; never goes back.
        rate: tokens a second.
        capacity: the most that it holds.

    Rules: PR-6
    """

    def __init__(self, now: Callable[[], float], *, rate: float, capacity: int) -> None:
        self._now = now
        self._rate = rate
        self._capacity = capacity
        self._tokens = float(capacity)
        self._filled_at_s = now()

    def take(self) -> bool:
        """Take one token; false, and nothing is taken, if there is no whole one."""
        now_s = self._now()
        self._tokens = min(self._capacity, self._tokens + (now_s - self._filled_at_s) * self._rate)
        self._filled_at_s = now_s
        if self._tokens < 1 - _ROUNDING:
            return False
        self._tokens = max(0.0, self._tokens - 1)
        return True


_ROUNDING = 1e-9
"""Ten steps of a millisecond shall make a token of a hundredth of a second."""
