"""The report for TAP consumers: version 14, a subtest for each kubelet if there are several."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from kubelet_sim.conformance.reports.report_text import OutcomeMark, conforms, mark_of, plain, tally, what_came
from kubelet_sim.conformance.verdict import Outcome, Report
from kubelet_sim.foreign import cut, escape_terminal
from kubelet_sim.transcript import Json


def render(reports: Sequence[Report]) -> str:
    """The TAP stream of all runs, as text."""
    return "\n".join(("TAP version 14", *_body(reports))) + "\n"


def _body(reports: Sequence[Report]) -> Iterator[str]:
    if len(reports) == 1:
        yield from _run(reports[0])
        return
    yield f"1..{len(reports)}"
    for number, report in enumerate(reports, 1):
        name = described(f"kubelet {report.about.kubelet_version}")
        yield f"# Subtest: {name}"
        yield from (f"    {line}" for line in _run(report))
        yield f"{'ok' if conforms(report) else 'not ok'} {number} - {name}"


def described(text: str) -> str:
    r"""The text as a description: on one line, `#` and `\` escaped, since a `#` would begin a directive."""
    return escape_terminal(cut(text)).replace("\\", "\\\\").replace("#", "\\#")


def _run(report: Report) -> Iterator[str]:
    yield f"1..{len(report.outcomes)}{'' if report.outcomes else ' # SKIP no check was made'}"
    for number, outcome in enumerate(report.outcomes, 1):
        yield from _point(report, outcome, number)
    yield f"# {described(f'{report.about.plugin}: {tally(report)}, seed {report.about.seed}')}"


def _point(report: Report, outcome: Outcome, number: int) -> Iterator[str]:
    mark = mark_of(report, outcome)
    # A consumer fails a run for `not ok` unless it is a TODO, and takes no notice of a TODO that is ok.
    word = "not ok" if mark.counts or mark is OutcomeMark.KNOWN else "ok"
    directive = {
        OutcomeMark.SKIP: f" # SKIP {described(outcome.reason)}",
        OutcomeMark.KNOWN: " # TODO known failure",
    }.get(mark, "")
    yield f"{word} {number} - {described(f'{outcome.check.id}: {outcome.check.title}')}{directive}"
    if mark in (OutcomeMark.PASS, OutcomeMark.SKIP):
        return
    yield "  ---"
    for name, value in _diagnosis(report, outcome).items():
        yield f"  {name}: {json.dumps(value, allow_nan=False)}"  # YAML, since JSON is
    yield "  ..."


def _diagnosis(report: Report, outcome: Outcome) -> dict[str, Json]:
    return {
        "message": what_came(report, outcome),
        "severity": outcome.worst.value if outcome.worst else "fail",
        "findings": [
            {"level": each.level.value, "text": each.text, "evidence": plain(each.evidence)}
            for each in outcome.findings
        ],
        "why": outcome.check.why,
        "fix": outcome.check.fix,
        "notes": list(outcome.notes),
        "output": list(outcome.output),
        "duration_ms": round(outcome.took_s * 1000),
    }
