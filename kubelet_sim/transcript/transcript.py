"""The transcript of a node: kept in memory, and handed to whoever listens."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from kubelet_sim.transcript.records import NO_DETAILS, Decision, Json, Record, RecordLevel
from kubelet_sim.transcript.repeats import Repeats

Listener = Callable[[Record], None]
Recorder = Callable[[Record, object], None]
"""Gets every record with the value behind it, `None` where there is none, and records that nobody else gets."""


class Transcript:
    """All records of a node, oldest first.

    A warning that says again what was warned of in the last minute is an `INFO`: see `repeats`.

    Args:
        now: the clock that stamps the records, in seconds since the node started.
        keep: how many records stay in memory; older ones are forgotten, their numbers are not used again.
        keep_characters: how much foreign text they may hold together before older ones are forgotten, too; the newest
            record stays whatever its length.
    """

    def __init__(self, now: Callable[[], float], *, keep: int = 100_000, keep_characters: int = 32_000_000) -> None:
        self.now = now
        """Seconds since the node started, on its clock."""
        self._records: deque[Record] = deque()
        self._keep = keep
        self._keep_characters = keep_characters
        self._characters = 0
        self._repeats = Repeats()
        self._listeners: list[Listener] = []
        self._recorders: list[Recorder] = []
        self._count = 0
        self.incarnation = 1
        self.walk: int | None = None
        """The walk that is being advanced right now; decisions are stamped with it."""

    @property
    def is_recorded(self) -> bool:
        """Whether anybody gets the values behind the records."""
        return bool(self._recorders)

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

    def add(  # noqa: PLR0913 - as many as there is to say of a record
        self,
        kind: str,
        subject: str,
        text: str,
        *,
        rules: tuple[str, ...] = (),
        level: RecordLevel = RecordLevel.INFO,
        details: Mapping[str, Json] | None = None,
        payload: object = None,
        walk: int | None = None,
    ) -> Record:
        """Write one record and tell the listeners.

        Args:
            payload: the value behind it, for recorders; it is not kept.
            walk: the walk it belongs to, if that is not the one that is being advanced.
        """
        self._count += 1
        now_s = self.now()
        if level is RecordLevel.WARNING and self._repeats.is_repeat(subject, text, now_s):
            level = RecordLevel.INFO
        record = Record(
            self._count,
            now_s,
            kind,
            subject,
            text,
            rules,
            level,
            walk or self.walk,
            self.incarnation,
            details or NO_DETAILS,
        )
        self._records.append(record)
        self._characters += _characters(record)
        while len(self._records) > 1 and (len(self._records) > self._keep or self._characters > self._keep_characters):
            self._characters -= _characters(self._records.popleft())
        for listener in tuple(self._listeners):
            listener(record)
        for recorder in tuple(self._recorders):
            recorder(record, payload)
        return record

    def record(self, kind: str, payload: object, *, walk: int | None = None) -> None:
        """Hand recorders what only they want to know: it has no number, no words, and is not kept."""
        if self._recorders:
            record = Record(0, self.now(), kind, "", "", walk=walk or self.walk, incarnation=self.incarnation)
            for recorder in tuple(self._recorders):
                recorder(record, payload)

    def record_with(self, recorder: Recorder) -> Callable[[], None]:
        """Call `recorder` with every further record and its value; the answer ends that."""
        self._recorders.append(recorder)
        return lambda: self._recorders.remove(recorder)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every further record; the answer ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


def _characters(record: Record) -> int:
    return len(record.subject) + len(record.text) + sum(map(_characters_in, record.details.values()))


def _characters_in(value: Json) -> int:
    """Texts and lists of texts are what foreign details are made of."""
    match value:
        case str():
            return len(value)
        case list():
            return sum(map(_characters_in, value))
    return 1
