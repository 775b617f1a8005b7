"""Devices for one container: which limits count, what is asked of the plugin, what is recorded.

A walk. It lets go exactly where the kubelet does: during calls to plugins and while the checkpoint is written. What happens in
between is seen by the next step, and only by it (DM-98).
"""

from __future__ import annotations

from collections.abc import Iterable

from kubelet_sim.core.devices.allocations import AllocationRecord
from kubelet_sim.core.devices.device_checkpoint import compose
from kubelet_sim.core.devices.device_selection import choosing
from kubelet_sim.core.devices.endpoint import Endpoint, live_client
from kubelet_sim.core.devices.reclaim import reclaim
from kubelet_sim.core.effects import CallAllocate, Walk, WriteCheckpoint, ask
from kubelet_sim.core.kubelet.sidecars import kind_for_reuse
from kubelet_sim.core.state import Context
from kubelet_sim.errors import AllocationFailed, CheckpointNotWritten, PluginFault
from kubelet_sim.model.ids import DeviceID, NumaNode, ResourceName
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.response import ContainerResponse

_EMPTY_ANSWER = "&AllocateResponse{ContainerResponses:[]*ContainerAllocateResponse{},}"
"""How the older protobuf library of the kubelet prints an empty answer. Rules: DM-99, DM-177"""


def allocating(context: Context, pod: Pod, container: Container) -> Walk[None]:
    """Allocate to one container, and settle what it hands on to the containers after it.

    A failure leaves the reuse table as it was. Only one allocation at a time, or the table would be another pod's at the
    end: admissions and late allocations take turns (DM-86).

    Raises:
        AllocationFailed: with one of the texts of DM-79.

    Rules: DM-86, DM-87, DM-88, TM-59
    Follows: Allocate
    """
    state = context.state
    state.reuse.begin(pod.uid)
    yield from _allocating_limits(context, pod, container)
    kind = kind_for_reuse(context.profile, container)
    state.reuse.settle(kind, state.allocations.of_container(pod.uid, container.name))


def _allocating_limits(context: Context, pod: Pod, container: Container) -> Walk[None]:
    """Allocate what the limits of one container ask for; requests are not looked at.

    What was done for an earlier resource stays done when a later one fails (DM-101).

    Rules: DM-82, DM-83, DM-84, DM-85, DM-89, DM-100, DM-101
    Follows: allocateContainerResources
    """
    has_reclaimed = has_allocated = False
    for name in context.order.arrange("DM-89", container.limits):
        if context.profile.skips_claimed_limits and name in container.claimed:
            context.say("DM-85", pod.key, f"{container.name} has {name} by a resource claim: not allocated here")
            continue
        if not context.state.is_device_plugin_resource(name):
            continue
        if not has_reclaimed:
            reclaim(context)
            has_reclaimed = True
        has_allocated |= yield from _allocating_resource(context, pod, container, ResourceName(name))
    if has_allocated:
        yield from _writing_checkpoint(context)


def _allocating_resource(context: Context, pod: Pod, container: Container, resource: ResourceName) -> Walk[bool]:
    """Choose, call and record for one resource; answers whether anything was newly allocated. Rules: DM-89"""
    chosen = yield from choosing(context, pod, container, resource)
    if not chosen:
        return False
    endpoint = context.state.endpoints.get(resource)
    if endpoint is None:
        context.state.allocations.recount()
        raise AllocationFailed(f"unknown Device Plugin {resource}", rule="DM-89")
    response = yield from _calling_allocate(context, endpoint, chosen)
    _record(context, pod, container, resource, chosen, response)
    return True


def _calling_allocate(context: Context, endpoint: Endpoint, chosen: tuple[DeviceID, ...]) -> Walk[ContainerResponse]:
    """One Allocate call for the chosen ids, without retry. Its error goes to the pod as it is.

    After an error the ids are free again; after an answer without container response they are not (DM-99, DM-102).

    Rules: DM-46, DM-98, DM-99, DM-102
    """
    try:
        answer = yield from ask(CallAllocate(live_client(endpoint), chosen))
    except PluginFault as failure:
        context.state.allocations.recount()
        raise AllocationFailed(str(failure), rule="DM-98") from failure
    if not answer.responses:
        context.warn(
            "DM-99 DM-102", endpoint.resource, "no container response: newly chosen ids stay in use, unrecorded"
        )
        shown = "" if context.profile.no_response_text_is_empty else _EMPTY_ANSWER
        raise AllocationFailed(f"no containers return in allocation response {shown}", rule="DM-99")
    if len(answer.responses) > 1:
        context.warn(
            "DM-99", endpoint.resource, f"{len(answer.responses)} container responses; all but the first are ignored"
        )
    return answer.responses[0]


def _record(
    context: Context,
    pod: Pod,
    container: Container,
    resource: ResourceName,
    chosen: tuple[DeviceID, ...],
    response: ContainerResponse,
) -> None:
    """Enter the allocation, by the topology known now, after the call. Rules: DM-59, DM-100"""
    devices = _by_numa(context, resource, chosen)
    record = AllocationRecord(devices, response)
    free = record.ids - context.state.allocations.in_use.get(resource, set())
    twice = context.state.allocations.enter((pod.uid, container.name, resource), record)
    if free or twice:
        text = f"a reclaim during a call lost {len(free)} ids of {resource}: they count as free"
        context.warn("DM-97", pod.key, text)


def _by_numa(
    context: Context, resource: ResourceName, chosen: Iterable[DeviceID]
) -> dict[NumaNode, tuple[DeviceID, ...]]:
    """Ids by NUMA node; a device that is not listed any more is one without topology.

    Rules: DM-59, DM-100, DM-163, DM-166, TM-68
    """
    listed = context.state.devices.get(resource, {})
    nowhere = NumaNode(context.profile.numa_node_of_no_topology)
    groups: dict[NumaNode, list[DeviceID]] = {}
    for device_id in chosen:
        device = listed.get(device_id)
        if device is None:
            crashes = context.profile.vanished_device_crashes
            what = "a kubelet of this version crashes here" if crashes else "it is recorded as one without topology"
            context.warn("DM-59", resource, f"a chosen device vanished during the call: {what}")
        for node in (device.numa_nodes if device else ()) or (nowhere,):
            groups.setdefault(node, []).append(device_id)
    return {node: tuple(ids) for node, ids in groups.items()}


def _writing_checkpoint(context: Context) -> Walk[None]:
    """The only write whose failure is seen: it refuses the pod, while the records stay. Rules: DM-100, DM-136, CP-2"""
    try:
        yield from ask(WriteCheckpoint(compose(context.state, context.order)))
    except CheckpointNotWritten as failure:
        raise AllocationFailed(str(failure), rule="DM-100") from failure
