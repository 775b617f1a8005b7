from __future__ import annotations

import pytest

from kubelet_sim.model.plugin import PluginSocket, SocketName, SocketPath
from kubelet_sim.node.kubelet_process.plugin_connections import socket_path


@pytest.mark.parametrize(
    "socket, path",
    [
        (SocketName("x.sock"), "/r/device-plugins/x.sock"),
        (SocketName("missing/../x.sock"), "/r/device-plugins/x.sock"),
        (SocketName("../x.sock"), "/r/x.sock"),
        (SocketName("/abs/x.sock"), "/r/device-plugins/abs/x.sock"),
        (SocketName(""), "/r/device-plugins"),
        (SocketPath("/elsewhere/./x.sock"), "/elsewhere/./x.sock"),
        (SocketPath("x.sock"), "x.sock"),
        (SocketPath("/var/lib/kubelet/plugins_registry/x.sock"), "/r/plugins_registry/x.sock"),
        (SocketPath("/var/lib/kubelet2/x.sock"), "/var/lib/kubelet2/x.sock"),
    ],
)
def test_where_a_plugin_is_dialled(socket: PluginSocket, path: str) -> None:
    """A name is joined and cleaned, a path is as it is, but for the kubelet's own root. Rules: DM-25, DM-150"""
    assert socket_path("/r/device-plugins", socket) == path
