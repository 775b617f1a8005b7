"""Which records are to be shown."""

from __future__ import annotations

from attrs import define, field, frozen

from kubelet_sim.transcript import Level, Record


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
class Picker:
    """Picks records one by one; it can learn before which walks are about the subject, or else learns on the way."""

    criteria: Criteria
    takes_all: bool = False
    """Whether records without words are shown, too: a diagram has words for them."""
    _walks: set[tuple[int, int | None]] = field(factory=set)

    def learn(self, record: Record) -> None:
        """Walks are numbered anew by every kubelet process."""
        if record.walk is not None and record.subject == self.criteria.about:
            self._walks.add((record.incarnation, record.walk))

    def takes(self, record: Record) -> bool:
        """Whether it is to be shown."""
        self.learn(record)
        wanted = self.criteria
        return (
            (record.kind in wanted.kinds if wanted.kinds else self.takes_all or record.number > 0)
            and (not wanted.about or self._is_about(record))
            and (not wanted.rule or wanted.rule in record.rules)
            and (not wanted.warnings or record.level is Level.WARNING)
            and (wanted.since_s is None or record.at_s >= wanted.since_s)
            and (wanted.until_s is None or record.at_s <= wanted.until_s)
        )

    def _is_about(self, record: Record) -> bool:
        return record.subject == self.criteria.about or (record.incarnation, record.walk) in self._walks
