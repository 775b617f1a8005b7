"""One story being played on the real device manager. Its plugins are ours, and the same as on the other side."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from kubelet_sim.errors import TransportError
from kubelet_sim.model.pod import Pod
from kubelet_sim.scenario.play.backstage import Backstage
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.scenario.story.story import Story
from kubelet_sim.wire.unix_socket import short_folder
from tests.differential.harness import Harness

_PATIENCE_S = 12.0
_PAUSE_S = 0.0005


class RealDealing:
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


class RealStage(Backstage):
    """The node's steps, each an operation of the process."""

    def __init__(self, story: Story, harness: Harness, folder: Path) -> None:
        super().__init__(story, folder, RealDealing(harness), lambda: None)
        self._harness = harness

    async def _do_kill(self) -> None:
        await self._harness.ask("kill")
        await self._caught_up()

    async def _do_start(self, running: Iterable[tuple[str, str]] = (), *, ready: bool = True) -> Any:
        return await self._harness.ask("start", running=[list(pair) for pair in running], ready=ready)

    async def _do_restart(self, running: Iterable[tuple[str, str]] = (), *, ready: bool = True) -> None:
        await self._do_kill()
        started = await self._do_start(running, ready=ready)
        if not started["started"]:
            raise TransportError("the kubelet could not start again")

    async def _do_ready(self, *, value: bool) -> None:
        await self._harness.ask("ready", ready=value)

    async def _do_advance(self, seconds: float) -> None:
        await self._harness.ask("advance", seconds=seconds)

    async def _do_capacity(self) -> Any:
        return await self._harness.ask("capacity")

    async def _do_admit(self, pod: Pod) -> Any:
        return await self._harness.ask("admit", pod=pod.manifest)

    async def _do_remove(self, pod: str) -> None:
        await self._harness.ask("remove", uid=pod)

    async def _do_remove_if_active(self, pod: str) -> None:
        await self._harness.ask("remove", uid=pod)

    async def _do_reclaim(self) -> None:
        await self._harness.ask("reclaim")

    async def _do_container(self, pod: str, container: str) -> Any:
        return await self._harness.ask("container", uid=pod, container=container)

    async def _do_allocated(self, pod: str) -> Any:
        return await self._harness.ask("allocated", uid=pod)

    async def _do_allocated_count(self, pod: str) -> Any:
        by_container = await self._do_allocated(pod)
        return {
            container: {resource: len(ids) for resource, ids in resources.items()}
            for container, resources in by_container.items()
        }

    async def _do_status(self, pod: str) -> Any:
        return await self._harness.ask("status", uid=pod)

    async def _do_affinity(self, pod: str, container: str) -> Any:
        return await self._harness.ask("affinity", uid=pod, container=container)

    async def _do_in_use(self) -> Any:
        return await self._harness.ask("in-use") or {}

    async def _do_state(self) -> Any:
        return await self._harness.ask("state")


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
        await stage.close()
        with contextlib.suppress(Exception):
            await harness.ask("kill")
        shutil.rmtree(root, ignore_errors=True)
