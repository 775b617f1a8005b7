"""One story being played on the real device manager. Its plugins are ours, and the same as on the other side."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from kubelet_sim.errors import TransportError
from kubelet_sim.scenario.play.scripted_plugins import ScriptedPlugins
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.scenario.story.story import Step, Story
from kubelet_sim.wire.unix_socket import short_folder
from tests.differential.harness import Harness

_PATIENCE_S = 12.0
_PAUSE_S = 0.0005


class RealProgress:
    """Asks the process again and again what it has dealt with: it has no way to say so on its own."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self._plugins: tuple[ScriptedPlugin, ...] = ()

    def links(self) -> Mapping[Any, object]:
        """None by name."""
        return {}

    async def with_one(self, plugin: ScriptedPlugin) -> None:
        """Return when it has dealt with all that this plugin sent. Raises `TransportError` if it never does."""
        await self._until(lambda state: _is_done(state, plugin))

    async def with_all(self, plugins: Iterable[ScriptedPlugin]) -> None:
        """Return when it has dealt with all that these sent, and no client is being connected or disconnected."""
        all_of_them = tuple(plugins)
        await self._until(lambda state: _is_calm(state) and all(_is_done(state, each) for each in all_of_them))

    async def with_registrations(self, known: Container[Any]) -> None:
        """Return when every registration is over."""
        del known
        await self._until(lambda state: state["registrations"] == 0)

    async def _until(self, holds: Any) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                while not holds(await self._harness.ask("links")):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(_PAUSE_S)
        except TimeoutError:
            raise TransportError("the real manager did not come to rest") from None


def _is_calm(state: Mapping[str, Any]) -> bool:
    return bool(state["clients"] == sum(link["stream"] for link in state["links"]))


def _is_done(state: Mapping[str, Any], plugin: ScriptedPlugin) -> bool:
    path = os.path.realpath(plugin.socket_path)
    mine = [link for link in state["links"] if link["stream"] and link["path"] == path]
    if len(mine) != len(plugin.streams):
        return False
    return bool(sum(link["applied"] for link in mine) == sum(stream.due for stream in plugin.streams))


class RealStage:
    """One story on the real manager: the kubelet's steps are operations of the process, the others are those of every stage."""

    def __init__(self, story: Story, harness: Harness, directory: Path) -> None:
        self.directory = directory
        self.plugins = ScriptedPlugins(story.scripts, directory, RealProgress(harness), lambda: None)
        self._harness = harness

    async def do(self, step: Step) -> Any:
        """Do one step and return what came."""
        arguments = dict(step.arguments)
        if (plugin := arguments.get("plugin")) is not None:
            arguments["plugin"] = self.plugins.by_name[plugin]
        came = await _OPERATIONS.get(step.do, step.kind.act)(self, **arguments)
        return came if step.kind.tells else {}

    async def ask(self, operation: str, **arguments: Any) -> Any:
        """What the process answers."""
        return await self._harness.ask(operation, **arguments)


async def _kill(stage: RealStage) -> None:
    await stage.ask("kill")
    await stage.plugins.caught_up()


async def _start(stage: RealStage, running: Iterable[tuple[str, str]] = (), *, ready: bool = True) -> Any:
    return await stage.ask("start", running=[list(pair) for pair in running], ready=ready)


async def _restart(stage: RealStage, running: Iterable[tuple[str, str]] = (), *, ready: bool = True) -> None:
    await _kill(stage)
    started = await _start(stage, running, ready=ready)
    if not started["started"]:
        raise TransportError("the kubelet could not start again")


async def _remove(stage: RealStage, pod: str) -> None:
    await stage.ask("remove", uid=pod)


async def _allocated_count(stage: RealStage, pod: str) -> Any:
    return {
        container: {resource: len(ids) for resource, ids in resources.items()}
        for container, resources in (await stage.ask("allocated", uid=pod)).items()
    }


async def _container(stage: RealStage, pod: str, container: str) -> Any:
    return await stage.ask("container", uid=pod, container=container)


async def _affinity(stage: RealStage, pod: str, container: str) -> Any:
    return await stage.ask("affinity", uid=pod, container=container)


async def _in_use(stage: RealStage) -> Any:
    return await stage.ask("in-use") or {}


_OPERATIONS: Mapping[str, Callable[..., Awaitable[Any]]] = {
    "kill": _kill,
    "start": _start,
    "restart": _restart,
    "ready": lambda stage, value: stage.ask("ready", ready=value),
    "advance": lambda stage, seconds: stage.ask("advance", seconds=seconds),
    "capacity": lambda stage: stage.ask("capacity"),
    "admit": lambda stage, pod: stage.ask("admit", pod=pod.manifest),
    "remove": _remove,
    "remove-if-active": _remove,
    "reclaim": lambda stage: stage.ask("reclaim"),
    "container": _container,
    "allocated": lambda stage, pod: stage.ask("allocated", uid=pod),
    "allocated-count": _allocated_count,
    "status": lambda stage, pod: stage.ask("status", uid=pod),
    "affinity": _affinity,
    "in-use": _in_use,
    "state": lambda stage: stage.ask("state"),
}


@contextlib.asynccontextmanager
async def real_stage(story: Story, harness: Harness) -> AsyncGenerator[RealStage, None]:
    """A fresh node with a kubelet that runs; in the end all of it is gone.

    Raises:
        TransportError: its kubelet does not start with these settings.
    """
    root = Path(tempfile.mkdtemp(prefix="ks-", dir=short_folder()))
    folder = root / "device-plugins"
    node = story.node
    options = {name: str(value) for name, value in node.options.items()}
    stage = RealStage(story, harness, folder)
    try:
        spec = {"numa": list(node.numa), "policy": node.policy, "scope": node.scope, "options": options}
        await harness.ask("open", root=str(root), node=spec)
        started = await harness.ask("start", ready=True)
        if not started["started"]:
            raise TransportError("the kubelet did not start")
        yield stage
    finally:
        await stage.plugins.close()
        with contextlib.suppress(Exception):
            await harness.ask("kill")
        shutil.rmtree(root, ignore_errors=True)
