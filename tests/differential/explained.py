"""Where the two sides may part: a small table, each row with its rule."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from kubelet_sim.scenario.model import Step, Story
from kubelet_sim.scenario.player import PlayedStep


@frozen
class Explanation:
    """A rule, and whether it is what parts the sides in a step."""

    rule: str
    why: str
    holds: Callable[[Story, Step, PlayedStep, str], bool]


def _says(here: PlayedStep, rule: str) -> bool:
    return any(rule in record.rules for record in here.journal)


EXPLANATIONS = (
    Explanation(
        "DM-59",
        "a kubelet of this release crashes at a device that is not listed any more; ours goes on, and says so",
        lambda _story, _step, here, different: different.startswith("crash: ") and _says(here, "DM-59"),
    ),
)


def explanation(story: Story, step: Step, here: PlayedStep, different: str) -> str:
    """The rule that explains a difference, empty if none does."""
    return next((each.rule for each in EXPLANATIONS if each.holds(story, step, here, different)), "")
