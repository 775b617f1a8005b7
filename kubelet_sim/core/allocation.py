"""Devices for one container: which limits count, which ids are chosen, what is recorded.

A walk. It lets go exactly where the kubelet does: during Allocate and while the checkpoint is written. What happens in
between is seen by the next step, and only by it (DM-98).
"""

from __future__ import annotations

from collections.abc import Iterable

from kubelet_sim.core.books import AllocationRecord
from kubelet_sim.core.checkpoint import compose
from kubelet_sim.core.effects import CallAllocate, Walk, WriteCheckpoint, ask
from kubelet_sim.core.endpoint import Endpoint
from kubelet_sim.core.go_text import quoted
from kubelet_sim.core.reclaim import reclaim
from kubelet_sim.core.state import Context
from kubelet_sim.errors import AllocationFailed, CheckpointNotWritten, PluginFault
from kubelet_sim.model.ids import NO_NUMA_NODE, DeviceID, NumaNode, ResourceName
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.response import ContainerResponse


def allocating(context: Context, pod: Pod, container: Container) -> Walk[None]:
    """Allocate what the limits of one container ask for; requests are not looked at.

    What was done for an earlier resource stays done when a later one fails (DM-101).

    Raises:
        AllocationFailed: with one of the texts of DM-79.

    Rules: DM-82, DM-83, DM-84, DM-89, DM-100, DM-101
    Follows: allocateContainerResources
    """
    # Reuse between the containers of a pod is prepared here and settled after the loop, with admission. Rules: DM-86
    has_reclaimed = has_allocated = False
    for name in context.order.arrange("DM-89", container.limits):
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
    chosen = _choose(context, pod, container, resource)
    if not chosen:
        return False
    endpoint = context.state.endpoints.get(resource)
    if endpoint is None:
        context.state.books.recount()
        raise AllocationFailed(f"unknown Device Plugin {resource}", rule="DM-89")
    response = yield from _calling_allocate(context, endpoint, chosen)
    _record(context, pod, container, resource, chosen, response)
    return True


def _choose(context: Context, pod: Pod, container: Container, resource: ResourceName) -> tuple[DeviceID, ...]:
    """The ids to ask the plugin for, none if nothing is needed. The order of the checks is part of the contract.

    Rules: DM-58, DM-84, DM-90, DM-111, DM-113
    Follows: devicesToAllocate
    """
    state, required = context.state, container.limits[resource].value
    record = state.books.record(pod.uid, container.name, resource)
    have = record.ids if record else frozenset[DeviceID]()
    needed = required - len(have)
    if record is not None and needed != 0:
        who = f"pod {quoted(pod.uid)} container {quoted(container.name)}"
        text = f"{who} changed request for resource {quoted(resource)} from {len(have)} to {required}"
        raise AllocationFailed(text, rule="DM-90")
    if not state.sources_ready and (pod.uid, container.name) in state.running_at_start:
        context.say(
            "DM-90 DM-110", pod.key, f"{container.name} was running when the kubelet started: nothing to allocate"
        )
        return ()
    _check_health(context, resource, have)
    if needed == 0:
        context.say("DM-90 DM-112", pod.key, f"{container.name} has its devices of {resource} already: no call")
        return ()
    return _take(context, pod, container, resource, needed)


def _check_health(context: Context, resource: ResourceName, have: frozenset[DeviceID]) -> None:
    """Checks (3) to (5) of DM-90."""
    healthy = context.state.healthy.get(resource)
    if healthy is None:
        raise AllocationFailed(f"cannot allocate unregistered device {resource}", rule="DM-90")
    if not healthy:
        text = f"no healthy devices present; cannot allocate unhealthy devices {resource}"
        raise AllocationFailed(text, rule="DM-90")
    if not have <= healthy:
        text = f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {resource}"
        raise AllocationFailed(text, rule="DM-90")


def _take(
    context: Context, pod: Pod, container: Container, resource: ResourceName, needed: int
) -> tuple[DeviceID, ...]:
    """Steps (7) to (9) of DM-90 under topology policy none, where every device is one without affinity.

    Reusable devices come first, then the split by affinity and the plugin's preference: with admission (DM-87, DM-92).

    Rules: DM-83, DM-90, DM-91, DM-92
    """
    state = context.state
    in_use = state.books.know(resource)
    available = state.healthy[resource] - in_use
    if len(available) < needed:
        text = (
            f"requested number of devices unavailable for {resource}. Requested: {needed}, Available: {len(available)}"
        )
        raise AllocationFailed(text, rule="DM-90")
    if resource not in state.endpoints:
        # A preference would be asked for here; without an endpoint that fails, whatever its options. Rules: DM-61, DM-93
        raise AllocationFailed(f"endpoint not found in cache for a registered resource: {resource}", rule="DM-61")
    chosen = tuple(context.order.arrange("DM-92", available))[:needed]
    in_use.update(chosen)
    context.say(
        "DM-90 DM-92",
        pod.key,
        f"{container.name} gets {len(chosen)} of {len(available)} available devices of {resource}",
        chosen=list(chosen),
    )
    return chosen


def _calling_allocate(context: Context, endpoint: Endpoint, chosen: tuple[DeviceID, ...]) -> Walk[ContainerResponse]:
    """One Allocate call for the chosen ids, without retry. Its error goes to the pod as it is.

    After an error the ids are free again; after an answer without container response they are not (DM-99, DM-102).

    Rules: DM-46, DM-98, DM-99, DM-102
    """
    try:
        answer = yield from _through(endpoint, chosen)
    except PluginFault as failure:
        context.state.books.recount()
        raise AllocationFailed(str(failure), rule="DM-98") from failure
    if not answer.responses:
        context.warn("DM-99 DM-102", endpoint.resource, "no container response: the ids stay in use without an owner")
        raise AllocationFailed("no containers return in allocation response ", rule="DM-99")
    if len(answer.responses) > 1:
        context.warn(
            "DM-99", endpoint.resource, f"{len(answer.responses)} container responses; all but the first are ignored"
        )
    return answer.responses[0]


def _through(endpoint: Endpoint, chosen: tuple[DeviceID, ...]) -> Walk[AllocateAnswer]:
    """Call, or refuse locally: the kubelet prints a machine dump of its own structure then. Rules: DM-46"""
    if endpoint.client is None or endpoint.stopped_at_s is not None:
        dump = f"&{{{{{{}} {{0 0}}}} {endpoint.resource} <nil> {{0 0 <nil>}} <nil>}}"
        raise AllocationFailed(f"endpoint {dump} has been stopped", rule="DM-46")
    return (yield from ask(CallAllocate(endpoint.client, chosen)))


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
    free = record.ids - context.state.books.in_use.get(resource, set())
    twice = context.state.books.enter((pod.uid, container.name, resource), record)
    if free or twice:
        context.warn(
            "DM-97", pod.key, f"a reclaim during the call lost {len(free)} ids of {resource}: they count as free"
        )


def _by_numa(
    context: Context, resource: ResourceName, chosen: Iterable[DeviceID]
) -> dict[NumaNode, tuple[DeviceID, ...]]:
    """Ids by NUMA node; a device that is not listed any more is one without topology. Rules: DM-59, DM-100"""
    listed = context.state.devices.get(resource, {})
    groups: dict[NumaNode, list[DeviceID]] = {}
    for device_id in chosen:
        device = listed.get(device_id)
        if device is None:
            context.warn(
                "DM-59", resource, "a chosen device vanished during the call: a kubelet of this version crashes here"
            )
        for node in (device.numa_nodes if device else ()) or (NO_NUMA_NODE,):
            groups.setdefault(node, []).append(device_id)
    return {node: tuple(ids) for node, ids in groups.items()}


def _writing_checkpoint(context: Context) -> Walk[None]:
    """The only write whose failure is seen: it refuses the pod, while the records stay. Rules: DM-100, DM-136, CP-2"""
    try:
        yield from ask(WriteCheckpoint(compose(context.state, context.order)))
    except CheckpointNotWritten as failure:
        raise AllocationFailed(str(failure), rule="DM-100") from failure
