from __future__ import annotations

from attrs import evolve

from kubelet_sim.conformance.reports.terminal import progress_line, report_lines
from kubelet_sim.conformance.suite import Progress
from tests.unit.conformance.reports.samples import FAILED, PASSED, SKIPPED, report

SLOW = evolve(PASSED, notes=("slow: the plugin took 12 s to come back",), took_s=14.2)


def test_a_plugin_that_passes_slowly_is_told_why() -> None:
    """What was noted of its slowness, and what a long run took its time for; a short one says nothing of that."""
    lines = list(report_lines(evolve(report(SLOW), took_s=31.0)))
    assert f"slow: the plugin took 12 s to come back: {SLOW.check.id}" in lines
    assert f"longest: {SLOW.check.id} 14 s" in lines
    assert not any(each.startswith(("slow", "longest")) for each in report_lines(evolve(report(PASSED), took_s=19.0)))


def test_the_verbose_progress_has_reasons_and_notes() -> None:
    """Otherwise a skip is no line, and a pass is a bare one."""
    skipped = Progress(1, 2, outcome=evolve(SKIPPED, reason="needs --break CMD"))
    passed = Progress(2, 2, outcome=PASSED)
    assert progress_line(skipped) is None
    assert (progress_line(skipped, is_verbose=True) or "").endswith("health-skips  0.0 s: needs --break CMD")
    assert (progress_line(passed) or "").endswith("reg-passes  0.2 s")
    assert (progress_line(passed, is_verbose=True) or "").endswith("reg-passes  0.2 s: observed 5 s")


def test_what_a_check_did_after_its_finding_is_no_evidence() -> None:
    """The last records and lines are those of the finding; where more came, that is said, and tabs are spaces."""
    failed = evolve(FAILED, output=("a\tb", "later"), records_then=FAILED.records[:1], output_then=("a\tb",))
    lines = list(report_lines(report(failed)))
    at = lines.index("  what happened on the node last, until that was found:")
    assert lines[at + 1].endswith(FAILED.records[0].text)
    assert lines[at + 2 : at + 4] == ["  what the plugin said last, until that was found:", "    | a   b"]
    assert not any("later" in line for line in lines)


def test_what_was_interrupted_is_no_list() -> None:
    """Of a hundred checks that were not made nobody wants to read."""
    left = tuple(evolve(SKIPPED, reason="interrupted") for _ in range(3))
    lines = list(report_lines(report(PASSED, *left, was_interrupted=True)))
    assert "skipped: interrupted: 3 checks" in lines
    assert lines[-1].endswith("s: interrupted")
