"""The node's clock as wall time, for objects of the API: it counts from the start of the node."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

from attrs import frozen

MANUAL_START = datetime(2026, 1, 1, tzinfo=UTC)
"""What the wall clock of a node shows at its start if its time is moved by hand."""


@frozen
class NodeTimes:
    """The times of a node.

    Args:
        start: when it started.
        passed_s: tells how long ago that was, in seconds.
    """

    _start: datetime
    passed_s: Callable[[], float]

    def at(self, passed_s: float) -> str:
        """Returns the time so many seconds after the start of the node, as the API writes it: RFC 3339, to the second."""
        return _rfc3339(int(self._start.timestamp() + passed_s))

    def now(self, later_s: float = 0.0) -> str:
        """Returns this moment, or one so many seconds later, as the API writes it."""
        return self.at(self.passed_s() + later_s)

    def nanoseconds(self) -> int:
        """Returns this moment in nanoseconds since 1970, as names of events have it."""
        return round((self._start.timestamp() + self.passed_s()) * 1_000_000) * 1000


@lru_cache(maxsize=100)
def _rfc3339(seconds: int) -> str:
    """A time as the API writes it, remembered, as a status says the same second many times."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
