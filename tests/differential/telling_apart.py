"""Plays a story on both sides and tells the first difference. The real side plays first; ours follows its choices."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

from kubelet_sim.errors import KubeletSimError
from kubelet_sim.profiles import V1_36, Profile
from kubelet_sim.scenario.play.player import NotPlayable, PlayedStep, play_step, stage_of
from kubelet_sim.scenario.story.expectations import matches
from kubelet_sim.scenario.story.order import Call, Choices
from kubelet_sim.scenario.story.story import Step, Story
from tests.differential.explained import explanation
from tests.differential.harness import Crashed, Harness
from tests.differential.real import RealStage, real_stage

_STEP_PATIENCE_S = 15.0
_MASKS = (
    (re.compile(r"endpoint (?s:.*) has been stopped"), "endpoint ... has been stopped"),
    (re.compile(r"(failed to dial device plugin:) (?s:.*)"), r"\1 ..."),
    (
        re.compile(
            r"(code = Unavailable desc = )(?:connection|error reading|transport|the conn)(?s:.*?)(, which is unexpected)?$"
        ),
        r"\1...\2",
    ),
    (re.compile(r"(code = Canceled desc = )(?s:.*?)(, which is unexpected)?$"), r"\1...\2"),
    (re.compile(r"(no containers return in allocation response )(?s:.*?)(, which is unexpected)?$"), r"\1...\2"),
)
"""What depends on a library or is a machine dump, as in the recorded stories."""


def masked(answer: Any, key: str = "") -> Any:
    """The answer as a story can expect it."""
    if isinstance(answer, Mapping):
        return {name: masked(item, name) for name, item in answer.items()}
    if isinstance(answer, str) and key in {"message", "error"}:
        for pattern, shown in _MASKS:
            answer = pattern.sub(shown, answer)
    return answer


@frozen
class RealStep:
    """What the real side answered in a step."""

    answer: Any
    choices: Choices
    heard: Any
    """The calls that the plugins remember."""


@frozen
class Telling:
    """What came of a story on both sides."""

    story: Story
    real: tuple[RealStep, ...]
    ours: tuple[PlayedStep, ...] = field(default=(), repr=False)
    unplayable: str = ""
    """Why it could not be played to its end at all."""
    crash: str = ""
    """Why the real side's process ended, in the step after the last answer."""
    explained: str = ""
    """The rule by which the sides may part."""
    different: str = ""
    """What is different, in the last step that ours played."""

    @property
    def is_divergence(self) -> bool:
        """Whether the sides part, and nothing explains it."""
        return bool(self.different)


async def tell_apart(story: Story, harness: Harness, profile: Profile = V1_36) -> Telling:
    """Play a story on both sides, up to the first difference; our node has the profile."""
    real: list[RealStep] = []
    crash, last = "", Choices()
    harness.calls()
    try:
        async with real_stage(story, harness) as stage:
            for step in story.steps:
                real.append(await _real_step(stage, harness, step, story))  # noqa: PERF401 - what came before a crash counts
    except Crashed as error:
        crash = str(error)
        last = _choices(harness.calls(), None, story)
    except KubeletSimError as error:
        return Telling(story, tuple(real), unplayable=f"step {len(real) + 1}: {error}")
    except TimeoutError:
        await harness.end()
        return Telling(story, tuple(real), unplayable=f"step {len(real) + 1} takes too long")
    return await _ours(story, tuple(real), crash, last, profile)


async def _real_step(stage: RealStage, harness: Harness, step: Step, story: Story) -> RealStep:
    async with asyncio.timeout(_STEP_PATIENCE_S):
        answer = await stage.do(step)
    return RealStep(masked(answer), _choices(harness.calls(), answer, story), _heard(stage))


async def _ours(story: Story, real: tuple[RealStep, ...], crash: str, last: Choices, profile: Profile) -> Telling:
    ours: list[PlayedStep] = []
    try:
        async with asyncio.timeout(_STEP_PATIENCE_S * 4), stage_of(story, profile=profile) as (stage, order):
            for step, there in zip(story.steps, real, strict=False):
                order.follow(there.choices)
                here = await play_step(stage, step)
                ours.append(here)
                if different := _difference(there, here, _heard(stage)):
                    told = explanation(story, step, here, different)
                    return Telling(
                        story, real, tuple(ours), crash=crash, explained=told, different="" if told else different
                    )
            if crash:
                step = story.steps[len(real)]
                order.follow(last)
                ours.append(await play_step(stage, step))
                told = explanation(story, step, ours[-1], f"crash: {crash}")
                return Telling(
                    story,
                    real,
                    tuple(ours),
                    crash=crash,
                    explained=told,
                    different="" if told else f"the real one ends: {crash}\nours answers: {ours[-1].came}",
                )
    except NotPlayable as error:
        return Telling(story, real, tuple(ours), unplayable=str(error))
    except TimeoutError:
        return Telling(story, real, tuple(ours), different="ours takes too long")
    return Telling(story, real, tuple(ours))


def _difference(there: RealStep, here: PlayedStep, heard: Any) -> str:
    if here.failure:
        return f"real: {there.answer}\nours: cannot do it: {here.failure}"
    if not matches(there.answer, here.came):
        return f"real: {there.answer}\nours: {here.came}"
    if there.heard != heard:
        return f"calls, real: {there.heard}\ncalls, ours: {heard}"
    return ""


def _heard(stage: Any) -> Any:
    return {
        name: ([dict(call) for call in plugin._calls], dict(plugin._seen))
        for name, plugin in stage.plugins.by_name.items()
    }


def _choices(calls: list[dict[str, Any]], answer: Any, story: Story) -> Choices:
    made = tuple(Call(call["rpc"], call["resource"], tuple(call["ids"] or ())) for call in calls)
    return Choices(made, tuple(_leading(answer, story)))


def _leading(answer: Any, story: Story) -> Iterable[str]:
    """The resources that an answer shows to have come first: named in a failure, or winners of a conflict.

    Generated plugins write their resource and a `#` into the values that may collide.
    """
    if not isinstance(answer, Mapping):
        return ()
    resources: list[str] = sorted({script.resource for script in story.scripts.values()}, key=len, reverse=True)
    text = f"{answer.get('reason', '')} {answer.get('message', '')} {answer.get('error', '')}"
    leading = [resource for resource in resources if resource in text]
    for part in ("envs", "mounts", "devices", "annotations"):
        entries = (answer.get("options") or {}).get(part, ())
        leading += [entry[1].partition("#")[0].lstrip("/") for entry in entries if "#" in entry[1]]
    return dict.fromkeys(leading)
