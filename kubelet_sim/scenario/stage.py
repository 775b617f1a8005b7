"""What each step of a story does to the node, its plugins and its directory, and what it answers.

Waiting is for events, never for time: a step that has the plugin do something returns when the node has dealt with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from kubelet_sim.core.health import allocated_resources_status
from kubelet_sim.core.topology.masks import nodes_of
from kubelet_sim.errors import RpcFailed, TransportError
from kubelet_sim.model.admission import Rejected
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ContainerName, DeviceID, PodUID
from kubelet_sim.model.plugin import Registration
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.node import Node
from kubelet_sim.node.registry_plan import PERIOD_S as RECONCILER_S
from kubelet_sim.scenario import directory, looks
from kubelet_sim.scenario.catching_up import CatchingUp
from kubelet_sim.scenario.model import Step, Story
from kubelet_sim.scenario.plugin import ScriptedPlugin
from kubelet_sim.scenario.script import Devices, Script
from kubelet_sim.scenario.watching import Bell
from kubelet_sim.transcript import Record
from kubelet_sim.wire.registration_client import register
from kubelet_sim.wire.status import enum_name

SECOND_REGISTERS_AFTER_S = 0.3
LISTENS_AFTER_S = 0.6


class Stage:
    """One story being played: its node, its plugins, and the pods that it has spoken of."""

    def __init__(self, story: Story, node: Node, bell: Bell) -> None:
        self._story = story
        self._node = node
        self._bell = bell
        self._catching_up = CatchingUp(node, bell)
        self._folder = node.root.layout.device_plugins
        self._plugins = {name: self._plugin(script) for name, script in story.plugins.items()}
        self._pods: dict[PodUID, Pod] = {}
        self._active: tuple[Pod, ...] = ()
        self._journal: list[Record] = []
        self._unlisten = node.transcript.listen(self._note)
        self._verbs: Mapping[str, Callable[..., Awaitable[Any]]] = {
            name.removeprefix("_do_").replace("_", "-"): getattr(self, name)
            for name in dir(self)
            if name.startswith("_do_")
        }

    def _plugin(self, script: Script) -> ScriptedPlugin:
        return ScriptedPlugin(script, self._folder, arrived=self._catching_up.with_one, changed=self._bell.ring)

    def _note(self, record: Record) -> None:
        self._journal.append(record)
        self._bell.ring()

    async def close(self) -> None:
        """Stop all plugins."""
        self._unlisten()
        await asyncio.gather(*(plugin.stop() for plugin in self._plugins.values()))

    async def do(self, step: Step) -> Any:
        """Do one step and return what came. Raises `KubeletSimError` for what cannot be done."""
        arguments = dict(step.arguments)
        if "plugin" in arguments:
            arguments["plugin"] = self._plugins[arguments["plugin"]]
        came = await self._verbs[step.do](**arguments)
        return {} if came is None else came

    def journal(self) -> tuple[Record, ...]:
        """What happened on the node since the last look."""
        journal, self._journal = tuple(self._journal), []
        return journal

    async def _caught_up(self) -> None:
        await self._catching_up.with_all(self._plugins.values())

    # --- plugins

    async def _do_serve(self, plugin: ScriptedPlugin) -> None:
        await plugin.serve()

    async def _do_watch_serve(self, plugin: ScriptedPlugin) -> Any:
        await plugin.let_itself_be_found()
        return await self._watched(plugin)

    async def _do_watch_remove(self, plugin: ScriptedPlugin) -> Any:
        plugin.hide()
        return await self._watched(plugin)

    async def _do_notified(self, plugin: ScriptedPlugin) -> Any:
        return {"notified": plugin.notices()}

    async def _watched(self, plugin: ScriptedPlugin) -> Any:
        """What it is told until the reconciler's next second is over."""
        await self._node.advance(RECONCILER_S)
        await self._caught_up()
        return await self._do_notified(plugin)

    async def _do_register(self, plugin: ScriptedPlugin, *, nowait: bool = False) -> Any:
        await plugin.serve()
        answer = await self._register(plugin.script.registration)
        if not nowait:
            await self._caught_up()
        return answer

    async def _do_register_as(
        self, plugin: ScriptedPlugin, over: Mapping[str, Any] | None = None, **within: float
    ) -> Any:
        await plugin.serve()
        known = set(self._catching_up.links())
        answer = await self._register(plugin.script.merged(over or {}).registration, **within)
        await self._catching_up.with_registrations(known)
        await self._caught_up()
        return {"ok": answer["code"] == "OK"} if within else answer

    async def _do_register_two(self, plugins: tuple[str, str]) -> Any:
        first, second = (self._plugins[name] for name in plugins)
        await asyncio.gather(first.serve(), second.serve())

        async def later() -> Any:
            await asyncio.sleep(SECOND_REGISTERS_AFTER_S)  # the story says so
            return await self._register(second.script.registration)

        answers = await asyncio.gather(self._register(first.script.registration), later())
        await self._caught_up()
        return dict(zip(plugins, answers, strict=True))

    async def _do_register_early(self, plugin: ScriptedPlugin) -> Any:
        async def later() -> None:
            await asyncio.sleep(LISTENS_AFTER_S)  # the story says so
            await plugin.serve()

        answer, _ = await asyncio.gather(self._register(plugin.script.registration), later())
        await self._caught_up()
        return answer

    async def _register(self, registration: Registration, timeout: float | None = None) -> dict[str, str]:  # noqa: ASYNC109
        try:
            await register(self._node.root.layout.registration_socket, registration, timeout)
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

    # --- the node

    async def _do_pause(self) -> None:
        await self._caught_up()

    async def _do_kill(self) -> None:
        kubelet = self._catching_up.kubelet()
        if kubelet is not None:
            self._active = tuple(kubelet.state.active_pods.values())
            await self._node.kill()
        await self._caught_up()

    async def _do_start(self, running: Iterable[tuple[str, str]] = (), *, ready: bool = True) -> Any:
        reported = frozenset((PodUID(uid), ContainerName(container)) for uid, container in running)
        try:
            kubelet = await self._node.boot(reported, self._active)
        except TransportError:
            return {"started": False}
        await kubelet.sources_ready(ready=ready)
        if self._story.has_plugin_watcher:
            await self._node.advance(0)  # what is in plugins_registry is registered at once
            await self._caught_up()
        return {"started": True}

    async def _do_restart(self, running: Iterable[tuple[str, str]] = (), *, ready: bool = True) -> None:
        await self._do_kill()
        started = await self._do_start(running, ready=ready)
        if not started["started"]:
            raise TransportError("the kubelet could not start again")

    async def _do_ready(self, *, value: bool) -> None:
        await self._node.kubelet.sources_ready(ready=value)

    async def _do_advance(self, seconds: float) -> None:
        await self._node.advance(seconds)

    async def _do_capacity(self) -> Any:
        return looks.capacity(await self._node.status_round())

    # --- pods

    async def _do_admit(self, pod: Pod) -> Any:
        self._pods[pod.uid] = pod
        verdict = await self._node.kubelet.admit(pod)
        if isinstance(verdict, Rejected):
            return {"admit": False, "reason": verdict.reason, "message": verdict.message}
        return {"admit": True, "reason": "", "message": ""}

    async def _do_remove(self, pod: str) -> None:
        await self._node.kubelet.deactivate(PodUID(pod))

    async def _do_remove_if_active(self, pod: str) -> None:
        if PodUID(pod) in self._node.kubelet.state.active_pods:
            await self._node.kubelet.deactivate(PodUID(pod))

    async def _do_reclaim(self) -> None:
        await self._node.kubelet.reclaim()

    async def _do_container(self, pod: str, container: str) -> Any:
        known = self._known(pod)
        wanted = known.container(container)
        if wanted is None:
            raise TransportError(f"pod {pod} has no container {container}")
        return await looks.container(self._node.kubelet.prepare(known, wanted))

    def _known(self, uid: str) -> Pod:
        try:
            return self._pods[PodUID(uid)]
        except KeyError:
            raise TransportError(f"no step before admitted a pod {uid}") from None

    # --- looking

    async def _do_allocated(self, pod: str) -> Any:
        known = self._pods.get(PodUID(pod))
        return looks.allocated(self._node.kubelet.state, PodUID(pod), known)

    async def _do_allocated_count(self, pod: str) -> Any:
        by_container = await self._do_allocated(pod)
        return {
            container: {resource: len(ids) for resource, ids in resources.items()}
            for container, resources in by_container.items()
        }

    async def _do_status(self, pod: str) -> Any:
        return allocated_resources_status(self._node.kubelet.state, self._known(pod))

    async def _do_affinity(self, pod: str, container: str) -> Any:
        if self._known(pod).container(container) is None:
            raise TransportError(f"pod {pod} has no container {container}")
        hint = self._node.kubelet.state.affinities.of(PodUID(pod), ContainerName(container))
        nodes = None if hint.mask is None else list(nodes_of(hint.mask))
        return {"nodes": nodes, "preferred": hint.is_preferred}

    async def _do_in_use(self) -> Any:
        return looks.in_use(self._node.kubelet.state)

    async def _do_state(self) -> Any:
        return looks.healths(self._node.kubelet.state)

    # --- the directory

    async def _do_entry(self, kind: str, name: str, target: str = "", outside: str | bool = False) -> None:  # noqa: FBT001, FBT002
        directory.make_entry(self._folder, kind, name, target=target, outside=outside)

    async def _do_unlink(self, name: str) -> None:
        directory.unlink(self._folder, name)

    async def _do_ls(self, name: str | None = None) -> Any:
        return directory.listing(self._folder / name if name else self._folder)

    async def _do_checkpoint(self) -> Any:
        return directory.checkpoint(self._node.root.layout.checkpoint)

    async def _do_put_checkpoint(self, **document: Any) -> None:
        directory.put_checkpoint(self._node.root.layout.checkpoint, **document)
