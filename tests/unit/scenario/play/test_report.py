from __future__ import annotations

from kubelet_sim.scenario.play.player import Played, PlayedStep
from kubelet_sim.scenario.play.report import wrong_step_text
from kubelet_sim.scenario.steps.registry import STEPS
from kubelet_sim.scenario.story.story import Step, Story
from kubelet_sim.transcript import Record

ESCAPE = "\x1b[31m"


def played(*steps: PlayedStep, name: str = "s") -> Played:
    """A story that was played so."""
    return Played(Story(name, source="f.json"), steps)


def test_nothing_is_said_of_a_story_that_is_right() -> None:
    """Steps that expect nothing are right, whatever came."""
    right = PlayedStep(Step(1, STEPS["capacity"]), {"capacity": {}}, ())
    assert wrong_step_text(played(right)) == ""


def test_a_wrong_step_is_told_with_its_journal() -> None:
    """File, story, number and verb; what was expected, what came; each record with its rules."""
    record = Record(7, 1.5, "decision", "example.com/dev", "it is so", ("DM-1", "DM-2"))
    right = PlayedStep(Step(1, STEPS["serve"], expect={}), {}, ())
    wrong = PlayedStep(Step(2, STEPS["in-use"], expect={"example.com/dev": 2}), {"example.com/dev": 1}, (record,))
    assert wrong_step_text(played(right, wrong)).splitlines() == [
        "f.json: s, step 2: in-use",
        '  expected: {"example.com/dev": 2}',
        '  came:     {"example.com/dev": 1}',
        "journal since the step before:",
        "  7 1.5 s decision example.com/dev: it is so [DM-1 DM-2]",
    ]


def test_a_step_that_could_not_be_done_says_why() -> None:
    """Even if what it would have answered is what was expected."""
    wrong = PlayedStep(Step(1, STEPS["stop"], expect={}), {}, (), failure="nobody is there")
    assert "  came:     nothing: nobody is there" in wrong_step_text(played(wrong)).splitlines()


def test_foreign_text_is_escaped() -> None:
    """Names, answers and records may hold control characters; a report never does."""
    record = Record(1, 0.0, "fact", ESCAPE, f"{ESCAPE}\r\n")
    wrong = PlayedStep(Step(1, STEPS["in-use"], expect={ESCAPE: 1}), {ESCAPE: 2}, (record,), failure="")
    text = wrong_step_text(played(wrong, name=ESCAPE))
    assert "\x1b" not in text
    assert "\r" not in text
    assert len(text.splitlines()) == 5


def test_what_is_said_again_and_again_is_told_once() -> None:
    """With how often, and the last of it; what differs stays. The time of a clock that stood still stands in the title."""
    texts = ["one", "two", "one", "three", "two", "one"]
    records = tuple(Record(number, 0.0, "fact", "p", text) for number, text in enumerate(texts, 1))
    wrong = PlayedStep(Step(1, STEPS["wait"]), None, records, failure="there was none")
    assert wrong_step_text(played(wrong)).splitlines()[2:] == [
        "journal since the step before, all at 0.0 s of the node's clock:",
        "  1 fact p: one (and 2 more of the same, the last is 6)",
        "  2 fact p: two (and 1 more of the same, the last is 5)",
        "  4 fact p: three",
    ]
