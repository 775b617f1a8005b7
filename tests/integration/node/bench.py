"""A node in the same loop as its test, with plugins that need no sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from attrs import define, field

from kubelet_sim.model.device import HEALTHY, UNHEALTHY, Device
from kubelet_sim.model.ids import ContainerName, DeviceID, PodUID, ResourceName
from kubelet_sim.model.plugin import API_VERSION, Registration
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.testing.fake_calls import FakeCalls, FakePeer
from kubelet_sim.testing.stores import MemoryCheckpointStore
from tests.patience import PATIENCE_S

T = TypeVar("T")
RESOURCE = "example.com/dev"


def device(name: str, *, healthy: bool = True) -> Device:
    """One entry of a list."""
    return Device(DeviceID(name), HEALTHY if healthy else UNHEALTHY)


def pod(name: str, count: int = 1, *, init_count: int | None = None, other: str | None = None) -> Pod:
    """A pod with one app container that wants devices.

    Args:
        init_count: how many an init container before it wants; without, there is none.
        other: a second resource of which the app container wants one.
    """
    limits = {RESOURCE: Quantity.of(count)} | ({other: Quantity.of(1)} if other else {})
    init_limits = {RESOURCE: Quantity.of(init_count or 0)}
    init = Container(ContainerName("init"), ContainerKind.INIT, init_limits, init_limits)
    app = Container(ContainerName("main"), ContainerKind.APP, limits, limits)
    return Pod(name, "default", PodUID(name), (init,) if init_count is not None else (), (app,))


def registration(socket_name: str = "p.sock", resource: str = RESOURCE) -> Registration:
    """A Register request that the kubelet takes."""
    return Registration(API_VERSION, socket_name, ResourceName(resource))


@define
class Bench:
    """A started node and all that its test can move."""

    node: Node
    clock: ManualClock
    calls: FakeCalls
    store: MemoryCheckpointStore
    peers: dict[str, FakePeer] = field(factory=dict)

    async def plugin(self, *devices: Device, socket_name: str = "p.sock", resource: str = RESOURCE) -> FakePeer:
        """A plugin that has registered and, if devices are given, listed them."""
        peer = self.calls.peer(socket_name)
        await soon(self.node.kubelet.register(registration(socket_name, resource)))
        if devices:
            await soon(peer.send(*devices))
        return peer

    def texts(self) -> list[str]:
        """The transcript in words."""
        return [record.text for record in self.node.transcript]


async def soon(awaitable: Awaitable[T]) -> T:
    """Wait for what has to happen; fail the test if it does not."""
    return await asyncio.wait_for(awaitable, PATIENCE_S)


@asynccontextmanager
async def bench(root: Path, **choices: Any) -> AsyncIterator[Bench]:
    """A started node; it is stopped at the end."""
    clock, calls, store = ManualClock(), FakeCalls(), MemoryCheckpointStore()
    config = NodeConfig(root=root, **choices)
    async with Node(config, clock=clock, calls=calls, store=store) as node:
        yield Bench(node, clock, calls, store)


RunOnBench = Callable[..., None]
