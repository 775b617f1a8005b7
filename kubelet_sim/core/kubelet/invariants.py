"""What holds after every step, whatever the order of events. A breach is a bug of ours, never of a plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kubelet_sim.core.devices.endpoint import EndpointState
from kubelet_sim.core.devices.plugin_clients import resource_of_key
from kubelet_sim.core.state import State
from kubelet_sim.errors import InvariantError
from kubelet_sim.model.ids import ContainerName, DeviceID, PodUID, ResourceName


def check(state: State) -> None:
    """Raise `InvariantError` with everything that does not hold."""
    breaches = [f"{test.__name__.strip('_')}: {breach}" for test in _ALL for breach in test(state)]
    if breaches:
        raise InvariantError("; ".join(breaches))


def _no_id_is_given_twice(state: State) -> Iterator[str]:
    """Two pods never hold one device, but for the race and the files that the kubelet allows. Rules: DM-90, DM-97"""
    owners: dict[tuple[ResourceName, DeviceID], set[PodUID]] = {}
    for (pod, _, resource), record in state.allocations:
        for device in record.ids:
            owners.setdefault((resource, device), set()).add(pod)
    for device_of, pods in owners.items():
        if len(pods) > 1 and device_of not in state.allocations.shared:
            yield f"{device_of} is held by {sorted(pods)}"


def _the_index_is_that_of_the_records(state: State) -> Iterator[str]:
    """Who looks a device up finds exactly the containers that a search of all records finds. Rules: DM-97"""
    found: dict[tuple[ResourceName, DeviceID], set[tuple[PodUID, ContainerName]]] = {}
    for (pod, container, resource), record in state.allocations:
        for device in record.ids:
            found.setdefault((resource, device), set()).add((pod, container))
        if state.allocations.record(pod, container, resource) is not record:
            yield f"{pod} {container} {resource} is not found"
    for device_of, holders in found.items():
        if set(state.allocations.holders(*device_of)) != holders:
            yield f"{device_of} is held by {sorted(holders)}, not by {state.allocations.holders(*device_of)}"


def _a_name_in_use_is_known(state: State) -> Iterator[str]:
    """Unless a reclaim lost its ids while the plugin was asked. Rules: DM-83, DM-97"""
    forgotten = {resource for resource, _ in state.allocations.forgotten()}
    for (_, _, resource), _record in state.allocations:
        if not state.is_device_plugin_resource(resource) and resource not in forgotten:
            yield f"{resource} is recorded but not known"


def _capacity_is_healthy_and_unhealthy(state: State) -> Iterator[str]:
    """An id is in both sets only if one message named it with both healths. Rules: DM-53, DM-62"""
    for resource, healthy in state.healthy.items():
        both = healthy & state.unhealthy.get(resource, set())
        if not both <= state.devices.get(resource, {}).keys():
            yield f"{resource}: {sorted(both)} are healthy and unhealthy without a message that says so"


def _every_healthy_device_was_listed(state: State) -> Iterator[str]:
    """Yields what is wrong where a device counts as healthy that its plugin has not listed. Rules: DM-51"""
    for resource, healthy in state.healthy.items():
        if not healthy <= state.devices.get(resource, {}).keys():
            yield f"{resource}: healthy devices that no message named"


def _a_client_in_the_table_serves_that_name(state: State) -> Iterator[str]:
    """Yields what is wrong where the table has a client under another resource's name. Rules: DM-26"""
    for key, client in state.clients.items():
        if state.resource_of.get(client) != resource_of_key(key):
            yield f"client {client} stands under {key}"


def _an_endpoint_has_its_parts(state: State) -> Iterator[str]:
    """A live or stopped endpoint has a client and options, a placeholder neither. Rules: DM-26, DM-145"""
    for resource, endpoint in state.endpoints.items():
        has_parts = endpoint.client is not None and endpoint.options is not None
        if endpoint.resource != resource or has_parts == (endpoint.state is EndpointState.PLACEHOLDER):
            yield f"{resource} has the endpoint {endpoint}"


def _a_stopped_resource_has_nothing_healthy(state: State) -> Iterator[str]:
    """Unless an older stream still speaks for it (DM-46), a placeholder has no healthy devices at all."""
    for resource, endpoint in state.endpoints.items():
        if endpoint.state is EndpointState.PLACEHOLDER and state.healthy.get(resource):
            yield f"{resource} has healthy devices before any plugin came"


_ALL: tuple[Callable[[State], Iterator[str]], ...] = (
    _no_id_is_given_twice,
    _the_index_is_that_of_the_records,
    _a_name_in_use_is_known,
    _capacity_is_healthy_and_unhealthy,
    _every_healthy_device_was_listed,
    _a_client_in_the_table_serves_that_name,
    _an_endpoint_has_its_parts,
    _a_stopped_resource_has_nothing_healthy,
)
