"""The world's side of a story: connections that are watched, and dials to nobody that do not take ten seconds.

A node under a story runs on a manual clock, which somebody has to move when a dial waits for a plugin that is not there.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import DIAL_TIMEOUT_S, AllocateAnswer, PluginOptions
from kubelet_sim.node.bell import Bell
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.ports import PluginCalls, PluginConnection
from kubelet_sim.scenario.play.observed_calls import Observed
from kubelet_sim.tasks import Tasks
from kubelet_sim.wire import unix_socket

T = TypeVar("T")
Called = Callable[[str], None]
"""Is told of each call that shows a choice, before it is made."""
UNHEARD_S = 1.5
"""How long a dial waits in real time before nobody is thought to come. Rules: DM-40"""
_ROUNDS = 3
"""How often it waits so long when somebody does listen, but does not speak yet."""


class WatchedConnection:
    """A `PluginConnection` that counts the lists which the node has dealt with."""

    def __init__(
        self,
        connection: PluginConnection,
        path: str,
        clock: ManualClock,
        bell: Bell,
        called: Called,
        observed: Observed,
    ) -> None:
        self.real_path = path
        """Where it led when it was connected, links followed."""
        self._path = path
        self.applied = 0
        """Lists that were read, and applied to the end: the node asked for the next one (DM-60)."""
        self._connection = connection
        self._clock = clock
        self._bell = bell
        self._called = called
        self._observed = observed

    async def ready(self) -> None:
        """As the connection's; when nobody comes, time moves on to the deadline."""
        impatience = asyncio.ensure_future(self._move_on())
        try:
            await self._connection.ready()
            self._observed.connected(self._path)
            self._follow_links()
        finally:
            impatience.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await impatience

    def _follow_links(self) -> None:
        self.real_path = os.path.realpath(self._path)

    async def _move_on(self) -> None:
        for _ in range(_ROUNDS):
            await asyncio.sleep(UNHEARD_S)
            if not unix_socket.accepts(self._path):
                break
        # On its own: the dial that ends by it cancels this task.
        await _detached(self._clock.advance(DIAL_TIMEOUT_S))

    async def get_device_plugin_options(self) -> PluginOptions:
        """As the connection's."""
        return await self._connection.get_device_plugin_options()

    async def list_and_watch(self) -> AsyncIterator[tuple[Device, ...]]:
        """As the connection's."""
        lists = self._connection.list_and_watch()
        try:
            async for devices in lists:
                self._observed.listed(self._path, devices)
                yield devices
                self.applied += 1
                self._bell.ring()
        finally:
            if isinstance(lists, AsyncGenerator):
                await lists.aclose()
            self._bell.ring()

    async def allocate(self, device_ids: Sequence[DeviceID]) -> AllocateAnswer:
        """As the connection's."""
        self._called("Allocate")
        answer = await self._connection.allocate(device_ids)
        self._observed.answered(self._path, device_ids, answer)
        return answer

    async def get_preferred_allocation(
        self, available: Sequence[DeviceID], must_include: Sequence[DeviceID], size: int
    ) -> tuple[DeviceID, ...]:
        """As the connection's."""
        self._called("GetPreferredAllocation")
        return await self._connection.get_preferred_allocation(available, must_include, size)

    async def pre_start_container(self, device_ids: Sequence[DeviceID], timeout_s: float) -> None:
        """As the connection's."""
        self._called("PreStartContainer")
        await self._connection.pre_start_container(device_ids, timeout_s)

    async def close(self) -> None:
        """As the connection's."""
        await self._connection.close()
        self._bell.ring()


class WatchedCalls:
    """`PluginCalls` whose connections are watched."""

    def __init__(
        self,
        calls: PluginCalls,
        clock: ManualClock,
        bell: Bell,
        called: Called = lambda _rpc: None,
        observed: Observed | None = None,
    ) -> None:
        self._called = called
        self._observed = observed or Observed()
        self._calls = calls
        self._clock = clock
        self._bell = bell

    def connection(self, socket_path: str) -> WatchedConnection:
        """A watched one."""
        return WatchedConnection(
            self._calls.connection(socket_path), socket_path, self._clock, self._bell, self._called, self._observed
        )


_detached_tasks = Tasks()


async def _detached(work: Awaitable[T]) -> None:
    """Wait for work that goes on when the waiter is cancelled."""

    async def run() -> object:
        return await work

    await asyncio.shield(_detached_tasks.run(run()))
