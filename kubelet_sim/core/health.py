"""Device health as the pod's status shows it (`allocatedResourcesStatus`). It has no effect on anything else."""

from __future__ import annotations

from collections.abc import Mapping

from kubelet_sim.core.state import State
from kubelet_sim.model.device import HEALTHY, UNHEALTHY
from kubelet_sim.model.ids import ContainerName, DeviceID, ResourceName
from kubelet_sim.model.pod import Pod

ContainerHealth = Mapping[ResourceName, Mapping[DeviceID, str]]


def allocated_resources_status(state: State, pod: Pod) -> dict[ContainerName, ContainerHealth]:
    """Health by app container, resource and id, for what is recorded; empty for a container without a record.

    Init containers and sidecars are left out. An id that is not listed any more counts as healthy, and a plugin that is
    gone changes nothing: only what was sent last counts.

    Rules: DM-155, DM-156
    Follows: UpdateAllocatedResourcesStatus
    """
    return {
        container.name: {
            resource: {device: health_of(state, resource, device) for device in sorted(record.ids)}
            for resource, record in sorted(state.books.of_container(pod.uid, container.name).items())
        }
        for container in pod.containers
    }


def health_of(state: State, resource: ResourceName, device_id: DeviceID) -> str:
    """`Healthy` or `Unhealthy`, as the pod's status calls a device. Rules: DM-156"""
    device = state.devices.get(resource, {}).get(device_id)
    return HEALTHY if device is None or device.is_healthy else UNHEALTHY
