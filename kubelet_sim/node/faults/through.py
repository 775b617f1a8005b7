"""A connection around a connection: faults override the call that they bend."""

from __future__ import annotations

from attrs import define

from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.hooks import Hook, PassingConnection
from kubelet_sim.node.ports import PluginConnection


@define(eq=False)
class Through(PassingConnection):
    """Passes everything on, until a fault overrides it."""

    active: ActiveFault
    path: str

    @property
    def subject(self) -> str:
        """What records of this plugin are about."""
        return self.active.reach.subject(self.path)


@define(eq=False)
class ThroughHook(Hook):
    """Puts one of those around every connection that the fault meets."""

    active: ActiveFault
    through: type[Through]

    def called_through(self, path: str, connection: PluginConnection) -> PluginConnection:
        return self.through(connection, self.active, path) if self.active.meets(path) else connection
