"""Whether a pod fits the node object, after its devices have been allocated: the order is this way round (DM-72)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from operator import is_

from attrs import evolve

from kubelet_sim.core.kubelet.pod_requests import requested
from kubelet_sim.core.state import Context
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.resource_name import is_extended_resource_name
from kubelet_sim.profiles import Profile


def fits(context: Context, pod: Pod) -> Admission:
    """Hold the pod against the node as last computed, which may be ten seconds old.

    Requests for extended resources that the node does not list are dropped: such a pod runs without the device (DM-81).
    Up to 1.30 those of init containers are not. Requests that a claim serves are dropped since 1.36.

    Rules: DM-65, DM-72, DM-80, DM-81, DM-174, DM-179
    Follows: predicateAdmitHandler.Admit, removeMissingExtendedResources, fitsRequest
    """
    allocatable = _allocatable(context, pod.uid)
    active = context.state.active_pods
    wanted = _wanted(context, pod, allocatable)
    other_count, used = len(active) - (pod.uid in active), active.requested_besides(pod.uid)
    if other_count + 1 > allocatable.get("pods", 0):
        return _shortage("pods", 1, other_count, allocatable.get("pods", 0))
    for name in _in_order(context, wanted):
        room = allocatable.get(name, 0) - used.get(name, 0)
        if wanted[name] > room:
            return _shortage(name, wanted[name], used.get(name, 0), allocatable.get(name, 0))
    return Admitted()


def _wanted(context: Context, pod: Pod, listed: Collection[str]) -> Mapping[str, int]:
    """What counts of the pod's requests: for nearly every pod all of them, which are summed already. Rules: DM-80"""
    active = context.state.active_pods
    counting = _without_dropped(context.profile, pod, listed)
    return active.requested(pod.uid) if counting is pod and active.get(pod.uid) is pod else requested(counting)


def _without_dropped(profile: Profile, pod: Pod, listed: Collection[str]) -> Pod:
    """The pod without the requests that do not count; the pod itself if all do. Rules: DM-80, DM-174, DM-179"""

    def counts(container: Container, name: str, *, is_dropped: bool) -> bool:
        if profile.predicates_skip_claimed and name in container.claimed:
            return False
        return not is_dropped or name in listed or not is_extended_resource_name(name)

    def without(container: Container, *, is_dropped: bool) -> Container:
        kept = {name: q for name, q in container.requests.items() if counts(container, name, is_dropped=is_dropped)}
        return container if len(kept) == len(container.requests) else evolve(container, requests=kept)

    for_init = profile.unlisted_resources_dropped_for_init
    init = tuple(without(container, is_dropped=for_init) for container in pod.init_containers)
    apps = tuple(without(container, is_dropped=True) for container in pod.containers)
    if all(map(is_, (*init, *apps), (*pod.init_containers, *pod.containers))):
        return pod
    return evolve(pod, init_containers=init, containers=apps)


def _shortage(name: str, wanted: int, used: int, capacity: int) -> Rejected:
    text = f"Node didn't have enough resource: {name}, requested: {wanted}, used: {used}, capacity: {capacity}"
    return Rejected(f"OutOf{name}", text)


def _allocatable(context: Context, uid: PodUID) -> dict[str, int]:
    """The node's, in a copy; raised to what is in use if the pod holds devices. Rules: DM-80"""
    allocations = context.state.allocations
    amounts = dict(context.state.node.counts)
    if uid in allocations.pods():
        for resource, devices in allocations.in_use.items():
            amounts[resource] = max(amounts.get(resource, 0), len(devices))
    return amounts


def _in_order(context: Context, wanted: Mapping[str, int]) -> Iterator[str]:
    """First the node's own resources, then the others in any order. Only the first shortage is told. Rules: DM-80"""
    own = ("cpu", "memory", "ephemeral-storage")
    yield from (name for name in own if wanted.get(name))
    yield from context.order.arrange("DM-80", (n for n in wanted if n not in own and n != "pods" and wanted[n]))
