"""The world's side of a story: connections that are watched, and dials to nobody that do not take ten seconds.

A node under a story runs on a manual clock, which somebody has to move when a dial waits for a plugin that is not there.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

from attrs import define

from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import DIAL_TIMEOUT_S, AllocateAnswer
from kubelet_sim.node.bell import Bell
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.hooks import PassingConnection
from kubelet_sim.node.ports import PluginCalls
from kubelet_sim.scenario.play.observed_calls import ObservedCalls
from kubelet_sim.tasks import Tasks
from kubelet_sim.wire import unix_socket

UNHEARD_S = 1.5
"""How long a dial waits in real time before nobody is thought to come. Rules: DM-40"""
_ROUNDS = 3
"""How often it waits so long when somebody does listen, but does not speak yet."""


@define(eq=False)
class WatchedConnection(PassingConnection):
    """A connection that counts the lists which the node has dealt with."""

    _path: str
    _calls: WatchedCalls
    real_path: str
    """Where it led when it was connected, links followed."""
    applied: int = 0
    """Lists that were read, and applied to the end: the node asked for the next one (DM-60)."""

    async def ready(self) -> None:
        """Connect; when nobody comes, time moves on to the deadline."""
        impatience = asyncio.ensure_future(self._move_on())
        try:
            await self.inner.ready()
            self._calls.observed.connected(self._path)
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
        await asyncio.shield(_detached_tasks.run(self._calls.clock.advance(DIAL_TIMEOUT_S)))

    async def list_and_watch(self) -> AsyncIterator[tuple[Device, ...]]:
        """Pass on the lists of the stream, and count each when the node asks for the next one."""
        lists = self.inner.list_and_watch()
        try:
            async for devices in lists:
                self._calls.observed.listed(self._path, devices)
                yield devices
                self.applied += 1
                self._calls.bell.ring()
        finally:
            if isinstance(lists, AsyncGenerator):
                await lists.aclose()
            self._calls.bell.ring()

    async def allocate(self, device_ids: Sequence[DeviceID]) -> AllocateAnswer:
        """Pass the call on, and have the answer looked at."""
        self._calls.called("Allocate")
        answer = await self.inner.allocate(device_ids)
        self._calls.observed.answered(self._path, device_ids, answer)
        return answer

    async def get_preferred_allocation(
        self, available: Sequence[DeviceID], must_include: Sequence[DeviceID], size: int
    ) -> tuple[DeviceID, ...]:
        """Pass the call on, which shows what the kubelet has chosen so far."""
        self._calls.called("GetPreferredAllocation")
        return await self.inner.get_preferred_allocation(available, must_include, size)

    async def pre_start_container(self, device_ids: Sequence[DeviceID], timeout_s: float) -> None:
        """Pass the call on, which shows whose turn it is."""
        self._calls.called("PreStartContainer")
        await self.inner.pre_start_container(device_ids, timeout_s)

    async def close(self) -> None:
        """Close the connection, and say that something has changed."""
        await self.inner.close()
        self._calls.bell.ring()


@define(eq=False)
class WatchedCalls:
    """The way to plugins on which every connection is watched; fits `PluginCalls`."""

    inner: PluginCalls
    clock: ManualClock
    bell: Bell
    called: Callable[[str], None]
    """Is told of each call that shows a choice, before it is made."""
    observed: ObservedCalls

    def connection(self, socket_path: str) -> WatchedConnection:
        """Returns a connection whose lists are counted."""
        return WatchedConnection(self.inner.connection(socket_path), socket_path, self, socket_path)


_detached_tasks = Tasks()
