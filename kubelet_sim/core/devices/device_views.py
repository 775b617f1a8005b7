"""Two read-only looks at devices, for other parts of a kubelet, and both as entries of the pod resources API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kubelet_sim.core.ports import Order
from kubelet_sim.core.state import State
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import NO_NUMA_NODE, ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.pod_resources import DeviceEntry


def allocatable_devices(state: State, *, with_unhealthy: bool = False) -> dict[ResourceName, tuple[Device, ...]]:
    """Healthy devices as last listed, those in use included; by resource, sorted by id.

    Args:
        with_unhealthy: whether all that were listed count, as for the earliest kubelets that told of them.

    Rules: DM-71, DM-164, DM-166, PR-26
    Follows: GetAllocatableDevices
    """
    return {
        resource: tuple(
            device
            for name, device in sorted(listed.items())
            if with_unhealthy or name in state.healthy.get(resource, ())
        )
        for resource, listed in sorted(state.devices.items())
    }


def devices_of_container(
    state: State, pod: PodUID, container: ContainerName
) -> Mapping[ResourceName, Mapping[DeviceID, tuple[NumaNode, ...]]]:
    """The recorded ids with the NUMA nodes of the moment of allocation, −1 for none; nothing is said of health.

    Rules: DM-56, DM-71
    Follows: GetDevices
    """
    devices: dict[ResourceName, dict[DeviceID, tuple[NumaNode, ...]]] = {}
    for resource, record in state.allocations.of_container(pod, container).items():
        of_resource = devices.setdefault(resource, {})
        for node, ids in sorted(record.devices.items()):
            for device in ids:
                of_resource[device] = (*of_resource.get(device, ()), node)
    return devices


def device_entries(
    allocated: Mapping[ResourceName, Mapping[NumaNode, Sequence[DeviceID]]], order: Order
) -> tuple[DeviceEntry, ...]:
    """The record of one container as `List` and `Get` show it: an entry for each pair of a device and a NUMA node.

    A device without node has one entry without topology. Where a record has an id both without and with nodes, the order
    in which the kubelet comes by the nodes decides what is seen of them.

    Rules: DM-71, PR-21, PR-22, PR-23, PR-24
    Follows: getContainerDevices, containerDevicesFromResourceDeviceInstances
    """
    entries: list[DeviceEntry] = []
    for resource in order.arrange("PR-23", allocated):
        nodes_of: dict[DeviceID, tuple[NumaNode, ...] | None] = {}
        for node in order.arrange("PR-24", allocated[resource]):
            for device in allocated[resource][node]:
                nodes_of[device] = None if node == NO_NUMA_NODE else (*(nodes_of.get(device) or ()), node)
        for device in order.arrange("PR-23", nodes_of):
            entries += _per_node(resource, device, nodes_of[device])
    return tuple(entries)


def allocatable_entries(devices: Mapping[ResourceName, Sequence[Device]], order: Order) -> tuple[DeviceEntry, ...]:
    """What `GetAllocatableResources` shows of these devices: an entry for each pair of a device and a node, as listed.

    Nodes are passed on as the plugin gave them, −1 too. A topology without nodes makes a device vanish.

    Rules: DM-71, PR-23, PR-25
    Follows: containerDevicesFromResourceDeviceInstances
    """
    entries: list[DeviceEntry] = []
    for resource in order.arrange("PR-23", devices):
        topologies = {device.id: device.topology for device in devices[resource]}
        for device in order.arrange("PR-23", topologies):
            entries += _per_node(resource, device, topologies[device])
    return tuple(entries)


def _per_node(resource: ResourceName, device: DeviceID, nodes: tuple[NumaNode, ...] | None) -> Iterable[DeviceEntry]:
    if nodes is None:
        return (DeviceEntry(resource, (device,)),)
    return (DeviceEntry(resource, (device,), (node,)) for node in nodes)
