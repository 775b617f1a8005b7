"""What became of stories as JUnit XML, which every build server reads."""

from __future__ import annotations

from collections.abc import Sequence

from junitparser import Failure, Skipped, TestCase, TestSuite

from kubelet_sim.foreign import xml_text
from kubelet_sim.scenario.play.parallel_play import StoryOutcome


def junit_text(outcomes: Sequence[StoryOutcome]) -> str:
    """One suite with a case for each story, in order; a story whose node cannot be is skipped."""
    suite = TestSuite("kubelet-sim scenario")
    for outcome in outcomes:
        suite.add_testcase(_case(outcome))
    suite.time = round(sum(outcome.duration_s for outcome in outcomes), 3)
    document: bytes = suite.tostring()  # type: ignore[no-untyped-call]
    return f'<?xml version="1.0" encoding="utf-8"?>\n{document.decode("utf-8")}\n'


def _case(outcome: StoryOutcome) -> TestCase:
    story = outcome.story
    case = TestCase(xml_text(story.name), xml_text(story.source or "story"), round(outcome.duration_s, 3))
    if not outcome.is_passed:
        text = xml_text(outcome.text())
        result = (Failure if outcome.is_playable else Skipped)(text.partition("\n")[0])
        result.text = text
        case.result = [result]
    return case
