"""A connection around a connection: faults override the call that they bend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from attrs import define

from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.hooks import Hook
from kubelet_sim.node.ports import PluginConnection


@define(eq=False)
class Through:
    """Passes everything on."""

    active: ActiveFault
    path: str
    inner: PluginConnection

    @property
    def subject(self) -> str:
        """What records of this plugin are about."""
        return self.active.reach.subject(self.path)

    async def ready(self) -> None:
        """See `PluginConnection`."""
        await self.inner.ready()

    async def get_device_plugin_options(self) -> PluginOptions:
        """See `PluginConnection`."""
        return await self.inner.get_device_plugin_options()

    def list_and_watch(self) -> AsyncIterator[tuple[Device, ...]]:
        """See `PluginConnection`."""
        return self.inner.list_and_watch()

    async def allocate(self, device_ids: Sequence[DeviceID]) -> AllocateAnswer:
        """See `PluginConnection`."""
        return await self.inner.allocate(device_ids)

    async def get_preferred_allocation(
        self, available: Sequence[DeviceID], must_include: Sequence[DeviceID], size: int
    ) -> tuple[DeviceID, ...]:
        """See `PluginConnection`."""
        return await self.inner.get_preferred_allocation(available, must_include, size)

    async def pre_start_container(self, device_ids: Sequence[DeviceID], timeout_s: float) -> None:
        """See `PluginConnection`."""
        await self.inner.pre_start_container(device_ids, timeout_s)

    async def close(self) -> None:
        """See `PluginConnection`."""
        await self.inner.close()


@define(eq=False)
class ThroughHook(Hook):
    """Puts one of those around every connection that the fault meets."""

    active: ActiveFault
    through: type[Through]

    def called_through(self, path: str, connection: PluginConnection) -> PluginConnection:
        """See `Hook`."""
        return self.through(self.active, path, connection) if self.active.meets(path) else connection
