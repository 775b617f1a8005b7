"""The list of faults: complete, and consistent with what is made from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.node.faults import FAMILIES, KINDS, ActiveFault, FaultKind, find
from kubelet_sim.node.faults.kinds import NOTHING_TO_UNDO, enter
from kubelet_sim.scenario.story.story import Story
from kubelet_sim.scenario.story.story_reader import read_stories

ROOT = Path(__file__).resolve().parents[4]
STORIES = ROOT / "tests" / "scenarios" / "faults"


def stories() -> list[Story]:
    """All about faults."""
    return [story for path in sorted(STORIES.glob("*.yaml")) for story in read_stories(path.read_text(), path.name)]


async def _nothing(_: ActiveFault) -> str:
    return "nothing"


def test_every_fault_is_shown_by_a_story() -> None:
    """Which shows what it does to a plugin, a scripted one or an example plugin that is a command."""
    assert {
        step.arguments["fault"] for story in stories() for step in story.steps if step.do == "fault"
    } == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_a_fault_says_what_it_does(kind: FaultKind) -> None:
    """In sentences, with rules, and how it is undone; what happens once has no count."""
    assert kind.does.endswith(".")
    assert kind.rules
    assert kind.undo == NOTHING_TO_UNDO or kind.undo.startswith("and ")
    assert kind.is_one_shot == (kind.undo == NOTHING_TO_UNDO)
    assert all(argument.help.endswith(".") for argument in kind.arguments)


@pytest.mark.parametrize(
    "wrong",
    [
        FaultKind("cut-stream", "stream", "Twice.", _nothing),
        FaultKind("undo", "stream", "A command of its own.", _nothing),
        FaultKind("new", "nowhere", "Of no family.", _nothing),
        FaultKind("new", "stream", "With a rule that there is not.", _nothing, rules=("NO-SUCH-RULE",)),
    ],
    ids=lambda kind: kind.does,
)
def test_a_kind_that_cannot_be_is_refused(wrong: FaultKind) -> None:
    """A module that enters it fails at import; the list is as before."""
    before = dict(KINDS)
    with pytest.raises(ValueError, match=f"the fault {wrong.name}"):
        enter(wrong)
    assert before == KINDS


def test_every_family_has_faults() -> None:
    """The page has no empty section."""
    assert {kind.family for kind in KINDS.values()} == set(FAMILIES)


def test_a_name_that_there_is_not_is_answered_with_similar_ones() -> None:
    """A typing error is the usual cause."""
    with pytest.raises(UsageError, match="did you mean cut-stream"):
        find("cut-steam")
