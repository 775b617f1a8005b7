"""The kubelet's calls to a socket that it found in `plugins_registry`: what are you, and how did it end."""

from __future__ import annotations

from kubelet_sim.model.plugin import GET_INFO_TIMEOUT_S, NOTIFY_TIMEOUT_S, PluginInfo
from kubelet_sim.wire import messages, registry_messages
from kubelet_sim.wire.plugin_client import GrpcPluginConnection


class GrpcRegistryConnection:
    """One connection to one registration socket, for one try; fits `kubelet_sim.node.ports.RegistryConnection`.

    Deadlines are the caller's: it cancels. The plugin is told them all the same.
    """

    def __init__(self, socket_path: str) -> None:
        self._connection = GrpcPluginConnection(socket_path)

    async def ready(self) -> None:
        """Return once the plugin's server has spoken HTTP/2; tries again until then. Rules: DM-148"""
        await self._connection.ready()

    async def get_info(self) -> PluginInfo:
        """Return what the plugin says of itself. Raises `RpcFailed`. Rules: DM-148"""
        return await self._connection.call(
            registry_messages.GET_INFO, messages.EMPTY, registry_messages.decode_info, GET_INFO_TIMEOUT_S
        )

    async def notify(self, *, registered: bool, error: str) -> None:
        """Tell the plugin how its registration ended. Raises `RpcFailed`. Rules: DM-148, DM-151"""
        status = registry_messages.encode_status(registered=registered, error=error)
        await self._connection.call(registry_messages.NOTIFY, status, lambda _: None, NOTIFY_TIMEOUT_S)

    async def close(self) -> None:
        """Close the connection. May be repeated."""
        await self._connection.close()


class GrpcRegistryCalls:
    """The way to registration sockets; fits `kubelet_sim.node.ports.RegistryCalls`."""

    def connection(self, socket_path: str) -> GrpcRegistryConnection:
        """Return a new connection to that path, not yet connected. Never fails."""
        return GrpcRegistryConnection(socket_path)
