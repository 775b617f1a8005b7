"""The hints of the device manager: which NUMA nodes could serve a container's, or a pod's, devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil

from attrs import frozen

from kubelet_sim.core.devices.affinity_split import has_topology
from kubelet_sim.core.devices.reclaim import reclaim
from kubelet_sim.core.kubelet.pod_requests import effective_amounts
from kubelet_sim.core.state import Context
from kubelet_sim.core.topology.hints import Hint, HintsByResource
from kubelet_sim.core.topology.masks import Mask, subsets, touching, width
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, ResourceName
from kubelet_sim.model.pod import Container, Pod


def container_hints(context: Context, pod: Pod, container: Container) -> HintsByResource:
    """Hints for each device plugin resource among the limits; a limit of 0 counts.

    Rules: DM-119, TM-51, TM-52, TM-53, TM-55
    Follows: GetTopologyHints
    """
    reclaim(context)

    def held(resource: ResourceName) -> frozenset[DeviceID]:
        record = context.state.allocations.record(pod.uid, container.name, resource)
        return record.ids if record else frozenset()

    wanted = {name: quantity.value for name, quantity in container.limits.items()}
    return _hints(context, wanted, held, lambda resource: context.state.reuse.of(pod.uid, resource))


def pod_hints(context: Context, pod: Pod) -> HintsByResource:
    """Hints for the pod's limits as a whole; what init containers would hand over is not looked at.

    What is recorded for the pod counts whether or not the pod still has such a container.

    Rules: DM-119, TM-51, TM-54, TM-55, TM-60
    Follows: GetPodTopologyHints
    """
    reclaim(context)

    def held(resource: ResourceName) -> frozenset[DeviceID]:
        return context.state.allocations.ids_of_pod(pod.uid, resource)

    limits = effective_amounts(pod, lambda container: container.limits)
    wanted = {name: ceil(amount) for name, amount in limits.items()}
    return _hints(context, wanted, held, lambda _: frozenset())


def _hints(
    context: Context,
    wanted: Mapping[str, int],
    held: Callable[[ResourceName], frozenset[DeviceID]],
    reusable: Callable[[ResourceName], frozenset[DeviceID]],
) -> HintsByResource:
    return {
        name: _resource_hints(
            context, ResourceName(name), count, held(ResourceName(name)), reusable(ResourceName(name))
        )
        for name, count in wanted.items()
        if context.state.is_device_plugin_resource(name)
    }


def _resource_hints(
    context: Context,
    resource: ResourceName,
    count: int,
    held: frozenset[DeviceID],
    reusable: frozenset[DeviceID],
) -> Sequence[Hint] | None:
    """`None`: no device has a node. Empty: impossible. Rules: DM-119, DM-169, TM-55, TM-57"""
    state = context.state
    listed = state.devices.get(resource, {})
    if not has_topology(listed.values(), empty_counts=context.profile.empty_topology_is_impossible):
        return None
    if held:
        if len(held) != count:
            return ()
        return _generated(context, resource, count, _Pool(held, frozenset()))
    available = frozenset(state.healthy.get(resource, set()) - state.allocations.in_use.get(resource, set()))
    if len(available | reusable) < count:
        return ()
    return _generated(context, resource, count, _Pool(available, reusable))


@frozen
class _Pool:
    available: frozenset[DeviceID]
    reusable: frozenset[DeviceID]


def _generated(context: Context, resource: ResourceName, count: int, pool: _Pool) -> Sequence[Hint]:
    """Every subset of nodes that could serve the request, those of the smallest size any could be are preferred.

    The devices are counted once by the nodes they touch; each subset then looks at those counts only.

    Rules: DM-59, DM-120, TM-56, TM-58
    Follows: generateDeviceTopologyHints
    """
    listed = context.state.devices[resource]
    nodes = _candidate_nodes(context, listed.values())
    everything = _by_nodes(listed.values())
    available = _by_nodes(listed[device] for device in pool.available if device in listed)
    reusable = _by_nodes(
        listed[device] for device in pool.reusable if device in listed and listed[device].topology is not None
    )
    _warn_of_vanished(context, resource, pool.available | pool.reusable, listed)
    preferred_size, fitting = len(nodes), []
    for mask in subsets(nodes):
        if width(mask) < preferred_size and _touching(everything, mask) >= count:
            preferred_size = width(mask)
        if all(mask & of for of in reusable) and reusable.total() + _touching(available, mask) >= count:
            fitting.append(mask)
    return [Hint(mask, is_preferred=width(mask) == preferred_size) for mask in fitting]


def _candidate_nodes(context: Context, devices: Iterable[Device]) -> Sequence[int]:
    """Nodes with a device of the resource that the kubelet knows; if there is none, or before 1.35, all that it knows.

    Rules: DM-120, DM-178, TM-56
    """
    known = context.numa_nodes
    if not context.profile.hints_on_device_nodes_only:
        return known
    hosting = {node for device in devices for node in device.numa_nodes}
    return sorted(node for node in known if node in hosting) or known


def _by_nodes(devices: Iterable[Device]) -> Counter[Mask]:
    """How many devices lie on just these nodes."""
    return Counter(touching(device.numa_nodes) for device in devices)


def _touching(counts: Mapping[Mask, int], mask: Mask) -> int:
    return sum(count for of, count in counts.items() if of & mask)


def _warn_of_vanished(
    context: Context, resource: ResourceName, ids: frozenset[DeviceID], listed: Mapping[DeviceID, Device]
) -> None:
    """Such a device counts as one without nodes; a kubelet since 1.34 crashes. Rules: DM-59, TM-58"""
    vanished = ids - listed.keys()
    if vanished:
        crashes = context.profile.vanished_device_crashes
        what = "a kubelet of this version crashes here" if crashes else "they count as devices without topology"
        context.warn("DM-59 TM-58", resource, f"{len(vanished)} devices that are not listed any more: {what}")
