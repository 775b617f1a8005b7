"""What came of a check and of a run, as values: reports are made from these and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType

from attrs import field, frozen

from kubelet_sim.conformance.check import Check, Level
from kubelet_sim.transcript import Json, Record

_NOTHING: Mapping[str, Json] = MappingProxyType({})


class Status(Enum):
    """What a check came to: passed, failed, warned, skipped or broken."""

    PASSED = "passed"
    FAILED = "failed"
    """At least one finding that is an error."""
    WARNED = "warned"
    """Findings, none of them an error."""
    SKIPPED = "skipped"
    """A need was not met, or it does not apply; `Outcome.reason` says which."""
    BROKEN = "broken"
    """It could not be carried out: a bug of ours, or a plugin that could not be started; `Outcome.reason` says why."""


@frozen
class Finding:
    """One thing that a check found."""

    level: Level
    text: str
    """One sentence: what was seen, and what was expected. Foreign text in it is not escaped."""
    evidence: Mapping[str, Json] = field(default=_NOTHING, hash=False)
    """What was seen, as values: ids, texts, times in seconds."""


@frozen
class Outcome:
    """What came of one check that was made or left out, with its findings and evidence."""

    check: Check
    status: Status
    findings: tuple[Finding, ...] = ()
    """Infos included; they do not make a check fail."""
    notes: tuple[str, ...] = ()
    """What a reader should know of how it was done: how long was observed, which half ran, that the plugin was slow."""
    reason: str = ""
    took_s: float = 0.0
    """Real time."""
    records: tuple[Record, ...] = field(default=(), repr=False)
    """The part of the transcript that belongs to it; kept for outcomes that are no pass."""
    output: tuple[str, ...] = field(default=(), repr=False)
    """The last lines of the plugin's output; kept likewise."""
    records_then: tuple[Record, ...] = field(default=(), repr=False)
    """Of the records those up to the first of the worst findings: all without one. What a check did later is no evidence."""
    output_then: tuple[str, ...] = field(default=(), repr=False)
    """The last lines that had come by then."""
    is_known: bool = False
    """Whether the user has listed it as failing: see `kubelet_sim.conformance.known_failures`."""

    @property
    def worst(self) -> Level | None:
        """The level of the worst finding; `None` without any."""
        return next((level for level in Level if any(each.level is level for each in self.findings)), None)


def status_of(findings: Iterable[Finding]) -> Status:
    """The status that findings come to: the worst of them decides, infos do not count."""
    levels = {each.level for each in findings}
    if Level.ERROR in levels:
        return Status.FAILED
    return Status.WARNED if Level.WARNING in levels else Status.PASSED


@frozen
class About:
    """What was tested, how, and by what; the head of every report."""

    kubelet_sim: str
    kubelet_version: str
    """The release that was emulated: `v1.36.2`."""
    plugin: str
    """The command, or what was attached to."""
    resources: tuple[str, ...]
    """As registered, sorted; empty if none was."""
    seed: int
    """Of everything that was left to chance."""
    mode: str
    """`default`, `quick` or `full`."""
    window_s: float
    """How long was waited for something not to happen, where a check says nothing else."""


@frozen
class Report:
    """A whole run with one kubelet."""

    about: About
    outcomes: tuple[Outcome, ...]
    took_s: float

    is_strict: bool = False
    """Whether warnings count."""
    notes: tuple[str, ...] = ()
    """What a reader should know of the whole run."""
    has_come: bool = True
    """Whether there was a plugin: one that others were to start may never have registered."""
    was_interrupted: bool = False
    """Whether it was broken off: what had not been found by then is not there."""

    @property
    def bad(self) -> tuple[Outcome, ...]:
        """The outcomes for which the plugin does not conform: failed, warned if strict, broken, or known and yet passed."""
        return tuple(filter(self.is_bad, self.outcomes))

    def is_bad(self, outcome: Outcome) -> bool:
        """Whether the run fails because of that outcome."""
        found = {Status.FAILED, Status.BROKEN} | ({Status.WARNED} if self.is_strict else set())
        if outcome.is_known:
            return outcome.status is Status.PASSED
        return outcome.status in found

    @property
    def could_run(self) -> bool:
        """Whether anything came of at least one check; otherwise the plugin could not be tested at all."""
        return self.has_come and any(each.status not in (Status.SKIPPED, Status.BROKEN) for each in self.outcomes)

    def count(self, status: Status) -> int:
        """How many checks came to that status."""
        return sum(each.status is status for each in self.outcomes)
