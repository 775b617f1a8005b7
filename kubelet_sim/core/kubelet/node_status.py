"""Capacity and allocatable: what the device manager answers, and the node object that comes of it."""

from __future__ import annotations

from kubelet_sim.core.devices.device_checkpoint import compose
from kubelet_sim.core.devices.endpoint import expired, grace_period_is_over
from kubelet_sim.core.effects import WriteCheckpoint
from kubelet_sim.core.facts import Applied, StatusRoundDue
from kubelet_sim.core.state import Context, State
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.node import CapacityAnswer, NodeObject, NodeStatusRound
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.resource_name import is_extended_resource_name


def status_round(context: Context, fact: StatusRoundDue) -> Applied[NodeStatusRound]:
    """Compute capacity, remove what has been gone too long, and compute the node object from both.

    This is the only place where a resource is removed: without rounds nothing expires (DM-47).

    Rules: DM-47, DM-62, DM-63, DM-65, DM-70
    Follows: GetCapacity, MachineInfo
    """
    state = context.state
    answer = _answer(state, fact.at_s)
    for resource in answer.deleted:
        # Neither the device table nor the allocations are touched. Rules: DM-47
        endpoint = state.endpoints.pop(resource, None)
        if endpoint is not None:
            expired(endpoint)
            if endpoint.client is not None and endpoint.client not in state.streams:
                state.forget_client(endpoint.client)
        state.healthy.pop(resource, None)
        state.unhealthy.pop(resource, None)
        context.warn("DM-47 DM-62", resource, "its plugin was gone for more than 5 minutes: the resource is removed")
    before = state.node
    if fact.is_stored:
        state.node = _next_node_object(context, answer)
    else:
        context.warn(
            "DM-67", "node", "the API server refuses the node status: what this computation said of it is lost"
        )
    if before != state.node:
        context.say("DM-64 DM-65", "node", _describe(state.node))
    writes = (WriteCheckpoint(compose(state, context.order)),) if answer.deleted else ()
    return Applied(NodeStatusRound(answer, state.node), writes)


def registered(node: NodeObject, *, is_new: bool) -> NodeObject:
    """The node object once a kubelet has told of itself whose device manager has not started yet.

    Args:
        node: as the API server had it.
        is_new: whether the device manager takes the node for a new one: extended resources are 0 then. Otherwise it mentions
            none, so that each keeps its capacity and is allocatable in full.

    Rules: DM-64, DM-68
    Follows: reconcileExtendedResource
    """
    zero = Quantity.of(0)
    capacity = {
        name: zero if is_new and is_extended_resource_name(name) else quantity
        for name, quantity in node.capacity.items()
    }
    return NodeObject(capacity, capacity)


def _answer(state: State, at_s: float) -> CapacityAnswer:
    """Healthy devices count twice, in capacity and in allocatable; devices in use play no role. Rules: DM-50, DM-62"""
    capacity: dict[ResourceName, int] = {}
    allocatable: dict[ResourceName, int] = {}
    gone = {name for name in (*state.healthy, *state.unhealthy) if _is_gone(state, name, at_s)}
    for resource, healthy in state.healthy.items():
        if resource not in gone:
            capacity[resource] = allocatable[resource] = len(healthy)
    for resource, unhealthy in state.unhealthy.items():
        if resource not in gone:
            capacity[resource] = capacity.get(resource, 0) + len(unhealthy)
    return CapacityAnswer(capacity, allocatable, tuple(sorted(gone)))


def _is_gone(state: State, resource: ResourceName, at_s: float) -> bool:
    """No endpoint counts as gone as well; one that came back has no sets until its first list. Rules: DM-49, DM-61, DM-62"""
    endpoint = state.endpoints.get(resource)
    return endpoint is None or grace_period_is_over(endpoint, at_s)


def _next_node_object(context: Context, answer: CapacityAnswer) -> NodeObject:
    """The node object after this round, on top of the one before it. Rules: DM-64, DM-66, DM-67, DM-69

    A resource that the device manager does not mention keeps its capacity, and its allocatable becomes as much: that is
    how a zero stays for ever, and how a zero that was never stored turns into the old number again (DM-67).
    """
    before = context.state.node
    capacity = {**before.capacity, **context.machine}
    capacity.update({resource: Quantity.of(count) for resource, count in answer.capacity.items()})
    capacity.update({resource: Quantity.of(0) for resource in answer.deleted})
    allocatable = {
        name: quantity
        for name, quantity in before.allocatable.items()
        if name in capacity or not is_extended_resource_name(name)
    }
    allocatable.update(capacity)  # Nothing is reserved on an emulated machine.
    allocatable.update({resource: Quantity.of(count) for resource, count in answer.allocatable.items()})
    return NodeObject(capacity, allocatable)


def _describe(node: NodeObject) -> str:
    shown = [
        f"{name} {node.allocatable[name]} of {node.capacity[name]}"
        for name in sorted(node.capacity)
        if is_extended_resource_name(name)
    ]
    return "node status, allocatable of capacity: " + (", ".join(shown) or "no extended resources")
