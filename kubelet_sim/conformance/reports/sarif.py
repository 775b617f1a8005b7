"""The report for code scanning: SARIF 2.1.0. Checks are rules, findings are results; what passed is not told.

A finding is about a program that runs, not about a line. Services that show SARIF want a file all the same: it is the
plugin's program, as its command names it, and the resource stands beside it as a logical location.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from kubelet_sim.conformance.check import Check, Level
from kubelet_sim.conformance.reports.report_text import (
    OutcomeMark,
    about_pairs,
    checks_of,
    evidence_lines,
    mark_of,
    plain,
    what_came,
)
from kubelet_sim.conformance.verdict import Finding, Outcome, Report, Status
from kubelet_sim.transcript import Json

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "note"}


def render(reports: Sequence[Report]) -> str:
    """The document, with a run for each kubelet; ASCII."""
    runs = [_run(report) for report in reports]
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": runs}, indent=2, allow_nan=False) + "\n"


def _run(report: Report) -> dict[str, Json]:
    checks = checks_of([report])
    places = {check.id: place for place, check in enumerate(checks)}
    about = report.about
    return {
        "tool": {
            "driver": {
                "name": "kubelet-sim",
                "version": about.kubelet_sim,
                "rules": [_rule(check) for check in checks],
            }
        },
        "automationDetails": {"id": f"kubelet-sim/conform/{about.kubelet_version}/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": report.could_run,
                "toolExecutionNotifications": list(_notifications(report, places)),
            }
        ],
        "results": [
            _result(report, outcome, finding, places[outcome.check.id])
            for outcome in report.outcomes
            for finding in outcome.findings
        ],
        "properties": dict(about_pairs(report)),
    }


def _rule(check: Check) -> dict[str, Json]:
    parts = [("What is checked", check.what), ("Why it matters", check.why), ("How to fix it", check.fix)]
    if check.rules:
        parts.append(("Rules of the kubelet", ", ".join(check.rules)))
    parts.append(("Source", check.source))
    return {
        "id": check.id,
        "name": "".join(word.capitalize() for word in check.id.split("-")),
        "shortDescription": {"text": check.title},
        "fullDescription": {"text": f"{check.what} {check.why}"},
        "help": {
            "text": "\n\n".join(f"{name}: {text}" for name, text in parts),
            "markdown": "\n\n".join(f"**{name}.** {text}" for name, text in parts),
        },
        "defaultConfiguration": {"level": _LEVELS[check.level]},
        "properties": {"tags": ["device-plugin", check.group.value], "problem.severity": _severity(check.level)},
    }


def _severity(level: Level) -> str:
    return "recommendation" if level is Level.INFO else level.value


def _result(report: Report, outcome: Outcome, finding: Finding, place: int) -> dict[str, Json]:
    check = outcome.check
    lines = [finding.text, *evidence_lines(finding), f"How to fix it: {check.fix}"]
    value = {
        "ruleId": check.id,
        "ruleIndex": place,
        "level": _LEVELS[finding.level],
        "message": {"text": "\n".join(lines)},
        "locations": [_location(report)],
        "partialFingerprints": {"kubeletSimFinding/v1": _fingerprint(report, outcome, finding)},
        "properties": {"evidence": plain(finding.evidence)},
    }
    if mark_of(report, outcome) is OutcomeMark.KNOWN:
        value["suppressions"] = [{"kind": "external", "justification": "listed as a known failure"}]
    return value


def _location(report: Report) -> dict[str, Json]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": program_uri(report.about.plugin)}, "region": {"startLine": 1}},
        "logicalLocations": [{"fullyQualifiedName": name, "kind": "resource"} for name in report.about.resources],
    }


def program_uri(command: str) -> str:
    """The program of a command line as a relative reference; `plugin` if it has none."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    name = (words or ["plugin"])[0].removeprefix("./").lstrip("/")
    return quote(name.encode("utf-8", errors="backslashreplace"), safe="/") or "plugin"


def _fingerprint(report: Report, outcome: Outcome, finding: Finding) -> str:
    """The same for the same trouble in the next run, whatever ids and times are in its text."""
    number = [each for each in outcome.findings if each.level is finding.level].index(finding)
    what = [report.about.kubelet_version.rpartition(".")[0], outcome.check.id, finding.level.value, number]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]


def _notifications(report: Report, places: dict[str, int]) -> Iterator[dict[str, Json]]:
    for outcome in report.outcomes:
        if outcome.status is Status.BROKEN:
            yield {
                "level": "error",
                "message": {"text": f"{outcome.check.id} could not be carried out: {what_came(report, outcome)}"},
                "associatedRule": {"id": outcome.check.id, "index": places[outcome.check.id]},
            }
