"""Everything the device manager of one kubelet process knows. Nothing here decides.

The names follow the specification, section 0.3, in the words of this project: `in_use` is its allocatedDevices,
`allocations` its podDevices, `devices` its allDevices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache

from attrs import define, field

from kubelet_sim.core.devices.allocations import Allocations
from kubelet_sim.core.devices.device_list import Listing
from kubelet_sim.core.devices.endpoint import Endpoint
from kubelet_sim.core.devices.ordered_lists import Arranged
from kubelet_sim.core.devices.reusable_devices import ReuseTable
from kubelet_sim.core.kubelet.active_pods import ActivePods
from kubelet_sim.core.ports import Journal, Order
from kubelet_sim.core.topology.affinities import Affinities
from kubelet_sim.core.topology.counters import TopologyTally
from kubelet_sim.core.topology.settings import NO_ALIGNMENT, Merger, merger
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ClientID, ContainerName, DeviceID, PodUID, ResourceName
from kubelet_sim.model.node import DEFAULT_MACHINE, NodeObject
from kubelet_sim.model.plugin import PluginSocket
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.profiles import Profile
from kubelet_sim.transcript import Decision, Json, RecordLevel


@define
class State:
    """The tables."""

    clients: dict[ResourceName | tuple[ResourceName, str], ClientID] = field(factory=dict)
    """Whom the end of a stream disconnects: see `core.devices.plugin_clients`, which alone changes it. Rules: DM-26, DM-33, DM-180"""
    resource_of: dict[ClientID, ResourceName] = field(factory=dict)
    """Clients that register, have a stream, or are an endpoint's; those that are over are forgotten."""
    socket_of: dict[ClientID, PluginSocket] = field(factory=dict)
    """The socket of each of them, as the plugin named it."""
    streams: set[ClientID] = field(factory=set)
    """Clients whose ListAndWatch stream is open."""
    endpoints: dict[ResourceName, Endpoint] = field(factory=dict)
    healthy: dict[ResourceName, frozenset[DeviceID]] = field(factory=dict)
    """The presence of the key means: registered. A set is replaced, never changed. Rules: DM-19, DM-83, DM-90"""
    unhealthy: dict[ResourceName, set[DeviceID]] = field(factory=dict)
    devices: dict[ResourceName, dict[DeviceID, Device]] = field(factory=dict)
    """The last message of each resource; stays when the plugin goes. Rules: DM-44, DM-51"""
    listings: dict[ResourceName, Listing] = field(factory=dict, eq=False)
    """The same message, as the next one is compared with it."""
    allocations: Allocations = field(factory=Allocations)
    active_pods: ActivePods = field(factory=ActivePods)
    """Pods whose devices are safe from reclaim, the pod in admission included. Rules: DM-116, DM-117"""
    running_at_start: frozenset[tuple[PodUID, ContainerName]] = frozenset()
    """What the runtime reported running when this kubelet started; never refreshed. Rules: DM-7, DM-110"""
    containers_at_start: dict[tuple[PodUID, ContainerName], tuple[bool, ...]] = field(factory=dict)
    """Of every container that it reported, by name, whether it ran: there are several of one that has restarted."""
    sources_ready: bool = False
    node: NodeObject = field(factory=NodeObject)
    """As last computed; predicates look at it. Rules: DM-64, DM-80"""
    registrations: Counter[str] = field(factory=Counter)
    """Register calls by resource name as sent, refused ones included. Rules: DM-21"""
    arranged: Arranged = field(factory=Arranged, eq=False)
    """The healthy sets in the order in which the last checkpoint had them."""
    topology_tally: TopologyTally = field(factory=TopologyTally)
    next_client: int = 1
    reuse: ReuseTable = field(factory=ReuseTable)
    affinities: Affinities = field(factory=Affinities)
    """The hint that each container ended up with; not restored by a kubelet start. Rules: DM-145, TM-45"""

    def forget_client(self, client: ClientID) -> None:
        """A client has no stream (any more): unless it is still an endpoint's, nothing will come of it."""
        resource = self.resource_of.get(client)
        endpoint = self.endpoints.get(resource) if resource is not None else None
        if endpoint is None or endpoint.client != client:
            self.resource_of.pop(client, None)
            self.socket_of.pop(client, None)

    def is_device_plugin_resource(self, name: str) -> bool:
        """Whether the device manager handles a limit of that name at all. Rules: DM-83"""
        return name in self.healthy or name in self.allocations.in_use


@define
class Context:
    """What every decision has at hand."""

    state: State
    profile: Profile
    order: Order
    journal: Journal
    machine: Mapping[str, Quantity] = field(default=DEFAULT_MACHINE)
    merger: Merger = field(factory=lambda: merger(NO_ALIGNMENT, ()))
    """The topology manager's policy."""
    numa_nodes: tuple[int, ...] = (0,)
    """The machine's, in its own order."""

    def say(self, rules: str, subject: str, text: str, **details: Json) -> None:
        """Take a decision down; `rules` are ids parted by spaces."""
        self.journal.append(Decision(subject, text, _ids(rules), RecordLevel.INFO, details))

    def warn(self, rules: str, subject: str, text: str, **details: Json) -> None:
        """The same for something that a plugin author should look at."""
        self.journal.append(Decision(subject, text, _ids(rules), RecordLevel.WARNING, details))


@cache
def _ids(rules: str) -> tuple[str, ...]:
    """One value for each place that tells something, however often it does."""
    return tuple(rules.split())
