"""Plays stories, each on a fresh node of its own, and tells for each step what came.

Deadlines of ours are virtual; what a plugin does takes real time.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from attrs import frozen

from kubelet_sim.errors import KubeletSimError, UsageError
from kubelet_sim.node.booting import plugin_calls
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.recording.writer import recorded
from kubelet_sim.profiles import Profile
from kubelet_sim.scenario.compare import matches
from kubelet_sim.scenario.model import NO_EXPECTATION, Step, Story
from kubelet_sim.scenario.order import Following
from kubelet_sim.scenario.stage import Stage
from kubelet_sim.scenario.watching import Bell, WatchedCalls
from kubelet_sim.transcript import Record
from kubelet_sim.wire.unix_socket import short_folder


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

    @property
    def is_right(self) -> bool:
        """Whether what came is what was expected; a step that expects nothing is right if it could be done."""
        if self.failure:
            return False
        return self.step.expect is NO_EXPECTATION or matches(self.step.expect, self.came)


@frozen
class Played:
    """A story that was played, to its end or to its first wrong step."""

    story: Story
    steps: tuple[PlayedStep, ...]

    @property
    def wrong(self) -> PlayedStep | None:
        """The first step that was not right."""
        return next((step for step in self.steps if not step.is_right), None)


async def play(story: Story, *, to_the_end: bool = False, transcript: Path | None = None) -> Played:
    """Play a story on a node of its own, in a folder that is removed afterwards.

    Args:
        story: what to play.
        to_the_end: whether to go on after a step that was not right.
        transcript: a file for everything that happens on the node; it can be replayed.

    Raises:
        NotPlayable: its node does not start.
    """
    played: list[PlayedStep] = []
    async with stage_of(story, transcript) as (stage, order):
        for step in story.steps:
            order.follow(step.choices)
            played.append(await play_step(stage, step))
            if not to_the_end and not played[-1].is_right:
                break
    return Played(story, tuple(played))


async def play_step(stage: Stage, step: Step) -> PlayedStep:
    """Do one step, and tell what came or why nothing did."""
    failure, came = "", None
    try:
        came = await stage.do(step)
    except KubeletSimError as error:
        failure = str(error)
    return PlayedStep(step, came, stage.journal(), failure)


@contextlib.asynccontextmanager
async def stage_of(
    story: Story, transcript: Path | None = None, profile: Profile | None = None
) -> AsyncGenerator[tuple[Stage, Following], None]:
    """A node that runs, plugins that do not, and the order that the node asks; in the end all of it is gone.

    A profile takes the place of the one that the story names.

    Raises:
        NotPlayable: the story's node does not start.
    """
    root = Path(tempfile.mkdtemp(prefix="ks-", dir=short_folder()))
    clock, bell, order = ManualClock(), Bell(), Following()
    config = NodeConfig(
        root=root,
        numa=story.node.machine,
        topology=story.node.topology,
        profile=profile or story.node.profile,
        runs_containers=False,
        has_status_rounds=False,
        has_plugin_watcher=story.has_plugin_watcher,
    )
    calls = WatchedCalls(plugin_calls(config.profile), clock, bell, order.called)
    node = Node(config, clock=clock, calls=calls, order=order)
    async with contextlib.AsyncExitStack() as at_the_end:
        at_the_end.callback(shutil.rmtree, root, ignore_errors=True)
        at_the_end.enter_context(recorded(node, transcript))
        try:
            await at_the_end.enter_async_context(node)
        except UsageError as error:
            raise NotPlayable(f"{story.name}: its node does not start: {error}") from error
        stage = Stage(story, node, bell)
        at_the_end.push_async_callback(stage.close)
        yield stage, order
