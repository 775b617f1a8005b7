"""What the core is told. Past tense; each says what it is answered with: `Fact[A]`.

A fact is applied at once and as a whole. A fact that cannot be (an unknown client) raises `UsageError` before anything
has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from attrs import field, frozen

from kubelet_sim.core.effects import Effect
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ClientID, ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.node import NodeStatusRound
from kubelet_sim.model.plugin import PluginSocket
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.response import ContainerResponse

A = TypeVar("A")


class Fact(Generic[A]):
    """Something that has happened, answered with an `A`."""

    __slots__ = ()


@frozen
class Applied(Generic[A]):
    """What a fact led to: effects in the order in which they are to be performed, and the answer."""

    answer: A
    effects: tuple[Effect[None], ...] = ()


@frozen
class DevicesListed(Fact[None]):
    """A ListAndWatch message came in: the complete state of the client's resource. Rules: DM-51"""

    client: ClientID
    devices: tuple[Device, ...]
    """As sent, duplicates included."""


@frozen
class StreamEnded(Fact[None]):
    """A ListAndWatch stream is over, in whatever way. Rules: DM-42"""

    client: ClientID
    at_s: float
    error: RpcFailed | None = None
    """`None`: the plugin ended it normally, which is no better."""


@frozen
class WatchedPluginGone(Fact[None]):
    """A plugin that came by the plugin watcher is to be gone: its socket was removed or replaced. Rules: DM-152"""

    resource: ResourceName
    socket: PluginSocket
    """Where it serves, as in its registration."""
    at_s: float


@frozen
class StatusRoundDue(Fact[NodeStatusRound]):
    """It is time to compute the node status. Rules: DM-62, DM-65"""

    at_s: float
    is_stored: bool = True
    """Whether the API server takes what comes of it. Rules: DM-67"""


@frozen
class PodActivated(Fact[None]):
    """A source delivered a pod that is not in a terminal phase. Rules: DM-116"""

    pod: Pod


@frozen
class PodDeactivated(Fact[None]):
    """A pod is gone, or its containers have stopped for good; nothing is reclaimed yet. Rules: DM-115, DM-116"""

    uid: PodUID


@frozen
class ContainersRemoved(Fact[None]):
    """The containers of a pod were removed from the runtime: nobody needs to know their NUMA affinity. Rules: TM-46"""

    pod: Pod


@frozen
class SourcesReadyChanged(Fact[None]):
    """Whether every pod source has delivered a batch that was dispatched completely. Rules: DM-109"""

    ready: bool


@frozen
class ReclaimAsked(Fact[None]):
    """Somebody wants the allocations without the devices of inactive pods. Rules: DM-115"""


@frozen
class RuntimeListed(Fact[None]):
    """The containers that the runtime reports, once, at the start. Rules: DM-6, DM-7"""

    running: frozenset[tuple[PodUID, ContainerName]]
    """Those of which one runs."""
    containers: tuple[tuple[PodUID, ContainerName, bool], ...] = ()
    """Every one in any state, and whether it runs; where it is left out, there are only those that run. Rules: DM-110"""


@frozen
class RestoredEntry:
    """One entry of a checkpoint whose response could be decoded. Rules: DM-145"""

    pod_uid: PodUID
    container: ContainerName
    resource: ResourceName
    devices: Mapping[NumaNode, tuple[DeviceID, ...]] = field(hash=False)
    response: ContainerResponse


@frozen
class CheckpointRestored(Fact[None]):
    """A checkpoint was read, once, at the start. Rules: DM-141, DM-145"""

    entries: tuple[RestoredEntry, ...]
    """In file order: a later entry for the same key replaces an earlier one."""
    registered: tuple[ResourceName, ...]
    at_s: float
