"""The stand-in plugin against a real node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.views import NodeSnapshot
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.scenario.plugins import standin
from kubelet_sim.scenario.plugins.script import read_script
from kubelet_sim.scenario.plugins.standin import StandIn
from tests.wire.helpers import run, until

RESOURCE = "example.com/dev"
SCRIPT = {
    "resource": RESOURCE,
    "socket": "p.sock",
    "devices": [{"id": "a"}, {"id": "b\x1b"}],
    "allocate": {"envs": {"IDS": "{ids}"}},
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks around more often than it would."""
    monkeypatch.setattr(standin, "PERIOD_S", 0.02)
    monkeypatch.setattr(standin, "RETRY_S", 0.02)


@define
class Running:
    """A stand-in, and what it said."""

    directory: Path
    ill: Path
    said: list[str] = field(factory=list)
    task: asyncio.Task[None] | None = None

    async def says(self, text: str, times: int = 1) -> None:
        """Wait until it has said so."""
        await until(lambda: sum(text in line for line in self.said) >= times)


@asynccontextmanager
async def standing_in(root: Path, **changes: Any) -> AsyncIterator[Running]:
    """A stand-in that runs, and is gone at the end."""
    running = Running(root / "device-plugins", root / "ill")
    stand_in = StandIn(
        read_script({**SCRIPT, **changes}), running.directory, running.said.append, unhealthy_file=running.ill
    )
    running.task = asyncio.create_task(stand_in.run())
    try:
        yield running
    finally:
        running.task.cancel()
        with suppress(asyncio.CancelledError):
            await running.task


def node(root: Path) -> Node:
    """A node that is not started yet."""
    return Node(NodeConfig(root), clock=ManualClock())


def healthy(count: int) -> Callable[[NodeSnapshot], bool]:
    """Whether so many devices are."""
    return lambda now: any(view.name == RESOURCE and view.healthy == count for view in now.resources)


Body = Callable[[Path], Coroutine[Any, Any, None]]


def test_a_pod_gets_devices_of_a_plugin_that_is_not_there() -> None:
    """It waits for a kubelet without making its directory, registers, and says what it is asked."""

    async def body(root: Path) -> None:
        async with standing_in(root) as plugin:
            await plugin.says(f"waiting for {plugin.directory} to appear")
            assert not plugin.directory.exists()
            async with node(root) as started:
                await started.wait_for(healthy(2))
                limits = {"resources": {"limits": {RESOURCE: 2}}}
                spec = {"containers": [{"name": "c", "image": "i", **limits}]}
                manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
                await started.admit(pod_from_mapping(manifest))
                await started.wait_for(lambda now: now.pods[0].phase == "Running")
                assert started.container_spec("p").envs == (("IDS", "a,b\x1b"),)
            await plugin.says("Allocate: ")
            await plugin.says("waiting for a kubelet")
            assert sum("to appear" in line for line in plugin.said) == 1
        assert not (plugin.directory / "p.sock").exists()

    run(body)


def test_it_comes_back_after_a_restart() -> None:
    """The kubelet sweeps its socket away: it listens anew and registers again."""

    async def body(root: Path) -> None:
        async with node(root) as started, standing_in(root) as plugin:
            await started.wait_for(healthy(2))
            await started.restart()
            await started.wait_for(healthy(2))
            await plugin.says("registered", times=2)

    run(body)


def test_devices_fall_ill_by_a_file() -> None:
    """And are well again when their ids do not stand there any more."""

    async def body(root: Path) -> None:
        async with node(root) as started, standing_in(root) as plugin:
            await started.wait_for(healthy(2))
            plugin.ill.write_text("a other\n", encoding="utf-8")
            await started.wait_for(healthy(1))
            plugin.ill.unlink()
            await started.wait_for(healthy(2))

    run(body)


def test_a_refusal_is_said_once_and_tried_again() -> None:
    """A plugin of a wrong version gives the kubelet a chance to change its mind."""

    async def body(root: Path) -> None:
        async with node(root) as started, standing_in(root, version="v9") as plugin:
            await plugin.says("v9")
            await until(lambda: started.kubelet.state.registrations[RESOURCE] >= 2)
            assert len(plugin.said) == 1

    run(body)
