"""Two read-only looks at devices, for other parts of a kubelet."""

from __future__ import annotations

from collections.abc import Mapping

from kubelet_sim.core.state import State
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, PodUID, ResourceName


def allocatable_devices(state: State) -> dict[ResourceName, tuple[Device, ...]]:
    """Healthy devices as last listed, those in use included; by resource, sorted by id.

    Rules: DM-71
    Follows: GetAllocatableDevices
    """
    return {
        resource: tuple(listed[device] for device in sorted(state.healthy.get(resource, ())) if device in listed)
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
    for resource, record in state.books.of_container(pod, container).items():
        of_resource = devices.setdefault(resource, {})
        for node, ids in sorted(record.devices.items()):
            for device in ids:
                of_resource[device] = (*of_resource.get(device, ()), node)
    return devices
