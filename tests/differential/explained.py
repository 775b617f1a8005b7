"""Where the two sides may part: a small table, each row with its rule."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from kubelet_sim.scenario.play.player import PlayedStep
from kubelet_sim.scenario.story.story import Step, Story


@frozen
class Explanation:
    """A rule, and whether it is what parts the sides in a step."""

    rule: str
    why: str
    holds: Callable[[Story, Step, PlayedStep, str], bool]


def _says(here: PlayedStep, rule: str) -> bool:
    return any(rule in record.rules for record in here.journal)


def _has_a_part_of_one_letter(here: PlayedStep) -> bool:
    """Whether a CDI name among the options has a vendor or class of one letter."""
    options = (here.came or {}).get("options") or {}
    kinds = (name.partition("=")[0].split("/") for name in options.get("cdi", ()))
    return any(len(part) == 1 for kind in kinds for part in kind)


EXPLANATIONS = (
    Explanation(
        "DM-59",
        "a kubelet of this release crashes at a device that is not listed any more; ours goes on, and says so",
        lambda _story, _step, here, different: different.startswith("crash: ") and _says(here, "DM-59"),
    ),
    Explanation(
        "DM-133",
        "the check of CDI names of 1.28 to 1.31 crashes at a vendor or class of one letter",
        lambda _story, _step, here, different: (
            different.startswith("crash: ") and "[1:0]" in different and _has_a_part_of_one_letter(here)
        ),
    ),
)


def explanation(story: Story, step: Step, here: PlayedStep, different: str) -> str:
    """The rule that explains a difference, empty if none does."""
    return next((each.rule for each in EXPLANATIONS if each.holds(story, step, here, different)), "")
