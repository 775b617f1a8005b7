"""A run as lines for a terminal: progress as it goes, then what is wrong with its evidence, then a summary.

Lines hold foreign text as it came: whoever prints them escapes it, line by line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubelet_sim.conformance.check import Level
from kubelet_sim.conformance.check_run import INTERRUPTED
from kubelet_sim.conformance.suite import Progress
from kubelet_sim.conformance.verdict import Outcome, Report, Status

_WORDS = {
    Status.PASSED: "pass",
    Status.FAILED: "FAIL",
    Status.WARNED: "warn",
    Status.SKIPPED: "skip",
    Status.BROKEN: "BROKEN",
}
_SLOW = "slow: "
"""How a check's note of a slow plugin begins."""
_LONG_S = 20.0
"""A run that takes longer says what for."""
_LONG_CHECK_S = 5.0
_MOST_LONG = 5
_LAST_RECORDS = 12
_LAST_LINES = 12


def progress_line(progress: Progress, *, is_verbose: bool = False) -> str | None:
    """A line for what just happened; `None` for what is worth none: beginnings, and skips unless `is_verbose`.

    Then it also has the reason, and what was noted.
    """
    if progress.text:
        return f"note: {progress.text}"
    outcome = progress.outcome
    if outcome is None or (outcome.status is Status.SKIPPED and not is_verbose):
        return None
    width = len(str(progress.total))
    known = " (known)" if outcome.is_known else ""
    told = [each for each in (outcome.reason, *outcome.notes) if each] if is_verbose else []
    return (
        f"[{progress.done:{width}}/{progress.total}] {_WORDS[outcome.status]:6} {outcome.check.id}  "
        f"{outcome.took_s:.1f} s{known}{': ' if told else ''}{'; '.join(told)}"
    )


def report_lines(report: Report) -> Iterator[str]:
    """What is wrong, and what it comes to."""
    telling = [each for each in report.outcomes if each.status in (Status.FAILED, Status.WARNED, Status.BROKEN)]
    telling += [each for each in report.outcomes if each.is_known and each.status is Status.PASSED]
    for outcome in telling:
        yield ""
        yield from outcome_lines(outcome)
    infos = [(each, f) for each in report.outcomes for f in each.findings if f.level is Level.INFO]
    if infos:
        yield ""
        yield from (f"info: {outcome.check.id}: {finding.text}" for outcome, finding in infos)
    yield ""
    yield from slow_lines(report)
    yield from skipped_lines(report.outcomes)
    yield from summary_lines(report)


def outcome_lines(outcome: Outcome) -> Iterator[str]:
    """One check that is no pass, with evidence."""
    check = outcome.check
    yield f"{_WORDS[outcome.status]} {check.id}: {check.title}"
    if outcome.is_known and outcome.status is Status.PASSED:
        yield "  it passes, and is in the list of known failures: take it out"
        return
    if outcome.reason:
        yield f"  {outcome.reason}"
    for finding in outcome.findings:
        yield f"  {finding.level.value}: {finding.text}"
        if finding.evidence:
            yield f"    {', '.join(f'{name}={value!r}' for name, value in finding.evidence.items())}"
    yield from (f"  ({note})" for note in outcome.notes)
    yield f"  why: {check.why}"
    yield f"  fix: {check.fix}"
    yield f"  source: {check.source}{f' [{chr(32).join(check.rules)}]' if check.rules else ''}"
    if outcome.records_then:
        yield f"  what happened on the node last{_until(outcome.records, outcome.records_then)}:"
        yield from (f"    {r.at_s:8.3f} {r.subject}: {r.text}" for r in outcome.records_then[-_LAST_RECORDS:])
    if outcome.output_then:
        yield f"  what the plugin said last{_until(outcome.output, outcome.output_then)}:"
        yield from (f"    | {line.expandtabs(4)}" for line in outcome.output_then[-_LAST_LINES:])


def _until(everything: Sequence[object], shown: Sequence[object]) -> str:
    """Evidence ends where the finding was made; that the check went on is said."""
    return "" if everything[-1:] == shown[-1:] else ", until that was found"


def slow_lines(report: Report) -> Iterator[str]:
    """Why the run took its time: a plugin that was slow, and where a run was long, what for."""
    for outcome in report.outcomes:
        if outcome.status is Status.PASSED:
            yield from (f"{note}: {outcome.check.id}" for note in outcome.notes if note.startswith(_SLOW))
    by_time = sorted(report.outcomes, key=lambda each: -each.took_s)
    long = [each for each in by_time if each.took_s > _LONG_CHECK_S][:_MOST_LONG]
    if report.took_s > _LONG_S and long:
        yield f"longest: {', '.join(f'{each.check.id} {each.took_s:.0f} s' for each in long)}"


def skipped_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Lines that name the skipped checks, by the reason why they were."""
    by_reason: dict[str, list[str]] = {}
    for each in outcomes:
        if each.status is Status.SKIPPED:
            by_reason.setdefault(each.reason, []).append(each.check.id)
    for reason, ids in by_reason.items():
        # What was broken off has told how much was done: nobody wants to read of a hundred checks what was not.
        yield f"skipped: {reason}: {f'{len(ids)} checks' if reason == INTERRUPTED else ', '.join(ids)}"


def summary_lines(report: Report) -> Iterator[str]:
    """The last lines of a run: whether the plugin conforms, and how many checks came to what."""
    about = report.about
    counts = ", ".join(f"{report.count(status)} {status.value}" for status in Status if report.count(status))
    known = sum(each.is_known and each.status is not Status.PASSED for each in report.outcomes)
    yield f"kubelet {about.kubelet_version}, {about.mode} mode (observed {about.window_s:g} s), seed {about.seed}"
    yield f"resources: {', '.join(about.resources) or 'none'}"
    if about.mode == "quick":
        yield "quick: only errors that can be seen from outside at once were looked for"
    verdict = "could not be tested" if not report.could_run else ("does not conform" if report.bad else "conforms")
    if report.was_interrupted:
        verdict = "interrupted; does not conform" if report.bad else "interrupted"
    yield f"{counts}{f' ({known} of them known)' if known else ''} in {report.took_s:.1f} s: {verdict}"
