"""Faults of the NUMA nodes that devices say they are on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plugins_examples.faulty.conduct import Conduct, Stream
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2

Devices = list[api_pb2.Device]


def _place(devices: Devices, *nodes: int) -> Devices:
    """The devices, on these nodes."""
    for device in devices:
        device.topology.CopyFrom(api_pb2.TopologyInfo(nodes=[api_pb2.NUMANode(ID=node) for node in nodes]))
    return devices


def _all_on(conduct: Conduct, nodes: Sequence[int]) -> None:
    good = conduct.devices
    conduct.devices = lambda resource: _place(good(resource), *nodes)


@fault("node-minus-one-too", "topo-no-negative-node")
def node_minus_one_too(conduct: Conduct) -> None:
    """Devices are on a node of the machine, and on -1."""
    _all_on(conduct, (0, -1))


@fault("node-minus-one", "topo-no-negative-node", "topo-admits-under-policy")
def node_minus_one(conduct: Conduct) -> None:
    """Devices are on node -1, as sysfs says of a node that is not known."""
    _all_on(conduct, (-1,))


@fault("foreign-node-too", "topo-known-node")
def foreign_node_too(conduct: Conduct) -> None:
    """Devices are on a node of the machine, and on one that it has not."""
    _all_on(conduct, (0, 63))


@fault("foreign-node", "topo-admits-under-policy", "topo-known-node")
def foreign_node(conduct: Conduct) -> None:
    """Devices are on a node that the machine has not."""
    _all_on(conduct, (63,))


@fault("empty-topology", "topo-empty-vs-nil")
def empty_topology(conduct: Conduct) -> None:
    """Devices have a topology without nodes."""
    _all_on(conduct, ())


@fault("some-placed", "topo-all-or-none")
def some_placed(conduct: Conduct) -> None:
    """One device has a node, the others have none."""
    good = conduct.devices

    def devices(resource: str) -> Devices:
        found = good(resource)
        _place(found[:1], 0)
        return found

    conduct.devices = devices


@fault("moving-nodes", "topo-stable")
def moving_nodes(conduct: Conduct) -> None:
    """The first list of a stream has all devices on one node, the next one on another."""
    good = conduct.lists

    def lists(resource: str, stream: Stream) -> Iterator[Devices]:
        yield _place(conduct.devices(resource), 1)
        for devices in good(resource, stream):
            yield _place(devices, 0)

    conduct.lists = lists
