"""What a plugin is like at the moment it calls Register: tried once for each resource, while its call is unanswered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import PurePath

from attrs import define

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.plugin import DIAL_TIMEOUT_S, PluginOptions, Registration, SocketName
from kubelet_sim.node.bell import Bell
from kubelet_sim.node.hooks import Hook
from kubelet_sim.node.kubelet_process.plugin_connections import socket_path
from kubelet_sim.node.plugin.isolation import DEVICE_PLUGIN_DIR
from kubelet_sim.wire import unix_socket
from kubelet_sim.wire.plugin_client import GrpcPluginCalls


@define
class ProbeResult:
    """What was found when one resource was dialled during its first Register call."""

    resource: ResourceName
    accepted_at_once: bool = False
    """Whether the very first dial found somebody who listens."""
    connected_after_s: float | None = None
    """How long until the plugin's server spoke; `None`: never while we waited."""
    waited_s: float = 0.0
    """How long it was waited for, all in all."""
    options: PluginOptions | None = None
    failure: RpcFailed | None = None
    """Of GetDevicePluginOptions."""
    options_took_s: float | None = None
    was_left: bool = False
    """Whether the plugin gave its call up meanwhile."""
    is_over: bool = False
    listens_at: tuple[str, ...] = ()
    """Where else its processes listened if nobody served: under the same name, or in the same directory."""


class StartProbe(Hook):
    """Looks at each resource at its first Register call, as a kubelet since 1.25 does itself a moment later."""

    def __init__(
        self, directory: str, calls: GrpcPluginCalls, bell: Bell, listening: Callable[[], Iterable[str]] = lambda: ()
    ) -> None:
        self._directory = directory
        self._calls = calls
        self._bell = bell
        self._listening = listening
        self.probes: dict[ResourceName, ProbeResult] = {}

    async def register_called(self, registration: Registration, deadline_s: float | None) -> None:
        """Dials the plugin while its Register call waits, at the first call for each resource."""
        del deadline_s
        if registration.resource in self.probes:
            return
        probe = self.probes[registration.resource] = ProbeResult(registration.resource)
        path = socket_path(self._directory, SocketName(registration.socket_name))
        probe.accepted_at_once = unix_socket.accepts(path)
        begun_s = time.monotonic()
        try:
            await self._look(probe, path)
        except asyncio.CancelledError:
            probe.was_left = True
            raise
        finally:
            probe.waited_s = time.monotonic() - begun_s
            if probe.connected_after_s is None:
                probe.listens_at = self._elsewhere(path)
            probe.is_over = True
            self._bell.ring()

    def _elsewhere(self, path: str) -> tuple[str, ...]:
        """A socket of another name in another directory is for something else."""
        name, places = PurePath(path).name, {PurePath(self._directory), PurePath(DEVICE_PLUGIN_DIR)}
        return tuple(
            each for each in self._listening() if PurePath(each).name == name or PurePath(each).parent in places
        )

    async def _look(self, probe: ProbeResult, path: str) -> None:
        begun_s, connection = time.monotonic(), self._calls.connection(path)
        try:
            async with asyncio.timeout(DIAL_TIMEOUT_S):
                await connection.ready()
                connected_s = time.monotonic()
                probe.connected_after_s = connected_s - begun_s
                probe.options = await connection.get_device_plugin_options()
                probe.options_took_s = time.monotonic() - connected_s
        except TimeoutError:
            pass
        except RpcFailed as failure:
            probe.failure = failure
        finally:
            await connection.close()
