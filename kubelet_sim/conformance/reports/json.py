"""A run as JSON. Every text is as it was: readers escape for their own medium."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from attrs import asdict

from kubelet_sim.conformance.check import Check
from kubelet_sim.conformance.verdict import Outcome, Report, Status
from kubelet_sim.transcript import Record

FORM = 1
"""Goes up when what stood here before means something else."""


def json_text(reports: Sequence[Report]) -> str:
    """All runs as one document, with a line end."""
    document = {"kubelet-sim-conformance": FORM, "reports": [report_object(each) for each in reports]}
    return json.dumps(document, indent=2, ensure_ascii=True, default=str) + "\n"


def report_object(report: Report) -> dict[str, Any]:
    """One run."""
    return {
        "about": {**asdict(report.about), "resources": list(report.about.resources)},
        "conforms": not report.bad and report.could_run,
        "strict": report.is_strict,
        "took_s": round(report.took_s, 3),
        "counts": {status.value: report.count(status) for status in Status},
        "notes": list(report.notes),
        "checks": [outcome_object(each) for each in report.outcomes],
    }


def outcome_object(outcome: Outcome) -> dict[str, Any]:
    """One check of a run."""
    return {
        "id": outcome.check.id,
        "group": outcome.check.group.value,
        "title": outcome.check.title,
        "level": outcome.check.level.value,
        "status": outcome.status.value,
        "known": outcome.is_known,
        "reason": outcome.reason,
        "took_s": round(outcome.took_s, 3),
        "findings": [
            {"level": each.level.value, "text": each.text, "evidence": dict(each.evidence)} for each in outcome.findings
        ],
        "notes": list(outcome.notes),
        "transcript": [record_object(each) for each in outcome.records],
        "output": list(outcome.output),
    }


def record_object(record: Record) -> dict[str, Any]:
    """One record of the transcript."""
    return {
        "number": record.number,
        "at_s": round(record.at_s, 3),
        "kind": record.kind,
        "subject": record.subject,
        "text": record.text,
        "rules": list(record.rules),
        "level": record.level.value,
    }


def check_object(check: Check) -> dict[str, Any]:
    """A check itself, for `--list` and `explain`."""
    return {
        "id": check.id,
        "group": check.group.value,
        "title": check.title,
        "level": check.level.value,
        "needs": sorted(each.value for each in check.needs),
        "hooks": list(check.hooks),
        "stage": check.stage.value,
        "beyond": check.is_beyond,
        "quick": check.is_quick,
        "what": check.what,
        "why": check.why,
        "fix": check.fix,
        "rules": list(check.rules),
        "source": check.source,
    }
