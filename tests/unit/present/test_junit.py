"""What became of stories, as build servers read it."""

from __future__ import annotations

from junitparser import Failure, Skipped, TestSuite

from kubelet_sim.present.junit import stories_junit
from kubelet_sim.scenario.play.parallel_play import StoryOutcome
from kubelet_sim.scenario.play.player import Played
from kubelet_sim.scenario.story.story_reader import story_from_mapping

STORY = story_from_mapping({"name": "s \x1b", "steps": []}, source="f.yaml")


def test_each_story_is_a_case() -> None:
    """Its place, its time, and what was wrong; what no XML can hold is escaped."""
    passed = StoryOutcome(STORY, Played(STORY, ()), duration_s=1.2345)
    failed = StoryOutcome(STORY, problem="first \x00\nsecond <", duration_s=1.0)
    skipped = StoryOutcome(STORY, problem="no such node", is_playable=False)
    text = stories_junit([passed, failed, skipped])
    assert text.startswith('<?xml version="1.0" encoding="utf-8"?>\n<testsuite ')
    suite = TestSuite.fromstring(text)
    assert (suite.name, suite.tests, suite.failures, suite.skipped, suite.errors) == (
        "kubelet-sim scenario",
        3,
        1,
        1,
        0,
    )
    assert suite.time == 2.234
    cases = list(suite)
    assert [(case.name, case.classname) for case in cases] == [("s \\x1b", "f.yaml")] * 3
    assert [list(map(type, case.result)) for case in cases] == [[], [Failure], [Skipped]]
    assert (cases[1].result[0].message, cases[1].result[0].text) == ("first \\x00", "first \\x00\nsecond <")
