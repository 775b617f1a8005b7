"""What the steps of a story do beside the kubelet: to its plugins, and to the directory in which they meet.

It is the same whatever kubelet is played against; the node's own steps are added by who knows that kubelet. Waiting is for
events, never for time: a step that has the plugin do something returns when the node has dealt with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import CHECKPOINT_NAME, SOCKET_NAME, Registration
from kubelet_sim.scenario.play import directory, looks
from kubelet_sim.scenario.plugins.script import Devices, Script
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.scenario.story.story import Step, Story
from kubelet_sim.wire.registration_client import register
from kubelet_sim.wire.status import enum_name

SECOND_REGISTERS_AFTER_S = 0.3
LISTENS_AFTER_S = 0.6


class Dealing(Protocol):
    """How a stage learns that a kubelet has dealt with what plugins did."""

    def links(self) -> Mapping[Any, object]:
        """All connections of this kubelet process."""

    async def with_one(self, plugin: ScriptedPlugin) -> None:
        """Return when it has dealt with all that this plugin sent."""

    async def with_all(self, plugins: Iterable[ScriptedPlugin]) -> None:
        """Return when it has dealt with all that these sent, and has nothing else to do at once."""

    async def with_registrations(self, known: Container[Any]) -> None:
        """Return when every registration but those known is over."""


class Backstage:
    """The plugins of one story and the directory, and the steps that are done to them.

    Args:
        story: what is played.
        folder: the device-plugin directory.
        catching_up: waits for the kubelet.
        changed: called whenever a stream opens, closes, or has sent a list.
    """

    def __init__(self, story: Story, folder: Path, catching_up: Dealing, changed: Callable[[], None]) -> None:
        self._folder = folder
        self._catching_up = catching_up
        self._changed = changed
        self._plugins = {name: self._plugin(script) for name, script in story.scripts.items()}
        self._verbs: Mapping[str, Callable[..., Awaitable[Any]]] = {
            name.removeprefix("_do_").replace("_", "-"): getattr(self, name)
            for name in dir(self)
            if name.startswith("_do_")
        }

    def _plugin(self, script: Script) -> ScriptedPlugin:
        return ScriptedPlugin(script, self._folder, arrived=self._catching_up.with_one, changed=self._changed)

    @property
    def plugins(self) -> Mapping[str, ScriptedPlugin]:
        """By their names in the story."""
        return self._plugins

    async def close(self) -> None:
        """Stop all plugins."""
        await asyncio.gather(*(plugin.stop() for plugin in self._plugins.values()))

    async def do(self, step: Step) -> Any:
        """Do one step and return what came. Raises `KubeletSimError` for what cannot be done."""
        arguments = dict(step.arguments)
        if "plugin" in arguments:
            arguments["plugin"] = self._plugins[arguments["plugin"]]
        came = await self._verbs[step.do](**arguments)
        return {} if came is None else came

    async def _caught_up(self) -> None:
        await self._catching_up.with_all(self._plugins.values())

    # --- plugins

    async def _do_serve(self, plugin: ScriptedPlugin) -> None:
        await plugin.serve()

    async def _do_register(self, plugin: ScriptedPlugin, *, nowait: bool = False) -> Any:
        await plugin.serve()
        known = set(self._catching_up.links())
        answer = await self._register(plugin.script.registration)
        if not nowait:
            await self._registered(known)
        return answer

    async def _do_register_first(self, plugin: ScriptedPlugin) -> Any:
        known = set(self._catching_up.links())
        answer = await self._register(plugin.script.registration)
        await plugin.serve()
        await self._registered(known)
        return answer

    async def _do_register_as(
        self, plugin: ScriptedPlugin, over: Mapping[str, Any] | None = None, **within: float
    ) -> Any:
        await plugin.serve()
        known = set(self._catching_up.links())
        answer = await self._register(plugin.script.merged(over or {}).registration, **within)
        await self._registered(known)
        return {"ok": answer["code"] == "OK"} if within else answer

    async def _do_register_two(self, plugins: tuple[str, str]) -> Any:
        first, second = (self._plugins[name] for name in plugins)
        known = set(self._catching_up.links())
        await asyncio.gather(first.serve(), second.serve())

        async def later() -> Any:
            await asyncio.sleep(SECOND_REGISTERS_AFTER_S)  # the story says so
            return await self._register(second.script.registration)

        answers = await asyncio.gather(self._register(first.script.registration), later())
        await self._registered(known)
        return dict(zip(plugins, answers, strict=True))

    async def _do_register_early(self, plugin: ScriptedPlugin) -> Any:
        async def later() -> None:
            await asyncio.sleep(LISTENS_AFTER_S)  # the story says so
            await plugin.serve()

        known = set(self._catching_up.links())
        answer, _ = await asyncio.gather(self._register(plugin.script.registration), later())
        await self._registered(known)
        return answer

    async def _registered(self, known: Container[Any]) -> None:
        """Return when every registration but those known is over, and its list dealt with: the answer may come before."""
        await self._catching_up.with_registrations(known)
        await self._caught_up()

    async def _register(self, registration: Registration, timeout: float | None = None) -> dict[str, str]:  # noqa: ASYNC109
        try:
            await register(self._folder / SOCKET_NAME, registration, timeout)
        except RpcFailed as failure:
            return {"code": enum_name(failure.code), "message": failure.description}
        return {"code": "OK", "message": ""}

    async def _do_reserve(self, plugin: ScriptedPlugin) -> None:
        await plugin.stop()
        await self._caught_up()
        await plugin.serve(anew=False)

    async def _do_update(self, plugin: ScriptedPlugin, devices: Devices) -> None:
        plugin.send(devices)
        await self._caught_up()

    async def _do_update_many(self, plugin: ScriptedPlugin, count: int, length: int) -> None:
        await self._do_update(plugin, tuple(Device(DeviceID(f"{number:0{length}}")) for number in range(count)))

    async def _do_set(self, plugin: ScriptedPlugin, spec: Mapping[str, Any]) -> None:
        plugin.change(spec)

    async def _do_stop(self, plugin: ScriptedPlugin) -> None:
        await plugin.stop()
        await self._caught_up()

    async def _do_drop(self, plugin: ScriptedPlugin) -> None:
        plugin.end_streams()
        await self._caught_up()

    async def _do_fail_stream(self, plugin: ScriptedPlugin, error: RpcFailed) -> None:
        plugin.end_streams(error)
        await self._caught_up()

    async def _do_end_first_stream(self, plugin: ScriptedPlugin) -> None:
        if plugin.streams:
            plugin.streams[0].end()
        await self._caught_up()

    async def _do_calls(self, plugin: ScriptedPlugin, *, counts: bool = False) -> Any:
        calls = plugin.calls()
        return looks.counted(call["rpc"] for call in calls) if counts else {"calls": calls}

    async def _do_seen(self, plugin: ScriptedPlugin) -> Any:
        return dict(plugin.seen())

    async def _do_streams(self, plugin: ScriptedPlugin) -> Any:
        await self._caught_up()
        return {"open": len(plugin.streams)}

    async def _do_pause(self) -> None:
        await self._caught_up()

    # --- the directory

    async def _do_entry(self, kind: str, name: str, target: str = "", outside: str | bool = False) -> None:  # noqa: FBT001, FBT002
        directory.make_entry(self._folder, kind, name, target=target, outside=outside)

    async def _do_unlink(self, name: str) -> None:
        directory.unlink(self._folder, name)

    async def _do_ls(self, name: str | None = None) -> Any:
        return directory.listing(self._folder / name if name else self._folder)

    async def _do_checkpoint(self) -> Any:
        return directory.checkpoint(self._folder / CHECKPOINT_NAME)

    async def _do_put_checkpoint(self, **document: Any) -> None:
        directory.put_checkpoint(self._folder / CHECKPOINT_NAME, **document)
