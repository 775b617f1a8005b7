"""The report as a page that needs nothing beside it: no network, no other file, and no script to be read.

Text of others is escaped as it is written. Should that ever fail, the page still runs no script but its own: its content
security policy names that one by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib import resources

from kubelet_sim.conformance.check import Group
from kubelet_sim.conformance.reports import matrix
from kubelet_sim.conformance.reports.report_text import (
    OutcomeMark,
    about_pairs,
    evidence_lines,
    mark_of,
    verdict,
    what_came,
)
from kubelet_sim.conformance.verdict import Finding, Outcome, Report, Status
from kubelet_sim.foreign import cut, escape_lines
from kubelet_sim.present.record_lines import record_line

_OPEN = (OutcomeMark.FAIL, OutcomeMark.BROKEN, OutcomeMark.FIXED)
_LONGEST = 20_000


def render(reports: Sequence[Report]) -> str:
    """The page of all runs, with a matrix if there are several."""
    return "\n".join(_page(reports)) + "\n"


def shown(text: str) -> str:
    """Text of others as HTML; what a browser would hide or reorder by is written out."""
    return escape(escape_lines(cut(text, _LONGEST)))


def _page(reports: Sequence[Report]) -> Iterator[str]:
    style, script = _file("page.css"), _file("page.js")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>kubelet-sim conform</title>\n<style>{style}</style>\n</head>\n<body>"
    yield "<h1>kubelet-sim conform</h1>"
    for report in reports:
        yield f'<p class="verdict">{shown(verdict(report))}</p>'
    if len(reports) > 1:
        yield f"<h2>On each kubelet</h2>\n{matrix.html(reports)}"
    yield from _filter(reports)
    for report in reports:
        yield from _run(report)
    yield f"<script>{script}</script>\n</body>\n</html>"


def _filter(reports: Sequence[Report]) -> Iterator[str]:
    held = {outcome.check.group for report in reports for outcome in report.outcomes}
    yield '<form class="filter" hidden><input type="search" name="q" placeholder="Search" aria-label="Search">'
    yield '<select name="mark" aria-label="Result"><option value="">all results</option>'
    yield f'<option value="{" ".join(mark.value for mark in OutcomeMark if mark.counts)}">counts as failure</option>'
    yield f"{''.join(f'<option>{mark.value}</option>' for mark in OutcomeMark)}</select>"
    yield '<select name="group" aria-label="Group"><option value="">all groups</option>'
    yield f"{''.join(f'<option>{escape(group.value)}</option>' for group in Group if group in held)}</select>"
    yield '<output id="shown"></output></form>'


def _run(report: Report) -> Iterator[str]:
    yield f'<section class="run"><h2>Kubelet {shown(report.about.kubelet_version)}</h2><dl class="about">'
    for name, text in about_pairs(report):
        yield f"<dt>{escape(name)}</dt><dd>{shown(text)}</dd>"
    yield "</dl>"
    yield from (f"<p>{shown(note)}</p>" for note in report.notes)
    # Those that count first, then warnings: nobody wants to look for them.
    marks = {each.check.id: mark_of(report, each) for each in report.outcomes}
    for outcome in sorted(
        report.outcomes,
        key=lambda each: (not marks[each.check.id].counts, marks[each.check.id] is not OutcomeMark.WARN),
    ):
        yield from _outcome(report, outcome)
    yield "</section>"


def _outcome(report: Report, outcome: Outcome) -> Iterator[str]:
    check, mark = outcome.check, mark_of(report, outcome)
    group = escape(check.group.value)
    yield f'<details class="check {mark.value}" data-mark="{mark.value}" data-group="{group}"{" open" if mark in _OPEN else ""}>'
    head = f'<span class="mark">{mark.value}</span> <code>{escape(check.id)}</code> <span class="title">{escape(check.title)}</span>'
    yield f"<summary>{head}</summary>"
    if outcome.status in (Status.BROKEN, Status.SKIPPED) or mark is OutcomeMark.FIXED:
        yield f"<p>{shown(what_came(report, outcome))}</p>"
    yield from map(_finding, outcome.findings)
    yield from (f"<p>{shown(note)}</p>" for note in outcome.notes)
    for name, text in (("What is checked", check.what), ("Why it matters", check.why), ("How to fix it", check.fix)):
        yield f"<h3>{name}</h3><p>{escape(text)}</p>"
    rules = f"{', '.join(check.rules)}; " if check.rules else ""
    yield f"<h3>Where that comes from</h3><p>{escape(rules + check.source)} ({group}, {outcome.took_s:.2f} s)</p>"
    if outcome.records:
        yield _lines("Transcript", map(record_line, outcome.records))
    if outcome.output:
        yield _lines("Output of the plugin", outcome.output)
    yield "</details>"


def _finding(finding: Finding) -> str:
    evidence = "\n".join(evidence_lines(finding))
    more = f"<pre>{shown(evidence)}</pre>" if evidence else ""
    return f'<p class="{finding.level.value}"><b>{finding.level.value}</b> {shown(finding.text)}</p>{more}'


def _lines(name: str, lines: Iterable[str]) -> str:
    text = escape("\n".join(escape_lines(cut(line)) for line in lines))
    return f"<details><summary>{name}</summary><pre>{text}</pre></details>"


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
