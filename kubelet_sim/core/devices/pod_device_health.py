"""Device health as the pod's status shows it (`allocatedResourcesStatus`), and which pods are told of a change.

It has no effect on anything else: no restart, no eviction, no scheduling (DM-160).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubelet_sim.core.state import Context, State
from kubelet_sim.model.device import HEALTHY, UNHEALTHY, Device
from kubelet_sim.model.ids import ContainerName, DeviceID, PodUID, ResourceName
from kubelet_sim.model.pod import Pod
from kubelet_sim.profiles import HealthNotices

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
            for resource, record in sorted(state.allocations.of_container(pod.uid, container.name).items())
        }
        for container in pod.containers
    }


def health_of(state: State, resource: ResourceName, device_id: DeviceID) -> str:
    """`Healthy` or `Unhealthy`, as the pod's status calls a device. Rules: DM-156"""
    device = state.devices.get(resource, {}).get(device_id)
    return HEALTHY if device is None or device.is_healthy else UNHEALTHY


def pods_to_notify(context: Context, before: Mapping[DeviceID, Device], listed: Iterable[Device]) -> tuple[PodUID, ...]:
    """The pods whose status a message about one resource brings up to date at once; each once, in an open order.

    An id counts if its health is another word than before, or if it was not in the message before, as after a start of
    the kubelet. Ids that vanish do not. For each id one pod is found, by the id alone: with equal ids in several
    resources it may be one that holds the other resource's device.

    Args:
        before: the device table that the message replaces.
        listed: the message, duplicates included: each entry is compared.

    Rules: DM-55, DM-154, DM-157, DM-160
    Follows: genericDeviceUpdateCallback, getPodAndContainerForDevice
    """
    if context.profile.health_notices is HealthNotices.NEVER:
        return ()
    changed = [device.id for device in listed if (was := before.get(device.id)) is None or was.health != device.health]
    holders = _holders(context.state, frozenset(changed))
    found = {context.order.arrange("DM-157", holders[device_id])[0] for device_id in changed if device_id in holders}
    return tuple(context.order.arrange("DM-157", found))


def _holders(state: State, devices: frozenset[DeviceID]) -> dict[DeviceID, set[PodUID]]:
    """The pods that have a device of that id recorded, whatever the resource; only ids that somebody has."""
    holders: dict[DeviceID, set[PodUID]] = {}
    if devices:
        for (pod, _, _), record in state.allocations:
            for device_id in record.ids & devices:
                holders.setdefault(device_id, set()).add(pod)
    return holders
