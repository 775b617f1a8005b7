"""The report for programs: one JSON document, described by `report.schema.json` beside this file.

The format has a number. What is added to it leaves the number as it is; what is renamed, removed or means something else
raises it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources

from kubelet_sim.conformance.check import Check
from kubelet_sim.conformance.reports.report_text import checks_of, conforms, counts, mark_of, plain
from kubelet_sim.conformance.verdict import Finding, Outcome, Report
from kubelet_sim.model.plain import plain as model_plain
from kubelet_sim.transcript import Json, Record

FORMAT = "kubelet-sim conformance report"
VERSION = 1


def render(reports: Sequence[Report]) -> str:
    """The document of all runs, indented; ASCII, so that nothing in it can act on a terminal."""
    return json.dumps(document(reports), indent=2, allow_nan=False) + "\n"


def schema() -> Json:
    """The JSON Schema of the document."""
    text = resources.files(__package__).joinpath("report.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


def document(reports: Sequence[Report]) -> dict[str, Json]:
    """The whole document as a JSON value, before it is text."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "conforms": bool(reports) and all(map(conforms, reports)),
        "runs": [run_value(each) for each in reports],
        "checks": {each.id: check_value(each) for each in checks_of(reports)},
    }


def run_value(report: Report) -> dict[str, Json]:
    """One run as a JSON value: about it, its outcomes, and their counts."""
    return {
        "about": model_plain(report.about),
        "conforms": conforms(report),
        "could_run": report.could_run,
        "interrupted": report.was_interrupted,
        "strict": report.is_strict,
        "took_s": round(report.took_s, 3),
        "notes": list(report.notes),
        "counts": {mark.value: count for mark, count in counts(report).items()},
        "outcomes": [outcome_value(report, each) for each in report.outcomes],
    }


def outcome_value(report: Report, outcome: Outcome) -> dict[str, Json]:
    """What came of one check, as a JSON value; `mark` is how it counts, see `report_text.OutcomeMark`."""
    return {
        "check": outcome.check.id,
        "status": outcome.status.value,
        "mark": mark_of(report, outcome).value,
        "known": outcome.is_known,
        "reason": outcome.reason,
        "findings": [_finding_value(each) for each in outcome.findings],
        "notes": list(outcome.notes),
        "took_s": round(outcome.took_s, 3),
        "transcript": [_record_value(each) for each in outcome.records],
        "output": list(outcome.output),
    }


def check_value(check: Check) -> dict[str, Json]:
    """What is said of a check, for `conform --list` and `explain`, too."""
    return {
        "id": check.id,
        "group": check.group.value,
        "title": check.title,
        "level": check.level.value,
        "what": check.what,
        "why": check.why,
        "fix": check.fix,
        "needs": sorted(need.value for need in check.needs),
        "hooks": list(check.hooks),
        "stage": check.stage.value,
        "rules": list(check.rules),
        "source": check.source,
        "beyond": check.is_beyond,
        "quick": check.is_quick,
    }


def _finding_value(finding: Finding) -> dict[str, Json]:
    return {"level": finding.level.value, "text": finding.text, "evidence": plain(finding.evidence)}


def _record_value(record: Record) -> dict[str, Json]:
    return {**model_plain(record), "details": plain(record.details)}
