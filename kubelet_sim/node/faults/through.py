"""What a fault bends as long as it lasts: things that a hook sees, or calls that go through a connection around a connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from attrs import define

from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.kinds import kind
from kubelet_sim.node.hooks import Hook, PassingConnection
from kubelet_sim.node.ports import PluginConnection

_Bent = TypeVar("_Bent", bound="type[FaultHook | Through]")


@define(eq=False)
class FaultHook(Hook):
    """A hook of one fault, in place until the fault is over."""

    active: ActiveFault


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
class ThroughHook(FaultHook):
    """Puts one of those around every connection that the fault meets."""

    through: type[Through]

    def called_through(self, path: str, connection: PluginConnection) -> PluginConnection:
        return self.through(connection, self.active, path) if self.active.meets(path) else connection


def lasting(name: str, family: str, does: str, did: str, **more: Any) -> Callable[[_Bent], _Bent]:
    """Enter a kind of fault that lasts, and all of which is the decorated class.

    Args:
        name: see `kind`, as for `family`, `does` and what follows.
        did: the line on what it did, with the names of arguments in braces.
    """

    def decorated(bent: _Bent) -> _Bent:
        @kind(name, family, does, **more)
        async def _begin(active: ActiveFault) -> str:
            active.hook(ThroughHook(active, bent) if issubclass(bent, Through) else bent(active))
            return did.format(**active.arguments)

        return bent

    return decorated
