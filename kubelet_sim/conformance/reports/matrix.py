"""Which check comes out how on which kubelet: a table for terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from attrs import frozen

from kubelet_sim.conformance.check import Check
from kubelet_sim.conformance.reports.report_text import OutcomeMark, checks_of, counts, mark_of
from kubelet_sim.conformance.verdict import Report
from kubelet_sim.foreign import escape_terminal

SIGNS = {
    OutcomeMark.PASS: "✓",
    OutcomeMark.WARN: "!",
    OutcomeMark.FAIL: "✗",
    OutcomeMark.BROKEN: "?",
    OutcomeMark.SKIP: "-",
    OutcomeMark.KNOWN: "k",
    OutcomeMark.FIXED: "K",
}
LEGEND = (
    "✓ pass, ! warning, ✗ fails, ? could not be carried out, - skipped, k known failure, K known failure that passed"
)


@frozen
class MatrixRow:
    """The outcomes of one check on all kubelets."""

    check: Check
    marks: tuple[OutcomeMark | None, ...]
    """In the order of the runs; `None` where it was not part of the run."""

    @property
    def differs(self) -> bool:
        """Whether kubelets make a difference to it."""
        return len({mark for mark in self.marks if mark is not OutcomeMark.SKIP}) > 1


def rows(reports: Sequence[Report]) -> tuple[MatrixRow, ...]:
    """A row for each check, in the order of the catalogue."""
    marks = [{each.check.id: mark_of(report, each) for each in report.outcomes} for report in reports]
    return tuple(MatrixRow(check, tuple(each.get(check.id) for each in marks)) for check in checks_of(reports))


def versions(reports: Sequence[Report]) -> tuple[str, ...]:
    """The heads of the columns: the kubelets, without `v`."""
    return tuple(escape_terminal(report.about.kubelet_version).removeprefix("v") for report in reports)


def terminal(reports: Sequence[Report]) -> str:
    """Columns of plain text: no line is longer than a check's id and a sign for each kubelet."""
    heads, table = versions(reports), rows(reports)
    first = max((len(row.check.id) for row in table), default=5)
    lines = [f"{'check':<{first}}  {'  '.join(heads)}"]
    for row in table:
        cells = "  ".join(f"{_sign(mark):^{len(head)}}" for mark, head in zip(row.marks, heads, strict=True))
        lines.append(f"{row.check.id:<{first}}  {cells}".rstrip())
    return "\n".join((*lines, "", LEGEND)) + "\n"


def markdown(reports: Sequence[Report]) -> str:
    """A table of Markdown, ids as code, with how many of each at the end."""
    heads = versions(reports)
    lines = [f"| check | {' | '.join(heads)} |", f"|---|{':-:|' * len(heads)}"]
    lines.extend(f"| `{row.check.id}` | {' | '.join(map(_sign, row.marks))} |" for row in rows(reports))
    lines.append(f"| failures | {' | '.join(_failures(each) for each in reports)} |")
    return "\n".join((*lines, "", LEGEND)) + "\n"


def html(reports: Sequence[Report]) -> str:
    """A `table` element, without style: cells have the class of their mark, rows that differ have `differs`."""
    return "\n".join(_html(reports))


def _html(reports: Sequence[Report]) -> Iterator[str]:
    yield '<table class="matrix">'
    yield f"<thead><tr><th>check</th>{''.join(f'<th>{escape(head)}</th>' for head in versions(reports))}</tr></thead>"
    yield "<tbody>"
    for row in rows(reports):
        cells = "".join(
            f'<td class="{mark.value if mark else "none"}" title="{mark.value if mark else "not part of this run"}">'
            f"{_sign(mark)}</td>"
            for mark in row.marks
        )
        differs = ' class="differs"' if row.differs else ""
        yield f'<tr{differs}><th scope="row" title="{escape(row.check.title)}">{escape(row.check.id)}</th>{cells}</tr>'
    yield f"</tbody></table><p>{escape(LEGEND)}</p>"


def _sign(mark: OutcomeMark | None) -> str:
    return SIGNS[mark] if mark is not None else " "


def _failures(report: Report) -> str:
    return str(sum(count for mark, count in counts(report).items() if mark.counts))
