"""Plays stories, each on a fresh node of its own, and tells for each step what came.

Deadlines of ours are virtual; what a plugin does takes real time.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from kubelet_sim.errors import KubeletSimError, UsageError
from kubelet_sim.node.bell import Bell
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.kubelet_assembly import plugin_calls
from kubelet_sim.node.node import Node
from kubelet_sim.node.recording.writer import recorded
from kubelet_sim.profiles import Profile
from kubelet_sim.scenario.play.observed_calls import ObservedCalls
from kubelet_sim.scenario.play.stage import StoryStage
from kubelet_sim.scenario.play.watched_calls import WatchedCalls
from kubelet_sim.scenario.story.expectations import matches, patience
from kubelet_sim.scenario.story.order import FollowedOrder
from kubelet_sim.scenario.story.story import NO_EXPECTATION, Step, Story
from kubelet_sim.tasks import to_its_end
from kubelet_sim.transcript import Record
from kubelet_sim.wire.unix_socket import short_folder

QUIET_S = 1.0
"""How long nothing may happen, in real time, before a node counts as settled."""
LONGEST_S = 60.0
"""How long is waited for that; a plugin that is never quiet has no end of it."""


class NotPlayable(KubeletSimError):
    """A story is about a node that cannot be: a kubelet with these settings would not start."""


@frozen
class PlayedStep:
    """A step, and what came of it."""

    step: Step
    came: Any
    journal: tuple[Record, ...]
    """What happened on the node since the step before."""
    failure: str = ""
    """Why nothing came, if nothing did."""
    output: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False)
    """The last lines of the plugins that are commands, if this step was not right."""

    @property
    def is_right(self) -> bool:
        """Whether what came is what was expected; a step that expects nothing is right if it could be done."""
        if self.failure:
            return False
        return self.step.expect is NO_EXPECTATION or matches(patience(self.step.expect)[1], self.came)


@frozen
class Played:
    """A story that was played, to its end or to its first wrong step."""

    story: Story
    steps: tuple[PlayedStep, ...]

    @property
    def wrong(self) -> PlayedStep | None:
        """The first step that was not right."""
        return next(iter(self.all_wrong), None)

    @property
    def all_wrong(self) -> tuple[PlayedStep, ...]:
        """All steps that were not right; one, unless the story was played to its end."""
        return tuple(step for step in self.steps if not step.is_right)


async def play(
    story: Story, *, to_the_end: bool = False, transcript: Path | None = None, settles: bool = False
) -> Played:
    """Play a story on a node of its own, in a folder that is removed afterwards.

    Args:
        story: what to play.
        to_the_end: whether to go on after a step that was not right.
        transcript: a file for everything that happens on the node; it can be replayed.
        settles: whether to wait, before a step that tells something, until the node is quiet.

    Raises:
        NotPlayable: its node does not start.
    """
    played: list[PlayedStep] = []
    saved = dict(story.vars)
    async with stage_of(story, transcript) as (stage, order):
        for step in story.steps:
            order.follow(step.choices)
            if settles:
                await _settle_before(stage, step)
            played.append(done := await play_step(stage, step, saved))
            if not to_the_end and not done.is_right:
                break
            if step.save is not None and not done.failure:
                saved[step.save] = done.came
    return Played(story, tuple(played))


async def _settle_before(stage: StoryStage, step: Step) -> None:
    """Before a step that tells something, return when the node is quiet and each running plugin is ready.

    A plugin that does not become ready in the time that the story gives it is as settled as it will be.
    """
    if not step.kind.tells:
        return
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    while (left_s := begun_s + LONGEST_S - loop.time()) > 0:
        with stage.bell.listening() as rung:
            has_changed = await rung(min(QUIET_S, left_s))
        if not has_changed and stage.commands.are_ready(loop.time() - begun_s):
            return


async def play_step(stage: StoryStage, step: Step, saved: Mapping[str, Any] | None = None) -> PlayedStep:
    """Do one step, and tell what came or why nothing did.

    Args:
        stage: where.
        step: what; one that looks for something that may take its time is done again until it has come.
        saved: the values of variables.
    """
    failure, came = "", None
    try:
        if step.late is not None:
            step = evolve(step.late(saved or {}), number=step.number)
        came = await _look(stage, step)
    except KubeletSimError as error:
        failure = str(error)
    done = PlayedStep(step, came, stage.journal(), failure)
    return done if done.is_right else evolve(done, output=stage.commands.output())


async def _look(stage: StoryStage, step: Step) -> Any:
    """What comes of a step; one that may take its time is done until that is what is expected, and once more at the end.

    In real time it is done again each time that something has happened, on the node's clock each second.
    """
    waits, expected = (None, None) if step.expect is NO_EXPECTATION else patience(step.expect)
    if waits is None:
        return await stage.do(step)
    now = asyncio.get_running_loop().time
    begun_s, left_s = now(), waits.within_s
    while True:
        with stage.bell.listening() as rung:
            failure, came = None, None
            try:
                came = await stage.do(step)
            except KubeletSimError as error:  # what is not there yet may still come
                failure = error
            if waits.clock == "real":
                left_s = begun_s + waits.within_s - now()
            if left_s <= 0 or (failure is None and matches(expected, came)):
                break
            if waits.clock == "real":
                await rung(left_s)
            else:
                await stage.node.advance(min(left_s, 1.0))
                left_s -= 1.0
    if failure is not None:
        raise failure
    return came


@contextlib.asynccontextmanager
async def stage_of(
    story: Story, transcript: Path | None = None, profile: Profile | None = None
) -> AsyncGenerator[tuple[StoryStage, FollowedOrder], None]:
    """A node that runs, plugins that do not, and the order that the node asks; in the end all of it is gone.

    A profile takes the place of the one that the story names.

    Raises:
        NotPlayable: the story's node does not start.
    """
    root = Path(tempfile.mkdtemp(prefix="ks-", dir=short_folder()))
    clock, bell, order, observed = ManualClock(), Bell(), FollowedOrder(), ObservedCalls()
    config = NodeConfig(
        root=root,
        numa=story.node.machine,
        topology=story.node.topology,
        profile=profile or story.node.profile,
        runs_containers=story.node.runs_containers,
        has_status_rounds=story.node.status_rounds,
        has_plugin_watcher=story.node.plugin_watcher,
        node_name=story.node.name,
    )
    calls = WatchedCalls(plugin_calls(config.profile), clock, bell, order.called, observed)
    node = Node(config, clock=clock, calls=calls, order=order)
    at_the_end = contextlib.AsyncExitStack()
    at_the_end.callback(shutil.rmtree, root, ignore_errors=True)
    try:
        at_the_end.enter_context(recorded(node, transcript))
        try:
            await at_the_end.enter_async_context(node)
        except UsageError as error:
            raise NotPlayable(f"{story.name}: its node does not start: {error}") from error
        stage = StoryStage(story, node, bell, observed)
        at_the_end.push_async_callback(stage.close)
        yield stage, order
    finally:
        await to_its_end(at_the_end.aclose())
