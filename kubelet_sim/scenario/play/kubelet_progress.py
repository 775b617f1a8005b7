"""When a node has dealt with what plugins did: every list applied, the end of every stream noticed.

Nothing here waits for time to pass. What both sides count is compared each time one of them says that something happened.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping

from attrs import define

from kubelet_sim.core.devices.plugin_clients import registering_clients
from kubelet_sim.model.ids import ClientID
from kubelet_sim.node.bell import Bell
from kubelet_sim.node.clock import settle
from kubelet_sim.node.hooks import HookedConnection
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletProcess
from kubelet_sim.node.kubelet_process.plugin_connections import Link
from kubelet_sim.node.node import Node
from kubelet_sim.scenario.play.watched_calls import WatchedConnection
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin


@define
class KubeletProgress:
    """Compares what plugins sent with what the node has dealt with; the bell must ring at every change of either."""

    _node: Node
    _bell: Bell

    def kubelet(self) -> KubeletProcess | None:
        """The process that runs now, if one does."""
        return self._node.kubelet if self._node.has_kubelet else None

    def links(self) -> Mapping[ClientID, Link]:
        """All connections of this kubelet process."""
        kubelet = self.kubelet()
        return kubelet.driver.links if kubelet else {}

    def has_listed(self, client: ClientID) -> bool:
        """Whether a list came over that connection, and was applied to its end."""
        link = self.links().get(client)
        return link is not None and _watched(link).applied > 0

    async def with_one(self, plugin: ScriptedPlugin) -> None:
        """Return when the node has dealt with all that this plugin sent. Raises `TransportError` if it never does."""
        what = f"that the node dealt with what {plugin.script.socket} sent"
        await self._bell.until(lambda: self._is_done(plugin), what)

    async def with_all(self, plugins: Iterable[ScriptedPlugin]) -> None:
        """Return when the node has dealt with all that these sent, and has nothing else to do at once."""
        await self._node.fault_book.settled()
        for plugin in plugins:
            await self.with_one(plugin)
        await settle()

    async def with_registrations(self, known: Container[ClientID]) -> None:
        """Return when every registration but those known is over, which a caller that gives up does not wait for.

        Rules: DM-30
        """
        await self._bell.until(lambda: self._are_over(known), "the end of the registration")

    def _is_done(self, plugin: ScriptedPlugin) -> bool:
        open_links = [link for link in self.links().values() if link.has_stream and _leads_to(link, plugin)]
        if self._is_delayed():
            return True
        if len(open_links) != len(plugin.streams) or any(link.is_closed for link in open_links):
            return False
        return sum(_watched(link).applied for link in open_links) == sum(stream.due for stream in plugin.streams)

    def _is_delayed(self) -> bool:
        """Whether a fault holds something up that plugins have sent, or holds further streams open."""
        return any(active.kind.delays_lists and active.is_holding for active in self._node.faults())

    def _are_over(self, known: Container[ClientID]) -> bool:
        kubelet = self.kubelet()
        current = registering_clients(kubelet.state) if kubelet else frozenset()
        return all(
            client in known or link.was_connected or client not in current for client, link in self.links().items()
        )


def _leads_to(link: Link, plugin: ScriptedPlugin) -> bool:
    return _watched(link).real_path in map(os.path.realpath, (plugin.socket_path, plugin.registry_path))


def _watched(link: Link) -> WatchedConnection:
    assert isinstance(link.connection, HookedConnection)  # noqa: S101 - the node made them all
    assert isinstance(link.connection.inner, WatchedConnection)  # noqa: S101 - around what the stage made
    return link.connection.inner
