"""Steps with the plugins of a story: they serve, send lists, change and end; a command's process is looked at, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from kubelet_sim.errors import RpcFailed, UsageError
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.scenario.play.observed_calls import double_holders
from kubelet_sim.scenario.play.stage import StoryStage
from kubelet_sim.scenario.plugins.command import CommandScript, signal_number
from kubelet_sim.scenario.plugins.script import Devices, read_devices, read_status
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.scenario.steps import phrases
from kubelet_sim.scenario.steps.phrases import devices_text, short
from kubelet_sim.scenario.steps.step_kind import Backstage, ReadSoFar, command_step, step
from kubelet_sim.scenario.story import values

PLUGIN = {"plugin": values.text}


def check_ready(so_far: ReadSoFar, arguments: dict[str, Any]) -> None:
    """Raises `UsageError` for a step that waits for a command which does not say when it is ready."""
    name = arguments["plugin"]
    script = so_far.plugins[name]
    if isinstance(script, CommandScript) and not script.ready.registered and not arguments.get("nowait", False):
        raise UsageError(f"{name} does not say when it is ready; give it ready: {{registered: RESOURCE}}")


@step("Plugin {plugin} listens on its socket", PLUGIN, check=check_ready)
async def serve(stage: Backstage, plugin: ScriptedPlugin) -> None:
    """A plugin listens on its socket; one that is a command is started, and is ready."""
    await plugin.serve()


@serve.of_command
async def _serve_command(stage: StoryStage, plugin: str) -> None:
    await stage.commands.start(plugin)
    await stage.commands.ready(plugin)


@step("Plugin {plugin} listens on a new socket file", PLUGIN)
async def reserve(stage: Backstage, plugin: ScriptedPlugin) -> None:
    """A plugin stops and listens again, on a new socket file, without registering."""
    await plugin.stop()
    await stage.plugins.caught_up()
    await plugin.serve(anew=False)


@step(
    lambda given: f"Plugin {given['plugin']} now has {devices_text(given['devices'])}",
    PLUGIN | {"devices": read_devices},
)
async def update(stage: Backstage, plugin: ScriptedPlugin, devices: Devices) -> None:
    """A plugin sends another list."""
    plugin.send(devices)
    await stage.plugins.caught_up()


@step(
    "Plugin {plugin} now has {count} devices with long ids",
    PLUGIN | {"count": values.integer, "length": values.integer},
)
async def update_many(stage: Backstage, plugin: ScriptedPlugin, count: int, length: int) -> None:
    """A plugin sends `count` healthy devices whose ids have `length` digits."""
    plugin.send(tuple(Device(DeviceID(f"{number:0{length}}")) for number in range(count)))
    await stage.plugins.caught_up()


@step(
    lambda given: f"Plugin {given['plugin']} changes: {short(dict(given['spec']))}", PLUGIN | {"spec": values.mapping}
)
async def set_(stage: Backstage, plugin: ScriptedPlugin, spec: Mapping[str, Any]) -> None:
    """Keys of a plugin's script are replaced."""
    plugin.change(spec)


@step("Plugin {plugin} stops", PLUGIN)
async def stop(stage: Backstage, plugin: ScriptedPlugin) -> None:
    """A plugin stops; a command gets SIGTERM, and SIGKILL if it does not end within 10 s."""
    await plugin.stop()
    await stage.plugins.caught_up()


@stop.of_command
async def _stop_command(stage: StoryStage, plugin: str) -> None:
    await stage.commands.stop(plugin)


@step("Plugin {plugin} ends its streams and goes on serving", PLUGIN)
async def drop(stage: Backstage, plugin: ScriptedPlugin) -> None:
    """A plugin ends its streams, and goes on serving."""
    plugin.end_streams()
    await stage.plugins.caught_up()


@step("Plugin {plugin} ends its streams with an error, {error}", PLUGIN | {"error": read_status})
async def fail_stream(stage: Backstage, plugin: ScriptedPlugin, error: RpcFailed) -> None:
    """A plugin ends its streams with a status."""
    plugin.end_streams(error)
    await stage.plugins.caught_up()


@step("Plugin {plugin} ends its oldest stream", PLUGIN)
async def end_first_stream(stage: Backstage, plugin: ScriptedPlugin) -> None:
    """A plugin ends its oldest stream."""
    if plugin.streams:
        plugin.streams[0].end()
    await stage.plugins.caught_up()


@step(
    "Calls that plugin {plugin} got since the last look",
    PLUGIN,
    takes={"counts": values.truth},
    comes="`calls`; with `counts` how many",
)
async def calls(stage: Backstage, plugin: ScriptedPlugin, *, counts: bool = False) -> Any:
    """What a plugin was asked since the last look."""
    came = plugin.calls()
    return dict(Counter(call["rpc"] for call in came)) if counts else {"calls": came}


@step("Options and list calls that plugin {plugin} got since the last look", PLUGIN, comes="by call")
async def seen(stage: Backstage, plugin: ScriptedPlugin) -> Any:
    """How often a plugin was asked for options and lists since the last look."""
    return dict(plugin.seen())


@step("Streams that plugin {plugin} sees open", PLUGIN, comes="`open`", is_look=True)
async def streams(stage: Backstage, plugin: ScriptedPlugin) -> Any:
    """How many streams a plugin sees open."""
    await stage.plugins.caught_up()
    return {"open": len(plugin.streams)}


@command_step("Plugin {plugin} gets signal {signal}", PLUGIN | {"signal": signal_number})
async def signal(stage: StoryStage, plugin: str, signal: int) -> None:
    """A command's process group gets a signal, such as SIGSTOP."""
    stage.commands[plugin].process.signal(signal)


@command_step("The process of plugin {plugin}", PLUGIN, comes="`running`, `exit_code`", is_look=True)
async def process(stage: StoryStage, plugin: str) -> Any:
    """Whether the process of a command runs, and how it has ended."""
    looked_at = stage.commands[plugin].process
    return {"running": looked_at.pid is not None, "exit_code": looked_at.exit_code}


@command_step(
    lambda given: f"What plugin {given['plugin']} has written{phrases.about(given)}",
    PLUGIN,
    takes={"about": values.text},
    comes="`lines`",
    is_look=True,
    is_said=True,
)
async def output(stage: StoryStage, plugin: str, about: str = "") -> Any:
    """What a command has written so far, those lines that hold the text `about`."""
    return {"lines": [line.text for line in stage.commands[plugin].process.lines if about in line.text]}


@command_step("What was wrong with plugin {plugin} so far", PLUGIN, comes="`problems`", is_look=True)
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
