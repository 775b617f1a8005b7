"""Steps in which plugins register, in good order and in odd ones, by a call or by way of the plugin watcher."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from kubelet_sim.errors import RpcFailed, UsageError
from kubelet_sim.model.plugin import SOCKET_NAME, Registration
from kubelet_sim.node.services.registry_plan import PERIOD_S as RECONCILER_S
from kubelet_sim.scenario.play.stage import StoryStage
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.scenario.steps.phrases import short
from kubelet_sim.scenario.steps.plugins import PLUGIN, check_ready
from kubelet_sim.scenario.steps.step_kind import Arguments, Backstage, step
from kubelet_sim.scenario.story import values
from kubelet_sim.wire import registration_client
from kubelet_sim.wire.status import enum_name

SECOND_REGISTERS_AFTER_S = 0.3
LISTENS_AFTER_S = 0.6
_ANSWER = "`code`, `message`"


async def _answer(stage: Backstage, registration: Registration, timeout: float | None = None) -> dict[str, str]:  # noqa: ASYNC109 - the caller gives up
    try:
        await registration_client.register(stage.directory / SOCKET_NAME, registration, timeout)
    except RpcFailed as failure:
        return {"code": enum_name(failure.code), "message": failure.description}
    return {"code": "OK", "message": ""}


@step("Plugin {plugin} registers", PLUGIN, takes={"nowait": values.truth}, comes=_ANSWER, check=check_ready)
async def register(stage: Backstage, plugin: ScriptedPlugin, *, nowait: bool = False) -> Any:
    """A plugin listens and calls Register; its list has arrived when the step is over, unless `nowait`.

    One that is a command is started unless it runs, and has registered when the step is over.
    """
    await plugin.serve()
    if nowait:
        return await _answer(stage, plugin.script.registration)
    async with stage.plugins.registering():
        return await _answer(stage, plugin.script.registration)


@register.of_command
async def _register_command(stage: StoryStage, plugin: str, *, nowait: bool = False) -> Any:
    await stage.commands.start(plugin)
    if not nowait:
        await stage.commands.ready(plugin)
    return {"code": "OK", "message": ""}


def _other_fields(given: Arguments) -> str:
    text = f" as {short(dict(given['over']))}" if given.get("over") else ""
    return text + (f" and gives up after {given['timeout']:g} s" if "timeout" in given else "")


@step(
    lambda given: f"Plugin {given['plugin']} registers{_other_fields(given)}",
    PLUGIN,
    takes={"over": values.mapping, "timeout": values.seconds},
    comes="`code`, `message`; with `timeout` `ok`",
)
async def register_as(
    stage: Backstage, plugin: ScriptedPlugin, over: Mapping[str, Any] | None = None, **within: float
) -> Any:
    """A plugin registers with other fields, or gives up after `timeout`."""
    await plugin.serve()
    async with stage.plugins.registering():
        answer = await _answer(stage, plugin.script.merged(over or {}).registration, **within)
    return {"ok": answer["code"] == "OK"} if within else answer


@values.kind(values.list_of(values.text, minItems=2, maxItems=2).schema)
def _two_names(value: object) -> tuple[str, str]:
    match value:
        case [str(first), str(second)]:
            return first, second
    raise UsageError(f"expected the names of two plugins, not {value!r}")


@step(
    lambda given: f"Plugins {' and '.join(given['plugins'])} register, one while the other still does",
    {"plugins": _two_names},
    comes="by plugin",
)
async def register_two(stage: Backstage, plugins: tuple[str, str]) -> Any:
    """Two plugins register, the second while the first still does."""
    first, second = (stage.plugins.by_name[name] for name in plugins)

    async def later() -> Any:
        await asyncio.sleep(SECOND_REGISTERS_AFTER_S)  # the story says so
        return await _answer(stage, second.script.registration)

    async with stage.plugins.registering():
        await asyncio.gather(first.serve(), second.serve())
        answers = await asyncio.gather(_answer(stage, first.script.registration), later())
    return dict(zip(plugins, answers, strict=True))


@step("Plugin {plugin} registers before it listens", PLUGIN, comes=_ANSWER)
async def register_early(stage: Backstage, plugin: ScriptedPlugin) -> Any:
    """A plugin registers 0.6 s before it listens."""

    async def later() -> None:
        await asyncio.sleep(LISTENS_AFTER_S)  # the story says so
        await plugin.serve()

    async with stage.plugins.registering():
        answer, _ = await asyncio.gather(_answer(stage, plugin.script.registration), later())
    return answer


@step("Plugin {plugin} registers, and listens when it has its answer", PLUGIN, comes=_ANSWER)
async def register_first(stage: Backstage, plugin: ScriptedPlugin) -> Any:
    """A plugin registers, and listens when it has its answer."""
    async with stage.plugins.registering():
        answer = await _answer(stage, plugin.script.registration)
        await plugin.serve()
    return answer


# --- by way of the plugin watcher


async def _notices(stage: StoryStage, plugin: ScriptedPlugin) -> Any:
    """What it is told until the reconciler's next second is over."""
    await stage.node.advance(RECONCILER_S)
    await stage.plugins.caught_up()
    return {"notified": plugin.notices()}


@step(
    "Plugin {plugin} listens on a new socket in plugins_registry, and a second passes",
    PLUGIN,
    comes="`notified`: what the plugin was told, `registered` and `error` of each time",
    needs_plugin_watcher=True,
)
async def watch_serve(stage: StoryStage, plugin: ScriptedPlugin) -> Any:
    """A plugin listens on a new socket in `plugins_registry`; then a second passes, in which the plugin watcher looks."""
    await plugin.let_itself_be_found()
    return await _notices(stage, plugin)


@step("The socket of plugin {plugin} in plugins_registry is removed, and a second passes", PLUGIN, comes="`notified`")
async def watch_remove(stage: StoryStage, plugin: ScriptedPlugin) -> Any:
    """The socket's file in `plugins_registry` is removed; then a second passes."""
    plugin.hide()
    return await _notices(stage, plugin)


@step("What plugin {plugin} was told by the plugin watcher since the last look", PLUGIN, comes="`notified`")
async def notified(stage: StoryStage, plugin: ScriptedPlugin) -> Any:
    """What a plugin was told by the plugin watcher since the last look."""
    return {"notified": plugin.notices()}
