"""Steps with a plugin that is a command: its process gets signals, and is looked at."""

from __future__ import annotations

from typing import Any

from kubelet_sim.scenario.play.observed_calls import double_holders
from kubelet_sim.scenario.play.stage import StoryStage
from kubelet_sim.scenario.plugins.command import signal_number
from kubelet_sim.scenario.steps import phrases
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.step_kind import command_step

_COMMAND = {"plugin": values.text}


@command_step("Plugin {plugin} gets signal {signal}", _COMMAND | {"signal": signal_number})
async def signal(stage: StoryStage, plugin: str, signal: int) -> None:
    """A command's process group gets a signal, such as SIGSTOP."""
    stage.commands[plugin].process.signal(signal)


@command_step("The process of plugin {plugin}", _COMMAND, comes="`running`, `exit_code`", is_look=True)
async def process(stage: StoryStage, plugin: str) -> Any:
    """Whether the process of a command runs, and how it has ended."""
    looked_at = stage.commands[plugin].process
    return {"running": looked_at.pid is not None, "exit_code": looked_at.exit_code}


@command_step(
    lambda given: f"What plugin {given['plugin']} has written{phrases.about(given)}",
    _COMMAND,
    takes={"about": values.text},
    comes="`lines`",
    is_look=True,
    is_said=True,
)
async def output(stage: StoryStage, plugin: str, about: str = "") -> Any:
    """What a command has written so far, those lines that hold the text `about`."""
    return {"lines": [line.text for line in stage.commands[plugin].process.lines if about in line.text]}


@command_step("What was wrong with plugin {plugin} so far", _COMMAND, comes="`problems`", is_look=True)
async def sound(stage: StoryStage, plugin: str) -> Any:
    """Looks for what no good plugin does, from the beginning of the story on.

    That are ids that change or come twice, words for health that there are not, answers without a response, paths that are not
    absolute, registrations without end, a process that died by itself; and a device with two holders.
    """
    command = stage.commands[plugin]
    problems = stage.observed.problems(stage.commands.sockets(plugin), command.starts) + command.problems()
    if stage.node.has_kubelet:
        state = stage.node.kubelet.state
        problems += double_holders(state, (pod.uid for pod in state.active_pods.values()))
    return {"problems": problems}
