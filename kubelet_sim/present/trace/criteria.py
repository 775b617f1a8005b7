"""Which records are to be shown, and why none is."""

from __future__ import annotations

import math

from attrs import define, field, frozen

from kubelet_sim.errors import there_are
from kubelet_sim.transcript import Record, RecordLevel


@frozen
class Criteria:
    """All of them have to hold; one that is left out holds."""

    about: str = ""
    """A subject: its own records, and all of the walks in which it is spoken of."""
    kinds: frozenset[str] = frozenset()
    """Empty: all that have words for people."""
    rule: str = ""
    warnings: bool = False
    """Warnings alone."""
    since_s: float | None = None
    until_s: float | None = None
    """Seconds on the node's clock, both included."""


@define
class _RecordCounts:
    """What the records are about that there are to pick from."""

    count: int = 0
    subjects: set[str] = field(factory=set)
    kinds: set[str] = field(factory=set)
    rules: set[str] = field(factory=set)
    has_warnings: bool = False
    first_s: float = math.inf
    last_s: float = -math.inf

    def note(self, record: Record) -> None:
        """Takes one more record into account."""
        self.count += 1
        self.subjects |= {record.subject} - {""}
        self.kinds.add(record.kind)
        self.rules.update(record.rules)
        self.has_warnings |= record.level is RecordLevel.WARNING
        self.first_s, self.last_s = min(self.first_s, record.at_s), max(self.last_s, record.at_s)

    def why_none(self, wanted: Criteria) -> str:
        """Why none of them was picked: the first criterion that none fulfils, with what there is instead."""
        if not self.count:
            return "there are no records"
        if wanted.about and wanted.about not in self.subjects:
            near = sorted(each for each in self.subjects if wanted.about in each)
            there = f"did you mean {' or '.join(near[:3])}?" if near else there_are(sorted(self.subjects))
            return f"no record is about {wanted.about}; {there}"
        if wanted.kinds and not wanted.kinds & self.kinds:
            return f"no record is of kind {' or '.join(sorted(wanted.kinds))}; {there_are(sorted(self.kinds))}"
        if wanted.rule and wanted.rule not in self.rules:
            return f"no record follows {wanted.rule}; {there_are(sorted(self.rules))}"
        if wanted.warnings and not self.has_warnings:
            return f"there is no warning among {self.count} records"
        if (wanted.since_s or 0) > self.last_s or (wanted.until_s is not None and wanted.until_s < self.first_s):
            return f"the records are from {self.first_s:.3f} s to {self.last_s:.3f} s"
        return f"none of {self.count} records fits all that is asked for"


@define
class Picker:
    """Picks records one by one; it can learn before which walks are about the subject, or else learns on the way."""

    criteria: Criteria
    takes_all: bool = False
    """Whether records without words are shown, too: a diagram has words for them."""
    has_picked: bool = field(default=False, init=False)
    _walks: set[tuple[int, int | None]] = field(factory=set, init=False)
    _seen: _RecordCounts = field(factory=_RecordCounts, init=False)

    def learn(self, record: Record) -> None:
        """Walks are numbered anew by every kubelet process."""
        if record.walk is not None and record.subject == self.criteria.about:
            self._walks.add((record.incarnation, record.walk))

    def takes(self, record: Record) -> bool:
        """Whether a record fulfils all criteria, and is to be shown."""
        self.learn(record)
        self._seen.note(record)
        is_wanted = self._takes(record)
        self.has_picked |= is_wanted
        return is_wanted

    def why_none(self) -> str:
        """Why it has picked none of those that it was asked about."""
        return self._seen.why_none(self.criteria)

    def _takes(self, record: Record) -> bool:
        wanted = self.criteria
        return (
            (record.kind in wanted.kinds if wanted.kinds else self.takes_all or record.number > 0)
            and (not wanted.about or self._is_about(record))
            and (not wanted.rule or wanted.rule in record.rules)
            and (not wanted.warnings or record.level is RecordLevel.WARNING)
            and (wanted.since_s is None or record.at_s >= wanted.since_s)
            and (wanted.until_s is None or record.at_s <= wanted.until_s)
        )

    def _is_about(self, record: Record) -> bool:
        return record.subject == self.criteria.about or (record.incarnation, record.walk) in self._walks
