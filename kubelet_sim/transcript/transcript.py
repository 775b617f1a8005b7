"""The stream itself: kept in memory, and handed to whoever listens."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from kubelet_sim.transcript.records import Decision, Json, Level, Record

Listener = Callable[[Record], None]


class Transcript:
    """All records of a node, oldest first.

    Args:
        now: the clock that stamps the records, in seconds since the node started.
        keep: how many records stay in memory; older ones are forgotten, their numbers are not used again.
    """

    def __init__(self, now: Callable[[], float], *, keep: int = 100_000) -> None:
        self.now = now
        """Seconds since the node started, on its clock."""
        self._records: deque[Record] = deque(maxlen=keep)
        self._listeners: list[Listener] = []
        self._count = 0
        self.incarnation = 1
        self.walk: int | None = None
        """The walk that is being advanced right now; decisions are stamped with it."""

    def __iter__(self) -> Iterator[Record]:
        return iter(tuple(self._records))

    def after(self, number: int, limit: int) -> list[Record]:
        """The oldest records beyond that number, at most `limit`; 0 for all. What was forgotten is left out."""
        if not self._records or number >= self._count:
            return []
        begin = max(0, number + 1 - self._records[0].number)
        return list(islice(self._records, begin, begin + limit))

    def append(self, decision: Decision) -> None:
        """Take a decision of the core: the `Journal` port."""
        self.add(
            "decision",
            decision.subject,
            decision.text,
            rules=decision.rules,
            level=decision.level,
            details=decision.details,
        )

    def add(
        self,
        kind: str,
        subject: str,
        text: str,
        *,
        rules: tuple[str, ...] = (),
        level: Level = Level.INFO,
        details: Mapping[str, Json] | None = None,
    ) -> Record:
        """Write one record and tell the listeners."""
        self._count += 1
        record = Record(
            self._count,
            self.now(),
            kind,
            subject,
            text,
            rules,
            level,
            self.walk,
            self.incarnation,
            details or {},
        )
        self._records.append(record)
        for listener in tuple(self._listeners):
            listener(record)
        return record

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every further record; the answer ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)
