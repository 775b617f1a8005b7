"""A node's state as one value for users: see `kubelet_sim.model.views`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kubelet_sim.core.devices.endpoint import EndpointState, state_of
from kubelet_sim.core.devices.pod_device_health import health_of
from kubelet_sim.core.kubelet.pod_requests import effective_amounts
from kubelet_sim.core.state import State
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.quantity import Quantity, amount_text
from kubelet_sim.model.resource_name import is_extended_resource_name
from kubelet_sim.model.views import (
    AllocationView,
    ContainerView,
    DeviceView,
    PluginView,
    PodView,
    ResourceView,
)
from kubelet_sim.node.kubelet_process.plugin_connections import Link
from kubelet_sim.node.pods.container_status import ContainerStatus
from kubelet_sim.node.pods.pod_table import KnownPod, PodTable
from kubelet_sim.node.pods.simulated_runtime import SimulatedRuntime


def quantities(amounts: Mapping[str, Quantity]) -> tuple[tuple[str, str], ...]:
    """Name and text of each, sorted by name."""
    return tuple(sorted((name, str(quantity)) for name, quantity in amounts.items()))


def resource_views(state: State, pods: PodTable, started_at_s: float) -> tuple[ResourceView, ...]:
    """Every name that the device manager knows or the node object lists as a device plugin's.

    `started_at_s` is when the node started, on the clock by which endpoints stop.
    """
    names = {*state.healthy, *state.unhealthy, *state.allocations.in_use, *state.endpoints}
    names |= {ResourceName(name) for name in state.node.capacity if is_extended_resource_name(name)}
    holders = _holders(state, pods)
    return tuple(_resource_view(state, name, holders, started_at_s) for name in sorted(names))


def _resource_view(state: State, name: ResourceName, holders: _Holders, started_at_s: float) -> ResourceView:
    endpoint = state.endpoints.get(name)
    stopped_at_s = endpoint.stopped_at_s if endpoint else None
    in_node = state.node.capacity.get(name), state.node.allocatable.get(name)
    healthy, in_use = state.healthy.get(name, frozenset()), state.allocations.in_use.get(name, set())
    devices = tuple(
        DeviceView(
            device.id,
            device.health,
            is_healthy=device.id in healthy,
            is_allocated=device.id in in_use,
            numa_nodes=tuple(device.numa_nodes),
            holders=tuple(sorted(holders.get((name, device.id), ()))),
        )
        for _, device in sorted(state.devices.get(name, {}).items())
        # The table outlives a removed resource (DM-47); who looks wants to see what is left of it.
        if name in state.healthy or (name, device.id) in holders
    )
    return ResourceView(
        name=name,
        healthy=len(healthy),
        unhealthy=len(state.unhealthy.get(name, ())),
        allocated=len(in_use),
        endpoint="none" if state_of(endpoint) is EndpointState.ABSENT else state_of(endpoint).value,
        node_capacity=None if in_node[0] is None else str(in_node[0]),
        node_allocatable=None if in_node[1] is None else str(in_node[1]),
        devices=devices,
        stopped_at_s=None if stopped_at_s is None else stopped_at_s - started_at_s,
    )


_Holders = dict[tuple[str, str], list[str]]


def _holders(state: State, pods: PodTable) -> _Holders:
    holders: _Holders = {}
    for (uid, container, resource), record in state.allocations:
        known = pods.get(uid)
        for device in record.ids:
            holders.setdefault((resource, device), []).append(f"{known.pod.key if known else uid}/{container}")
    return holders


def plugin_views(state: State, links: Iterable[Link]) -> tuple[PluginView, ...]:
    """Every connection of this kubelet process, in order of registration."""
    return tuple(_plugin_view(state, link) for link in links)


def _plugin_view(state: State, link: Link) -> PluginView:
    endpoint = state.endpoints.get(link.resource)
    is_endpoint = endpoint is not None and endpoint.client == link.client
    options = endpoint.options if endpoint and is_endpoint else None
    return PluginView(
        client=link.client,
        resource=link.resource,
        socket_name=str(link.socket),
        socket_path=link.socket_path,
        registration_socket=link.registration_socket,
        state=_plugin_state(state, link),
        has_stream=link.has_stream,
        pre_start_required=bool(options and options.pre_start_required),
        get_preferred_allocation_available=bool(options and options.get_preferred_allocation_available),
        registered_at_s=link.registered_at_s,
    )


def _plugin_state(state: State, link: Link) -> str:
    endpoint = state.endpoints.get(link.resource)
    if endpoint is not None and endpoint.client == link.client:
        return endpoint.state.value
    if link.was_connected:
        return "stopped" if link.is_closed else "replaced"
    return "failed" if link.has_failed or link.is_closed else "connecting"


def pod_views(pods: PodTable, runtime: SimulatedRuntime, state: State) -> tuple[PodView, ...]:
    """Every pod, sorted by namespace and name."""
    ordered = sorted(pods, key=lambda known: (known.pod.namespace, known.pod.name))
    return tuple(_pod_view(known, runtime, state) for known in ordered)


def _pod_view(known: KnownPod, runtime: SimulatedRuntime, state: State) -> PodView:
    pod = known.pod
    return PodView(
        name=pod.name,
        namespace=pod.namespace,
        uid=pod.uid,
        phase=known.phase,
        reason=known.reason,
        message=known.message,
        containers=tuple(
            _container_view(each, was_begun=known.verdict is not None and not known.was_refused)
            for each in known.statuses(runtime)
        ),
        is_active=pod.uid in state.active_pods,
        created_at_s=known.created_at_s,
        missing=_missing(known, runtime, state),
        is_deleting=known.is_deleting,
        requests=_amounts(pod, lambda container: container.requests),
        limits=_amounts(pod, lambda container: container.limits),
    )


def _amounts(pod: Pod, of: Callable[[Container], Mapping[str, Quantity]]) -> tuple[tuple[str, str], ...]:
    amounts = effective_amounts(pod, of)
    for name, quantity in pod.overhead.items():
        if name in amounts:
            amounts[name] += quantity.amount
    return tuple(sorted((name, amount_text(name, amount)) for name, amount in amounts.items()))


def _missing(known: KnownPod, runtime: SimulatedRuntime, state: State) -> tuple[str, ...]:
    """What a running pod asks for and holds no record of, or only since after its container was created.

    Rules: DM-81, DM-114
    """
    if known.phase != "Running":
        return ()
    found: set[str] = set()
    for container in known.pod.all_containers():
        held = runtime.latest(known.pod.uid, container.name)
        records = set(state.allocations.of_container(known.pod.uid, container.name))
        if held is not None:
            records &= held.resources
        asked = {name for name, quantity in container.limits.items() if quantity.value}
        found |= {name for name in asked if is_extended_resource_name(name) and name not in records}
    return tuple(sorted(found))


def _container_view(status: ContainerStatus, *, was_begun: bool) -> ContainerView:
    """Containers that never were, of a pod without a good verdict, wait for nothing. Rules: DM-77"""
    never_was = not was_begun and status.held is None
    ended = status.ended
    return ContainerView(
        status.container.name,
        status.container.kind.value,
        status.state,
        "" if never_was else status.reason,
        status.message,
        exit_code=status.exit_code,
        restart_count=status.restart_count,
        is_ready=status.is_ready,
        last_reason=ended.reason if ended else "",
        last_exit_code=ended.exit_code if ended else None,
        last_finished_at_s=ended.finished_at_s if ended else None,
        id=status.held.id if status.held else "",
    )


def allocation_views(state: State, pods: PodTable) -> tuple[AllocationView, ...]:
    """Every record, sorted by pod, container and resource."""
    views = []
    for (uid, container, resource), record in state.allocations:
        known = pods.get(uid)
        devices = tuple((numa, tuple(sorted(ids))) for numa, ids in sorted(record.devices.items()))
        health = tuple((device, health_of(state, resource, device)) for device in sorted(record.ids))
        views.append(AllocationView(uid, known.pod.key if known else uid, container, resource, devices, health))
    return tuple(sorted(views, key=lambda view: (view.pod, view.container, view.resource)))
