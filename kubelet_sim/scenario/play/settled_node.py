"""What a recorder waits for before it looks: on a node where things happen by themselves, a look at once catches what passes."""

from __future__ import annotations

import asyncio

from kubelet_sim.scenario.play.stage import StoryStage
from kubelet_sim.scenario.story.story import Step, Story

QUIET_S = 1.0
"""How long nothing may happen, in real time, before a node counts as settled."""
LONGEST_S = 60.0
"""How long is waited for that; a plugin that is never quiet has no end of it."""


def lives_by_itself(story: Story) -> bool:
    """Whether things happen in it that no step waits for: plugins that are commands, or pods that are run."""
    return bool(story.commands) or story.node.runs_containers


async def settle_before(stage: StoryStage, step: Step) -> None:
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
