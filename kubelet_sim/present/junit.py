"""JUnit XML, which every build server reads: its pieces as all reports of ours write them, and the report about stories."""

from __future__ import annotations

from collections.abc import Sequence

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import FinalResult

from kubelet_sim.foreign import xml_text
from kubelet_sim.scenario.play.parallel_play import StoryOutcome


def junit_case(name: str, classname: str, took_s: float, result: FinalResult | None = None, text: str = "") -> TestCase:
    """A case that passed, or that has a result with that text below it; what no XML can hold is escaped."""
    case = TestCase(xml_text(name), xml_text(classname), junit_time(took_s))
    if result is not None:
        if text:
            result.text = xml_text(text)
        case.result = [result]
    return case


def junit_time(seconds: float) -> float:
    """The seconds with as many places as the schema allows."""
    return round(max(seconds, 0.0), 3)


def junit_bytes(document: JUnitXml | TestSuite) -> bytes:
    """The JUnit document in UTF-8."""
    written: bytes = document.tostring()  # type: ignore[no-untyped-call]
    return written + b"\n"


def stories_junit(outcomes: Sequence[StoryOutcome]) -> str:
    """One suite with a case for each story, in order; a story whose node cannot be is skipped."""
    suite = TestSuite("kubelet-sim scenario")
    for outcome in outcomes:
        suite.add_testcase(_case(outcome))
    suite.time = junit_time(sum(outcome.duration_s for outcome in outcomes))
    return f'<?xml version="1.0" encoding="utf-8"?>\n{junit_bytes(suite).decode("utf-8")}'


def _case(outcome: StoryOutcome) -> TestCase:
    text = outcome.text()
    result = None
    if not outcome.is_passed:
        result = (Failure if outcome.is_playable else Skipped)(xml_text(text).partition("\n")[0])
    return junit_case(outcome.story.name, outcome.story.source or "story", outcome.duration_s, result, text)
