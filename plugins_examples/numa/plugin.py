"""The plugin: says on which NUMA node each device is, and which devices go well together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plugins_examples.chassis.devices import Device
from plugins_examples.chassis.plugin import Plugin, with_nodes
from plugins_examples.numa.packing import pack
from plugins_examples.pb import api_pb2


class Numa(Plugin):
    """Pretended devices, a number of them on each NUMA node."""

    def __init__(self, resource: str, counts: Mapping[int, int]) -> None:
        super().__init__(resource)
        self._node_of = {f"node{node}-{number}": node for node, count in counts.items() for number in range(count)}

    def devices(self) -> Sequence[Device]:
        """With the topology, from which the kubelet makes its hints."""
        return tuple(Device(each, numa_nodes=(node,)) for each, node in self._node_of.items())

    def options(self) -> api_pb2.DevicePluginOptions:
        """Without this, `prefer` is never called."""
        return api_pb2.DevicePluginOptions(get_preferred_allocation_available=True)

    def prefer(self, available: Sequence[str], must_include: Sequence[str], size: int) -> Sequence[str]:
        """As few NUMA nodes as possible. An advice: the kubelet may do otherwise, and Allocate says what it did."""
        return pack(available, must_include, size, self._node_of)

    def allocate(self, ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        """The devices, and the NUMA nodes on which a program had best keep its memory."""
        nodes = sorted({self._node_of[each] for each in ids})
        envs = {"NUMA_DEVICES": ",".join(ids), "NUMA_NODES": ",".join(map(str, nodes))}
        return with_nodes(api_pb2.ContainerAllocateResponse(envs=envs), ids)
