from __future__ import annotations

import pytest
from attrs import evolve

from kubelet_sim.conformance.reports.report_text import OutcomeMark, checks_of, conforms, mark_of, plain, tally, verdict
from kubelet_sim.conformance.verdict import Outcome, Status
from tests.unit.conformance.reports.samples import (
    ALL,
    BROKEN,
    EVERYTHING,
    FAILED,
    FIXED,
    GOOD,
    KNOWN,
    PASSED,
    SKIPPED,
    WARNED,
    report,
)


@pytest.mark.parametrize(
    "outcome, is_strict, mark",
    [
        (PASSED, False, OutcomeMark.PASS),
        (FAILED, False, OutcomeMark.FAIL),
        (WARNED, False, OutcomeMark.WARN),
        (WARNED, True, OutcomeMark.FAIL),
        (evolve(WARNED, is_known=True), True, OutcomeMark.KNOWN),
        (SKIPPED, True, OutcomeMark.SKIP),
        (evolve(SKIPPED, is_known=True), False, OutcomeMark.SKIP),
        (BROKEN, False, OutcomeMark.BROKEN),
        (evolve(BROKEN, is_known=True), False, OutcomeMark.KNOWN),
        (KNOWN, False, OutcomeMark.KNOWN),
        (FIXED, False, OutcomeMark.FIXED),
    ],
)
def test_a_mark_says_how_an_outcome_counts(outcome: Outcome, is_strict: bool, mark: OutcomeMark) -> None:
    """Warnings count if strict; a known failure does not, unless it passes; and a run fails for just those that count."""
    run = report(outcome, is_strict=is_strict)
    assert mark_of(run, outcome) is mark
    assert mark.counts == run.is_bad(outcome)


def test_a_sentence_says_whether_the_plugin_conforms() -> None:
    """It says whether the plugin conforms, and how many checks came to what, in the order of the marks."""
    assert verdict(GOOD) == "The plugin conforms (kubelet v1.36.2): 1 passed, 1 skipped, in 12.3 s."
    assert tally(EVERYTHING) == (
        "1 passed, 1 warned, 1 failed, 1 could not be carried out, 1 skipped, 1 failed as known, 1 known to fail and passed"
    )
    assert not conforms(EVERYTHING)


def test_nothing_tried_is_no_pass() -> None:
    """A run in which everything was skipped does not conform: the plugin was not tested."""
    run = report(SKIPPED)
    assert not conforms(run)
    assert "could not be tested" in verdict(run)
    assert tally(report()) == "no checks"


def test_checks_of_several_runs_are_there_once() -> None:
    """Each is there once, group by group."""
    first, second = report(WARNED, PASSED), report(PASSED, FAILED)
    assert [each.id for each in checks_of([first, second])] == ["reg-passes", "reg-fails", "law-warns"]
    assert checks_of([]) == ()


def test_evidence_becomes_json() -> None:
    """Sets are sorted, keys are texts, bytes are in hex, what is not finite and what is unknown is its text."""
    value = {
        1: frozenset({"b", "a"}),
        "n": float("nan"),
        "s": Status.PASSED,
        "b": b"\x01",
        "t": (1, None, True),
        "o": 1j,
    }
    assert plain(value) == {"1": ["a", "b"], "n": "nan", "s": "passed", "b": "01", "t": [1, None, True], "o": "1j"}
    assert len({mark_of(EVERYTHING, each) for each in ALL}) == len(OutcomeMark)
