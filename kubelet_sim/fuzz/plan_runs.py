"""Plays stories that are made up, and tells of the first step that goes wrong."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from kubelet_sim.errors import TransportError
from kubelet_sim.foreign import gist
from kubelet_sim.fuzz.actions import PLUGIN
from kubelet_sim.fuzz.config import FuzzConfig
from kubelet_sim.fuzz.plans import document
from kubelet_sim.node.interruptible import run_interruptible
from kubelet_sim.scenario.play.player import PlayedStep, play_step, stage_of
from kubelet_sim.scenario.play.stage import StoryStage
from kubelet_sim.scenario.story.story_reader import story_from_mapping

STORY_S = 60.0
"""How long one story may take beside the patience with its plugin; an Allocate that hangs would take for ever."""
_QUIET_S = 1.0
_GONE = re.compile(r"code = (Canceled|Unavailable) ")
_CHANGES = re.compile(r"0x[0-9a-f]+|[0-9]+|'[^']*'|\"[^\"]*\"")


@frozen
class PlanFailure:
    """The step of a plan that went wrong, and how."""

    index: int
    """Of the step, from 0."""
    do: str
    problem: str
    """In one line."""
    journal: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    """What the plugin said last."""

    @property
    def sort(self) -> str:
        """The same for failures that are the same but for numbers and names."""
        return f"{self.do}: {_CHANGES.sub('…', self.problem)}"


class OutOfTime(Exception):
    """A run was ended before it came to its end, as it may take no longer."""


def run(document: Mapping[str, Any], config: FuzzConfig, at_most_s: float = math.inf) -> PlanFailure | None:
    """Play a story in a loop of its own; call it in the main thread. `None`: everything was right.

    Raises `OutOfTime` if that takes longer than it may.
    """
    return run_interruptible(_run(document, config, at_most_s))


async def _run(document: Mapping[str, Any], config: FuzzConfig, at_most_s: float) -> PlanFailure | None:
    story = story_from_mapping(document)
    index = 0
    longest_s = STORY_S + config.patience_s
    async with stage_of(story) as (stage, order):
        try:
            async with asyncio.timeout(min(longest_s, at_most_s)):
                for index, step in enumerate(story.steps):
                    order.follow(None)
                    done = await play_step(stage, step)
                    if not done.is_right and not _is_bad_luck(done):
                        return _failure(index, done)
        except TimeoutError:
            if at_most_s < longest_s:
                raise OutOfTime from None
            do = story.steps[index].do
            said = tuple(line for lines in stage.commands.output().values() for line in lines)
            return PlanFailure(index, do, "it did not come to an end", output=said)
    return None


def _is_bad_luck(done: PlayedStep) -> bool:
    """Whether it met a connection that was about to be replaced: a kubelet loses a pod so, and no plugin is to blame.

    A plugin that has died is told by the steps that follow.
    """
    match done.step.do, done.came:
        case "admit", {"message": str(message)}:
            return _GONE.search(message) is not None
        case "fault", _:
            return "No such file" in done.failure
    return False


def _failure(index: int, done: PlayedStep) -> PlanFailure:
    said = tuple(line for lines in done.output.values() for line in lines)
    journal = tuple(f"{record.at_s:.1f} s {record.subject}: {record.text}" for record in done.journal[-10:])
    return PlanFailure(index, done.step.do, _problem(done), journal, said)


def _problem(done: PlayedStep) -> str:
    if done.failure:
        return done.failure
    match done.step.do, done.came:
        case "sound", {"problems": [str(first), *_]}:
            return first
        case "admit", {"message": str(message)}:
            return f"a pod was rejected: {message}"
        case "resources", {"endpoint": str(endpoint), "healthy": int(healthy)}:
            wanted = done.step.expect["contains"]["healthy"]
            name = done.step.arguments["resource"]
            return f"{name} did not come back: its endpoint is {endpoint}, {healthy} of {wanted} devices are healthy"
    return f"it was not as expected: {done.came!r}"


def first_look(config: FuzzConfig) -> Mapping[str, int]:
    """The resources with which the plugin registers, and how many healthy devices each has.

    Raises `TransportError` if it registers nothing, or not all that it should, or ends.
    """
    return run_interruptible(_first_look(config))


async def _first_look(config: FuzzConfig) -> Mapping[str, int]:
    steps = [{"do": do, "plugin": PLUGIN} for do in ("start", "process", "kill")]
    story = story_from_mapping(document(config, config.resources, steps))
    async with stage_of(story) as (stage, _):
        start, look, kill = story.steps
        await stage.do(start)
        loop = asyncio.get_running_loop()
        deadline, since = loop.time() + config.patience_s, loop.time()
        found: dict[str, int] = {}
        while loop.time() < deadline:
            with stage.bell.listening() as rung:
                views = {view.name: view.healthy for view in stage.node.status().resources if view.endpoint == "live"}
                if views != found:
                    found, since = views, loop.time()
                has_all = bool(found) and set(config.resources) <= found.keys()
                if has_all and any(found.values()) and loop.time() - since >= _QUIET_S:
                    break
                process = await stage.do(look)
                if not process["running"]:
                    await stage.do(kill)  # what it has left behind; its last words have come then
                    raise TransportError(f"the plugin ended, exit code {process['exit_code']}{_said(stage)}")
                await rung(min(_QUIET_S, deadline - loop.time()))
        usable = {name: count for name, count in found.items() if count}
        missing = sorted(set(config.resources) - usable.keys())
        if missing or not usable:
            what = f"registered no {' and no '.join(missing)}" if missing else "listed no healthy device"
            raise TransportError(f"the plugin {what} within {config.patience_s:g} s{_said(stage)}")
    return usable


def _said(stage: StoryStage) -> str:
    """What of the plugin's output tells most, behind an error of one line."""
    told = gist(line for lines in stage.commands.output().values() for line in lines)
    return f"; it said: {told}" if told else "; it said nothing"
