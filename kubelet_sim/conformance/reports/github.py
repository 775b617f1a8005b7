"""What GitHub shows of a run: annotations beside the job's log, and the summary page of the job.

A line of the log that begins with `::` is a command to GitHub, whoever printed it. So the output of others is shown between
`silenced` and `heard_again`, and annotations come outside of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from kubelet_sim.conformance.check import Level
from kubelet_sim.conformance.reports import matrix
from kubelet_sim.conformance.reports.report_text import (
    OutcomeMark,
    about_pairs,
    account,
    mark_of,
    verdict,
    what_came,
)
from kubelet_sim.conformance.verdict import Outcome, Report
from kubelet_sim.foreign import cut, escape_lines, escape_terminal
from kubelet_sim.present.record_lines import record_line

MOST_ANNOTATIONS = 10
"""Of each level: GitHub shows no more of a step."""
_MOST_BYTES = 1_000_000
"""GitHub takes 1 MiB of summary from a step, or nothing."""
_LONGEST = 4000
_WORDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "notice"}


def is_there(environ: Mapping[str, str]) -> bool:
    """Whether this runs in a job of GitHub's."""
    return environ.get("GITHUB_ACTIONS") == "true"


def silenced(token: str) -> str:
    """The line after which GitHub takes no command until `heard_again`; `token` is a word that nobody can guess."""
    return f"::stop-commands::{token}"


def heard_again(token: str) -> str:
    """The line that lets GitHub take commands again, after that of `silenced`."""
    return f"::{token}::"


def annotation_lines(reports: Sequence[Report]) -> str:
    """A command line for each outcome that counts or warns, the worst first; at most ten of a level, and how many more."""
    found: dict[str, list[str]] = {"error": [], "warning": []}
    for report in reports:
        for outcome in report.outcomes:
            mark = mark_of(report, outcome)
            if mark.counts or mark is OutcomeMark.WARN:
                found["error" if mark.counts else "warning"].append(_annotation(report, outcome))
    lines = []
    for word, some in found.items():
        # The last one that is shown says what is not.
        shown = some if len(some) <= MOST_ANNOTATIONS else some[: MOST_ANNOTATIONS - 1]
        lines += [f"::{word} {each}" for each in shown]
        if len(some) > len(shown):
            lines.append(f"::{word} title=kubelet-sim::{len(some) - len(shown)} more, see the summary of the job")
    return "".join(f"{line}\n" for line in lines)


def escape_data(text: str) -> str:
    """Text of a command: on one line, as GitHub unescapes it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """A property of a command, in which colons and commas mean something, too."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def _annotation(report: Report, outcome: Outcome) -> str:
    title = f"{outcome.check.id} (kubelet {report.about.kubelet_version})"
    what = cut(what_came(report, outcome), _LONGEST)
    text = f"{what}\nHow to fix it: {outcome.check.fix}" if outcome.findings else what
    return f"title={escape_property(escape_terminal(title))}::{escape_data(escape_lines(text))}"


def summary(reports: Sequence[Report]) -> str:
    """The page of the job, in GitHub's Markdown: verdicts, a table, and each failure with its evidence.

    Where it would be longer than GitHub takes, transcripts and output are left out first, then failures at the end.
    """
    whole = "\n".join(_summary(reports, with_more=True)) + "\n"
    return whole if _size(whole) <= _MOST_BYTES else _shortened(_summary(reports, with_more=False))


def _shortened(parts: Iterator[str]) -> str:
    kept: list[str] = []
    left = _MOST_BYTES - 100
    for part in parts:
        left -= _size(part) + 1
        if left < 0:
            kept += ["", "The rest is left out: the page would be too long."]
            break
        kept.append(part)
    return "\n".join(kept) + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", errors="backslashreplace"))


def markdown_text(text: str) -> str:
    """Text of others as Markdown shows it to the letter: whatever could be markup, HTML included, is a character reference."""
    return "".join(
        each if each.isalnum() or each in " /\u200c\u200d" else f"&#{ord(each)};" for each in escape_terminal(cut(text))
    )


def _summary(reports: Sequence[Report], *, with_more: bool) -> Iterator[str]:
    yield "## kubelet-sim conform"
    yield ""
    for report in reports:
        yield f"- {markdown_text(verdict(report))}"
    if reports:
        yield ""
        for name, text in about_pairs(reports[0]):
            if name != "kubelet":
                yield f"{name}: <code>{escape(escape_terminal(cut(text)))}</code><br>"
        yield ""
    for report in reports:
        shown = [each for each in report.outcomes if mark_of(report, each) in _SHOWN]
        if shown:
            yield from (f"### Kubelet {markdown_text(report.about.kubelet_version)}", "")
        for outcome in shown:
            yield from _details(report, outcome, with_more=with_more)
    yield from ("<details><summary>All checks</summary>", "", matrix.markdown(reports), "</details>")


_SHOWN = (OutcomeMark.FAIL, OutcomeMark.BROKEN, OutcomeMark.FIXED, OutcomeMark.WARN, OutcomeMark.KNOWN)


def _details(report: Report, outcome: Outcome, *, with_more: bool) -> Iterator[str]:
    mark = mark_of(report, outcome)
    head = f"{matrix.SIGNS[mark]} <code>{escape(outcome.check.id)}</code> {escape(outcome.check.title)}"
    yield f"<details{' open' if mark.counts else ''}><summary>{head}</summary>"
    yield _block(account(report, outcome))
    if with_more and outcome.records:
        yield f"<details><summary>Transcript</summary>{_block(map(record_line, outcome.records))}</details>"
    if with_more and outcome.output:
        yield f"<details><summary>Output of the plugin</summary>{_block(outcome.output)}</details>"
    yield from ("</details>", "")


def _block(lines: Iterator[str] | Sequence[str]) -> str:
    """Lines as they are. An empty line would end the block of HTML, and Markdown would begin."""
    text = escape("\n".join(escape_lines(cut(line, _LONGEST)) for line in lines))
    return f"<pre>{text.replace(chr(10), '&#10;')}</pre>"
