"""Plays a story against a fresh node, plugins on real sockets, and tells for each step what came.

Waiting is for events, never for time: the node is caught up when it has dealt with every list that a plugin sent and has
noticed the end of every stream. Deadlines of ours are virtual; what a plugin does takes real time.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from kubelet_sim.errors import KubeletSimError, RpcFailed, TransportError, UsageError
from kubelet_sim.model.admission import Rejected
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ClientID, ContainerName, DeviceID, PodUID
from kubelet_sim.model.plugin import Registration
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.clock import ManualClock, settle
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.driver import Link, socket_path
from kubelet_sim.node.kubelet import Kubelet
from kubelet_sim.node.node import Node
from kubelet_sim.scenario import directory, looks
from kubelet_sim.scenario.compare import matches
from kubelet_sim.scenario.model import NO_EXPECTATION, Step, Story
from kubelet_sim.scenario.order import AsWritten
from kubelet_sim.scenario.plugin import ScriptedPlugin
from kubelet_sim.scenario.script import Devices, Script
from kubelet_sim.scenario.watching import Bell, WatchedCalls, WatchedConnection
from kubelet_sim.transcript import Record
from kubelet_sim.wire.plugin_client import GrpcPluginCalls
from kubelet_sim.wire.registration_client import register
from kubelet_sim.wire.status import enum_name

SECOND_REGISTERS_AFTER_S = 0.3
LISTENS_AFTER_S = 0.6


class NotPlayable(KubeletSimError):
    """A story needs something that this version does not have."""


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


async def play(story: Story, *, to_the_end: bool = False) -> Played:
    """Play a story on a node of its own, in a folder that is removed afterwards.

    Args:
        story: what to play.
        to_the_end: whether to go on after a step that was not right.

    Raises:
        NotPlayable: it needs something that this version does not have.
    """
    _check_playable(story)
    played: list[PlayedStep] = []
    async with _stage(story) as stage:
        for step in story.steps:
            played.append(await stage.play(step))
            if not to_the_end and not played[-1].is_right:
                break
    return Played(story, tuple(played))


async def play_all(stories: Iterable[Story], *, at_once: int = 8) -> AsyncGenerator[Played | NotPlayable, None]:
    """Play stories, some at a time; yields in their order."""
    turn = asyncio.Semaphore(at_once)

    async def one(story: Story) -> Played | NotPlayable:
        async with turn:
            try:
                return await play(story)
            except NotPlayable as reason:
                return reason

    tasks = [asyncio.ensure_future(one(story)) for story in stories]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _check_playable(story: Story) -> None:
    if story.node.policy != "none":
        raise NotPlayable(f"{story.name}: topology policy {story.node.policy} is not built yet")
    for step in story.steps:
        if step.do in ("affinity", "status"):
            raise NotPlayable(f"{story.name}, step {step.number}: `{step.do}` is not built yet")


@contextlib.asynccontextmanager
async def _stage(story: Story) -> AsyncGenerator[Stage, None]:
    """A node that runs, plugins that do not; in the end all of it is gone."""
    root = Path(tempfile.mkdtemp(prefix="ks-", dir=_short_folder()))
    clock, bell = ManualClock(), Bell()
    config = NodeConfig(root=root, numa_nodes=len(story.node.numa), runs_containers=False, has_status_rounds=False)
    try:
        async with Node(
            config, clock=clock, calls=WatchedCalls(GrpcPluginCalls(), clock, bell), order=AsWritten()
        ) as node:
            await node.status_round()  # the node object has cpus and pods before the first step
            stage = Stage(story, node, bell)
            try:
                yield stage
            finally:
                await stage.close()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _short_folder() -> str | None:
    """Socket paths end at 107 bytes."""
    return "/tmp" if Path("/tmp").is_dir() else None  # noqa: S108 - a folder of a random name is made in it


class Stage:
    """One story being played: its node, its plugins, and the pods that it has spoken of."""

    def __init__(self, story: Story, node: Node, bell: Bell) -> None:
        self._node = node
        self._bell = bell
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
        return ScriptedPlugin(script, self._folder, arrived=self._caught_up_with, changed=self._bell.ring)

    def _note(self, record: Record) -> None:
        self._journal.append(record)
        self._bell.ring()

    async def close(self) -> None:
        """Stop all plugins."""
        self._unlisten()
        await asyncio.gather(*(plugin.stop() for plugin in self._plugins.values()))

    async def play(self, step: Step) -> PlayedStep:
        """Do one step. What cannot be done is told as its failure."""
        arguments = dict(step.arguments)
        if "plugin" in arguments:
            arguments["plugin"] = self._plugins[arguments["plugin"]]
        failure, came = "", None
        try:
            came = await self._verbs[step.do](**{name.replace("-", "_"): value for name, value in arguments.items()})
        except KubeletSimError as error:
            failure = str(error)
        journal, self._journal = tuple(self._journal), []
        return PlayedStep(step, {} if came is None else came, journal, failure)

    def _kubelet(self) -> Kubelet | None:
        try:
            return self._node.kubelet
        except UsageError:
            return None

    # --- waiting

    def _links(self, plugin: ScriptedPlugin) -> list[Link]:
        """The connections of this kubelet process to the plugin's socket whose stream is open."""
        folder, path = str(self._folder), str(plugin.socket_path)
        links = self._all_links().values()
        return [link for link in links if link.has_stream and socket_path(folder, link.socket_name) == path]

    def _all_links(self) -> Mapping[ClientID, Link]:
        kubelet = self._kubelet()
        return kubelet.driver.links if kubelet else {}

    def _is_caught_up(self, plugin: ScriptedPlugin) -> bool:
        links = self._links(plugin)
        if len(links) != len(plugin.streams) or any(link.is_closed for link in links):
            return False
        applied = sum(_watched(link).applied for link in links)
        return applied == sum(stream.due for stream in plugin.streams)

    async def _caught_up_with(self, plugin: ScriptedPlugin) -> None:
        """The node has dealt with all that this plugin sent."""
        what = f"that the node dealt with what {plugin.script.socket} sent"
        await self._bell.until(lambda: self._is_caught_up(plugin), what)

    async def _caught_up(self) -> None:
        """The node has dealt with all that any plugin sent, and has nothing else to do."""
        for plugin in self._plugins.values():
            await self._caught_up_with(plugin)
        await settle()

    # --- plugins

    async def _do_serve(self, plugin: ScriptedPlugin) -> None:
        await plugin.serve()

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
        known = set(self._all_links())
        answer = await self._register(plugin.script.merged(over or {}).registration, **within)
        await self._bell.until(lambda: self._are_decided(known), "an end of the registration")
        await self._caught_up()
        return {"ok": answer["code"] == "OK"} if within else answer

    def _are_decided(self, known: Container[ClientID]) -> bool:
        """Whether every registration but those known is over: a caller that gives up does not wait for that (DM-30)."""
        kubelet = self._kubelet()
        waiting = set(kubelet.state.clients.values()) if kubelet else set()
        links = self._all_links()
        return all(client in known or links[client].was_connected or client not in waiting for client in links)

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
        await plugin.serve()

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
        kubelet = self._kubelet()
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

    async def _do_in_use(self) -> Any:
        return looks.in_use(self._node.kubelet.state)

    async def _do_state(self) -> Any:
        return looks.healths(self._node.kubelet.state)

    # --- the directory

    async def _do_entry(self, kind: str, name: str, target: str = "", outside: str | bool = False) -> None:
        directory.make_entry(self._folder, kind, name, target=target, outside=outside)

    async def _do_unlink(self, name: str) -> None:
        directory.unlink(self._folder, name)

    async def _do_ls(self, name: str | None = None) -> Any:
        return directory.listing(self._folder / name if name else self._folder)

    async def _do_checkpoint(self) -> Any:
        return directory.checkpoint(self._node.root.layout.checkpoint)

    async def _do_put_checkpoint(self, **document: Any) -> None:
        directory.put_checkpoint(self._node.root.layout.checkpoint, **document)


def _watched(link: Link) -> WatchedConnection:
    assert isinstance(link.connection, WatchedConnection)  # noqa: S101 - the stage made them all
    return link.connection
