"""What every format says the same: how an outcome counts, a finding's evidence, a record on a line, a run in a sentence.

Foreign text is not escaped here: each format does that once, for its medium.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from kubelet_sim.conformance.check import Check, Group
from kubelet_sim.conformance.verdict import Finding, Outcome, Report, Status
from kubelet_sim.transcript import Json


class OutcomeMark(Enum):
    """How an outcome counts in its run: its status, and what the user said of it."""

    PASS = "pass"  # noqa: S105 - no password
    WARN = "warn"
    """Findings that do not count."""
    FAIL = "fail"
    """Findings for which the plugin does not conform."""
    BROKEN = "broken"
    """Could not be carried out, which counts as well."""
    SKIP = "skip"
    KNOWN = "known"
    """Did not pass, as the user said that it would not."""
    FIXED = "fixed"
    """Passed, though the user said that it would not: the list is out of date, which counts."""

    @property
    def counts(self) -> bool:
        """Whether the run fails because of it."""
        return self in (OutcomeMark.FAIL, OutcomeMark.BROKEN, OutcomeMark.FIXED)


_PLAIN = {
    Status.PASSED: OutcomeMark.PASS,
    Status.WARNED: OutcomeMark.WARN,
    Status.FAILED: OutcomeMark.FAIL,
    Status.BROKEN: OutcomeMark.BROKEN,
    Status.SKIPPED: OutcomeMark.SKIP,
}


def mark_of(report: Report, outcome: Outcome) -> OutcomeMark:
    """How an outcome of that run counts."""
    if report.is_bad(outcome):
        if outcome.is_known:
            return OutcomeMark.FIXED
        return OutcomeMark.BROKEN if outcome.status is Status.BROKEN else OutcomeMark.FAIL
    if outcome.is_known and outcome.status not in (Status.PASSED, Status.SKIPPED):
        return OutcomeMark.KNOWN
    return _PLAIN[outcome.status]


def counts(report: Report) -> Mapping[OutcomeMark, int]:
    """How many outcomes of each mark, marks in their order, none left out."""
    marks = [mark_of(report, each) for each in report.outcomes]
    return {mark: marks.count(mark) for mark in OutcomeMark}


_PLACES = {group: place for place, group in enumerate(Group)}
_WORDS = {
    OutcomeMark.PASS: "passed",
    OutcomeMark.WARN: "warned",
    OutcomeMark.FAIL: "failed",
    OutcomeMark.BROKEN: "could not be carried out",
    OutcomeMark.SKIP: "skipped",
    OutcomeMark.KNOWN: "failed as known",
    OutcomeMark.FIXED: "known to fail and passed",
}


def tally(report: Report) -> str:
    """`20 passed, 2 failed, 3 skipped`; `no checks` of an empty run. One that was broken off says so first."""
    told = ", ".join(f"{count} {_WORDS[mark]}" for mark, count in counts(report).items() if count) or "no checks"
    return f"interrupted: {told}" if report.was_interrupted else told


def conforms(report: Report) -> bool:
    """Whether the plugin passes that run: something was tried, all of it was made, and nothing counts against it."""
    return report.could_run and not report.bad and not report.was_interrupted


def verdict(report: Report) -> str:
    """The run in one sentence, without names of others."""
    if report.was_interrupted and not report.bad:
        how = "was not tested to the end"
    else:
        how = "conforms" if conforms(report) else "does not conform" if report.could_run else "could not be tested"
    return f"The plugin {how} (kubelet {report.about.kubelet_version}): {tally(report)}, in {report.took_s:.1f} s."


def what_came(report: Report, outcome: Outcome) -> str:
    """Of an outcome that is no pass, the first thing to say; a pass says nothing."""
    if mark_of(report, outcome) is OutcomeMark.FIXED:
        return "It passed, and is listed as a known failure: take it off the list."
    if outcome.status in (Status.BROKEN, Status.SKIPPED):
        return outcome.reason
    worst = outcome.worst
    return next((each.text for each in outcome.findings if each.level is worst), "")


def about_pairs(report: Report) -> Iterator[tuple[str, str]]:
    """What was tested, how and by what, as names and texts."""
    about = report.about
    yield "plugin", about.plugin
    yield "resources", ", ".join(about.resources) or "none"
    yield "kubelet", about.kubelet_version
    yield "mode", f"{about.mode}, windows of up to {about.window_s:g} s"
    yield "seed", str(about.seed)
    yield "kubelet-sim", about.kubelet_sim


def evidence_lines(finding: Finding) -> Iterator[str]:
    """`name: value` of each piece, values as JSON but for single texts."""
    for name, value in finding.evidence.items():
        yield f"{name}: {value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)}"


def account(report: Report, outcome: Outcome) -> Iterator[str]:
    """All that there is to say of an outcome, line by line, for formats that have one text for it."""
    if what := what_came(report, outcome):
        yield what
    for finding in outcome.findings:
        yield f"{finding.level.value}: {finding.text}"
        yield from (f"  {line}" for line in evidence_lines(finding))
    yield from (f"note: {note}" for note in outcome.notes)
    if mark_of(report, outcome) not in (OutcomeMark.PASS, OutcomeMark.SKIP, OutcomeMark.FIXED):
        yield f"why it matters: {outcome.check.why}"
        yield f"how to fix it: {outcome.check.fix}"
        yield f"more: kubelet-sim explain {outcome.check.id}"


def checks_of(reports: Sequence[Report]) -> tuple[Check, ...]:
    """Every check that any of the runs has, once, in their order."""
    found = {outcome.check.id: outcome.check for report in reports for outcome in report.outcomes}
    return tuple(sorted(found.values(), key=lambda each: _PLACES[each.group]))


def plain(value: Json) -> Json:
    """The value as JSON can have it: keys are texts, what is no JSON value is its text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case set() | frozenset():
            return sorted((plain(each) for each in value), key=str)
        case Enum():
            return plain(value.value)
        case bytes():
            return value.hex()
    return str(value)
