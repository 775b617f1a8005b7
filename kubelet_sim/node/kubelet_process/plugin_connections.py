"""The connections to plugins, as a kubelet process holds them, and where a plugin's socket is dialled."""

from __future__ import annotations

import asyncio
from posixpath import dirname, normpath

from attrs import define

from kubelet_sim.model.ids import ClientID, ResourceName
from kubelet_sim.model.plugin import PluginSocket, SocketName, SocketPath
from kubelet_sim.node.ports import PluginConnection
from kubelet_sim.node.root_directory.layout import KUBELET_ROOT


@define
class Link:
    """One connection to a plugin, as the node holds it."""

    client: ClientID
    resource: ResourceName
    socket: PluginSocket
    socket_path: str
    """Where it was dialled."""
    connection: PluginConnection
    registered_at_s: float
    registration_socket: str = ""
    """By which socket the plugin watcher found it; empty: the plugin called Register."""
    stream: asyncio.Task[None] | None = None
    is_dialled: bool = False
    was_connected: bool = False
    """Whether its registration came to its end: options read, stream opened."""
    has_failed: bool = False
    """Whether its options could not be read; the connection stays open all the same. Rules: DM-36"""
    is_closed: bool = False
    closed_at_s: float = 0.0
    """In real time, as the event loop has it."""

    @property
    def has_stream(self) -> bool:
        """Whether its ListAndWatch stream is open."""
        return self.stream is not None and not self.stream.done()


def socket_path(directory: str, socket: PluginSocket) -> str:
    """Where to dial. A name is joined and cleaned, an absolute one included; nothing keeps it inside the directory.

    A path is taken as it is. But the parent of the directory stands for the kubelet's own root, where a plugin that we
    isolate sees it: paths below that one are found here.

    Rules: DM-25, DM-150
    """
    match socket:
        case SocketName(name):
            return normpath(f"{directory}/{name}")
        case SocketPath(path=path) if path.startswith(f"{KUBELET_ROOT}/"):
            return f"{dirname(directory)}{path.removeprefix(KUBELET_ROOT)}"
        case SocketPath(path=path):
            return path
