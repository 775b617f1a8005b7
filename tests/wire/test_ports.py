from __future__ import annotations

from kubelet_sim.node.ports import (
    PluginCalls,
    PluginConnection,
    RegistrationServer,
    RegistrationServers,
    RegistryCalls,
    RegistryConnection,
)
from kubelet_sim.wire.plugin_client import GrpcPluginCalls
from kubelet_sim.wire.registration_server import GrpcRegistrationServers
from kubelet_sim.wire.registry_client import GrpcRegistryCalls


def test_the_real_wire_fits_the_nodes_ports() -> None:
    """By shape, which the type checker judges: `wire` may not import `node`. Making either connects nothing."""
    calls: PluginCalls = GrpcPluginCalls()
    connection: PluginConnection = calls.connection("relative\0and impossible")
    registry: RegistryCalls = GrpcRegistryCalls()
    asked: RegistryConnection = registry.connection("")
    servers: RegistrationServers = GrpcRegistrationServers()

    async def accept(_registration: object) -> None: ...

    server: RegistrationServer = servers.server(accept, print)
    assert connection is not calls.connection("relative\0and impossible")
    assert server is not servers.server(accept, print)
    assert asked is not registry.connection("")
