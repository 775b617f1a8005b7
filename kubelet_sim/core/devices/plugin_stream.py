"""What a plugin's stream brings: lists of devices, and in the end its end.

The message handler does not ask whether the stream is the current one: the last message of any stream wins (DM-32, DM-61).
"""

from __future__ import annotations

from kubelet_sim.core.devices import endpoint as endpoints
from kubelet_sim.core.devices import plugin_clients as clients
from kubelet_sim.core.devices.device_checkpoint import compose
from kubelet_sim.core.devices.device_list import Listing
from kubelet_sim.core.devices.pod_device_health import pods_to_notify
from kubelet_sim.core.effects import CloseConnection, NotifyPodHealth, WriteCheckpoint
from kubelet_sim.core.facts import Applied, DevicesListed, StreamEnded
from kubelet_sim.core.state import Context
from kubelet_sim.errors import UsageError
from kubelet_sim.model.ids import ClientID, ResourceName


def devices_listed(context: Context, fact: DevicesListed) -> Applied[None]:
    """Replace what is known of the resource by the message, notify pods, and ask for the checkpoint to be written.

    An id that occurs twice with both healths is in both sets; the table keeps its last occurrence (DM-53). Records and ids
    in use are left alone (DM-57, DM-58).

    Rules: DM-51, DM-52, DM-53, DM-54, DM-55, DM-57, DM-60, DM-61, DM-157
    Follows: genericDeviceUpdateCallback
    """
    state, resource = context.state, _resource_of(context, fact.client)
    before = state.listings.get(resource)
    listing = Listing.of(fact.devices) if before is None else before.followed_by(fact.devices)
    state.listings[resource] = listing
    state.healthy[resource], state.unhealthy[resource] = listing.healthy, set(listing.unhealthy)
    pods = pods_to_notify(context, state.devices.get(resource, {}), listing.news)
    state.devices[resource] = listing.by_id
    context.say(
        "DM-51 DM-60",
        resource,
        f"client {fact.client} listed {len(fact.devices)} devices, {listing.healthy_count} of them healthy",
        total=len(fact.devices),
        healthy=listing.healthy_count,
    )
    if len(listing.by_id) != len(fact.devices):
        context.warn("DM-53", resource, "the list names an id more than once; the last entry is kept in the table")
    if state.endpoints.get(resource) is None:
        context.warn("DM-61", resource, "a list for a resource that has no endpoint; it will be removed again")
    notices = (NotifyPodHealth(pods),) if pods else ()
    return Applied(None, (*notices, WriteCheckpoint(compose(state, context.order))))


def stream_ended(context: Context, fact: StreamEnded) -> Applied[None]:
    """Disconnect whom the table has for the stream, which need not be the stream's own client (DM-33).

    If it has none, nothing happens at all: the devices stay healthy, the endpoint live (DM-35).

    Rules: DM-33, DM-34, DM-35, DM-42, DM-43, DM-44, DM-45, DM-163, DM-180
    Follows: runClient, disconnectClient, PluginDisconnected
    """
    state, resource = context.state, _resource_of(context, fact.client)
    state.streams.remove(fact.client)
    how = "normally" if fact.error is None else f"with {fact.error}"
    context.say("DM-42", resource, f"ListAndWatch of client {fact.client} ended {how}; it is not opened again")
    current = clients.taken_at_the_end_of(context, fact.client)
    if current is None:
        state.forget_client(fact.client)
        context.say(
            "DM-35", resource, f"no client is registered under the name, so the end of {fact.client} is not noticed"
        )
        return Applied(None)
    if current != fact.client:
        context.warn("DM-33", resource, f"the end of client {fact.client} disconnects client {current}, the newer one")
    disconnected(context, resource, current, fact.at_s)
    state.forget_client(fact.client)
    return Applied(None, (CloseConnection(current),))


def disconnected(context: Context, resource: ResourceName, client: ClientID, at_s: float) -> None:
    """A client is out of the table: with the endpoint of the resource, its devices go. Its connection is to be closed.

    Rules: DM-44, DM-45, DM-163, DM-168, DM-180
    Follows: PluginDisconnected
    """
    state = context.state
    endpoint = state.endpoints.get(resource)
    if endpoint is None:
        if context.profile.disconnect_without_endpoint_crashes:
            text = "a client of a resource without endpoint is disconnected: a kubelet of this version crashes here"
            context.warn("DM-168", resource, text)
    elif clients.disconnects_endpoint(context, client):
        _mark_unhealthy(context, resource)
        state.endpoints[resource] = endpoints.disconnected(endpoint, at_s)
    else:
        text = f"client {client} is not the resource's endpoint any more: its end changes nothing for client"
        context.say("DM-163 DM-180", resource, f"{text} {endpoint.client}")


def _mark_unhealthy(context: Context, resource: ResourceName) -> None:
    """Move every healthy id; the device table keeps what was sent. Rules: DM-44, DM-50"""
    state = context.state
    moved = state.healthy.get(resource, frozenset())
    if resource in state.healthy:
        state.healthy[resource] = frozenset()
    state.unhealthy.setdefault(resource, set()).update(moved)
    context.say("DM-44", resource, f"the plugin is gone: {len(moved)} healthy devices count as unhealthy from now on")


def _resource_of(context: Context, client: ClientID) -> ResourceName:
    if client not in context.state.streams:
        raise UsageError(f"client {client} has no open stream with this kubelet")
    return context.state.resource_of[client]
