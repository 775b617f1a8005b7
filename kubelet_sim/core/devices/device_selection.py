"""Which devices a container gets: reusable ones first, then by affinity and by what the plugin prefers.

A walk, because a plugin may be asked. While it is, the kubelet lets its lock go; what it has chosen by then stays chosen,
what it knew of devices stays known (DM-97).
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet

from attrs import define, field

from kubelet_sim.core.devices.affinity_split import Split, partition
from kubelet_sim.core.devices.available_devices import FreeIds
from kubelet_sim.core.devices.endpoint import live_client
from kubelet_sim.core.effects import CallGetPreferredAllocation, Walk, ask
from kubelet_sim.core.go_text import quoted
from kubelet_sim.core.kubelet.runtime_at_start import ran_at_start
from kubelet_sim.core.state import Context
from kubelet_sim.core.topology.masks import Mask
from kubelet_sim.errors import AllocationFailed, RpcFailed
from kubelet_sim.model.ids import NO_NUMA_NODE, DeviceID, ResourceName
from kubelet_sim.model.pod import Container, Pod


@define
class _Taking:
    """Ids being taken for one container, each in use from the moment it is taken. Rules: DM-92, TM-66"""

    _context: Context
    _resource: ResourceName
    needed: int
    taken: list[DeviceID] = field(factory=list)
    free: FreeIds | None = None
    """What was free when the choice began, less what is taken; a plugin's answer finds it so, whatever came between."""

    def take(self, ids: Collection[DeviceID], rule: str) -> None:
        """As many as are still needed, of those not taken yet. Taking none makes the name known all the same (DM-83)."""
        allocations = self._context.state.allocations
        allocations.know(self._resource)
        left = ids if ids is self.free else frozenset(ids).difference(self.taken)
        wanted = self._context.order.arrange(rule, left)[: self.needed]
        for device in wanted:
            allocations.take(self._resource, device)
            if self.free is not None:
                self.free.take(device)
        self.taken.extend(wanted)
        self.needed -= len(wanted)


def choosing(context: Context, pod: Pod, container: Container, resource: ResourceName) -> Walk[tuple[DeviceID, ...]]:
    """The ids to ask the plugin for, none if nothing is needed. The order of the checks is part of the contract.

    Raises:
        AllocationFailed: with one of the texts of DM-79.

    Rules: DM-58, DM-84, DM-90, DM-111, DM-113, DM-163, DM-168, TM-61, TM-62, TM-63
    Follows: devicesToAllocate
    """
    state, required = context.state, container.limits[resource].value
    record = state.allocations.record(pod.uid, container.name, resource)
    have = record.ids if record else frozenset[DeviceID]()
    needed = required - len(have)
    if record is not None and needed != 0:
        who = f"pod {quoted(pod.uid)} container {quoted(container.name)}"
        text = f"{who} changed request for resource {quoted(resource)} from {len(have)} to {required}"
        raise AllocationFailed(text, rule="DM-90")
    spares = context.profile.spares_running_containers and not state.sources_ready
    if spares and ran_at_start(context, pod.uid, container.name):
        context.say(
            "DM-90 DM-110", pod.key, f"{container.name} was running when the kubelet started: nothing to allocate"
        )
        return ()
    if needed or context.profile.checks_device_health:  # Before, a container with all it needs was let through unseen.
        _check_health(context, resource, have)
    if needed == 0:
        context.say("DM-90 DM-112", pod.key, f"{container.name} has its devices of {resource} already: no call")
        return ()
    taking = _Taking(context, resource, needed)
    reusable = state.reuse.of(pod.uid, resource)
    taking.take(reusable, "DM-90")
    if taking.taken:
        _say(
            context,
            pod,
            container,
            "DM-87",
            f"takes over {len(taking.taken)} of {resource} from an init container",
            taking,
        )
    if taking.needed:
        yield from _taking_free_ones(context, pod, container, taking, resource)
    return tuple(taking.taken)


def _check_health(context: Context, resource: ResourceName, have: frozenset[DeviceID]) -> None:
    """Checks (3) to (5) of DM-90; before patches of 1.25 there was only the first of them. Rules: DM-90, DM-163, DM-168"""
    healthy = context.state.healthy.get(resource)
    if healthy is None:
        raise AllocationFailed(f"{context.profile.unregistered_text} {resource}", rule="DM-90")
    if not context.profile.checks_device_health:
        return
    if not healthy:
        text = f"no healthy devices present; cannot allocate unhealthy devices {resource}"
        raise AllocationFailed(text, rule="DM-90")
    if not have <= healthy:
        text = f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {resource}"
        raise AllocationFailed(text, rule="DM-90")


def _taking_free_ones(
    context: Context, pod: Pod, container: Container, taking: _Taking, resource: ResourceName
) -> Walk[None]:
    """Steps (8) and (9) of DM-90: enough must be free; those are split by affinity, and taken in that order.

    Rules: DM-90, DM-92, DM-95, DM-198, TM-63, TM-66, TM-67
    """
    state, required = context.state, container.limits[resource].value
    available = taking.free = state.allocations.free(resource, state.healthy[resource])
    if len(available) < taking.needed:
        requested = f"Requested: {taking.needed}, Available: {len(available)}"
        raise AllocationFailed(f"requested number of devices unavailable for {resource}. {requested}", rule="DM-90")
    available_count = len(available)
    affinity = state.affinities.of(pod.uid, container.name).mask
    split = _split(context, resource, available, affinity)
    told = _told(split, available_count)
    if taking.needed < len(split.aligned):
        preferred = yield from _asking_preference(context, resource, split.aligned, taking, required)
        taking.take(preferred & split.aligned, "DM-92")
        taking.take(split.aligned, "DM-92")
    else:
        taking.take(split.aligned, "DM-92")
        if taking.needed:
            preferred = yield from _asking_preference(context, resource, available, taking, required)
            taking.take(preferred & available, "DM-92")
            taking.take(split.unaligned, "DM-92")
            taking.take(split.no_affinity, "DM-92")
    _say(
        context,
        pod,
        container,
        "DM-90 DM-91 DM-92",
        f"gets {required} of {resource}: {told}",
        taking,
    )
    if taking.needed:
        got = f"Requested: {required}, Got: {len(taking.taken)}"
        raise AllocationFailed(f"unexpectedly allocated less resources than required. {got}", rule="DM-92")


def _asking_preference(
    context: Context, resource: ResourceName, free: AbstractSet[DeviceID], taking: _Taking, size: int
) -> Walk[frozenset[DeviceID]]:
    """What the plugin would rather have, as a set; nothing if it is not to be asked. Its error is the pod's end.

    What was taken before stays in use after an error (DM-102).

    Rules: DM-61, DM-93, DM-94, DM-95, DM-96, DM-97
    Follows: callGetPreferredAllocationIfAvailable
    """
    endpoint = context.state.endpoints.get(resource)
    if endpoint is None:
        raise AllocationFailed(f"endpoint not found in cache for a registered resource: {resource}", rule="DM-93")
    if endpoint.options is None or not endpoint.options.get_preferred_allocation_available:
        return frozenset()
    arrange, available = context.order.arrange, frozenset(free).union(taking.taken)
    available_ids, must_include = tuple(arrange("DM-94", available)), tuple(arrange("DM-94", taking.taken))
    try:
        call = CallGetPreferredAllocation(live_client(endpoint), available_ids, must_include, size)
        answer = yield from ask(call)
    except (RpcFailed, AllocationFailed) as failure:
        leaked = context.state.allocations.unrecorded().intersection((resource, device) for device in taking.taken)
        if leaked:
            text = f"{len(leaked)} ids that were chosen before the error stay in use without an owner"
            context.warn("DM-96 DM-102", resource, text)
        text = f"device plugin GetPreferredAllocation rpc failed with err: {failure}"
        raise AllocationFailed(text, rule="DM-96") from failure
    if context.profile.recount_while_asked_crashes and resource not in context.state.allocations.in_use:
        text = "devices were recounted while the plugin was asked: a kubelet of this version crashes here"
        context.warn("DM-97 DM-173", resource, text)
    ignored = frozenset(answer) - available
    if ignored:
        shown = ", ".join(arrange("DM-95", ignored))
        context.warn("DM-95", resource, f"the plugin prefers ids that were not offered, which are ignored: {shown}")
    return frozenset(answer)


def _split(context: Context, resource: ResourceName, available: AbstractSet[DeviceID], affinity: Mask | None) -> Split:
    """The split by affinity; before 1.23 each device was filed under one of its nodes, in an open order.

    Rules: DM-91, DM-166, DM-169
    """
    listed, profile = context.state.devices.get(resource, {}), context.profile
    if profile.any_matching_node_aligns:
        return partition(available, listed, affinity)
    nodes = {node for device in available if device in listed for node in listed[device].numa_nodes}
    return partition(available, listed, affinity, filed=context.order.arrange("DM-166", {*nodes, NO_NUMA_NODE}))


def _told(split: Split, available_count: int) -> str:
    if len(split.no_affinity) == available_count:
        return f"{available_count} free, none bound to the affinity"
    parts = len(split.aligned), len(split.unaligned), len(split.no_affinity)
    return "{} free and aligned, {} unaligned, {} without affinity".format(*parts)


def _say(context: Context, pod: Pod, container: Container, rules: str, text: str, taking: _Taking) -> None:
    context.say(rules, pod.key, f"{container.name} {text}", chosen=list(taking.taken))
