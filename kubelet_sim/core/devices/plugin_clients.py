"""The table of connected plugins: whom a registration replaces, and whom the end of a stream disconnects.

What it is keyed by is the release's: see `ClientKey`. Where there is no table, everybody is only himself.
"""

from __future__ import annotations

from kubelet_sim.core.state import Context, State
from kubelet_sim.model.ids import ClientID, ResourceName
from kubelet_sim.model.plugin import PluginSocket
from kubelet_sim.profiles import ClientKey

Key = ResourceName | tuple[ResourceName, str]
"""The name of a resource, or that and the place of a socket, whichever way the plugin named it."""


def entered(context: Context, resource: ResourceName, socket: PluginSocket) -> ClientID:
    """A client of its own for this registration, in the table in place of an earlier one, which is left as it is.

    Rules: DM-26, DM-31, DM-32, DM-33, DM-163, DM-180
    """
    state = context.state
    client = ClientID(state.next_client)
    state.next_client += 1
    state.resource_of[client], state.socket_of[client] = resource, socket
    if context.profile.clients_by is ClientKey.ENDPOINT:
        return client
    key = _key(context, client)
    earlier = state.clients.get(key)
    state.clients[key] = client
    if earlier is not None:
        text = (
            f"client {client} replaces client {earlier}, whose stream goes on; when that one ends, the newer is cut off"
        )
        context.warn("DM-31 DM-32 DM-33", resource, text)
    return client


def failed(context: Context, client: ClientID) -> None:
    """A registration failed: the entry of its key goes, whatever client it is by now. Rules: DM-26, DM-35, DM-38"""
    resource = context.state.resource_of[client]
    removed = context.state.clients.pop(_key(context, client), None)
    if removed not in (None, client):
        context.warn("DM-35 DM-38", resource, f"client {client} failed and took the entry of client {removed} with it")
    context.state.forget_client(client)


def taken_at_the_end_of(context: Context, client: ClientID) -> ClientID | None:
    """Whom the end of that client's stream disconnects, taken out of the table; `None`: nobody.

    Rules: DM-33, DM-35, DM-163, DM-180
    """
    if context.profile.clients_by is ClientKey.ENDPOINT:
        return client
    return context.state.clients.pop(_key(context, client), None)


def taken_for(context: Context, resource: ResourceName, socket: PluginSocket) -> ClientID | None:
    """Whom it disconnects that the socket of a watched plugin is gone, taken out of the table; `None`: nobody.

    Without a table that is the client of the resource's endpoint, whichever it is.

    Rules: DM-152, DM-163, DM-180
    """
    state = context.state
    match context.profile.clients_by:
        case ClientKey.ENDPOINT:
            endpoint = state.endpoints.get(resource)
            return None if endpoint is None else endpoint.client
        case ClientKey.RESOURCE:
            return state.clients.pop(resource, None)
        case ClientKey.SOCKET:
            return state.clients.pop((resource, socket.place), None)


def disconnects_endpoint(context: Context, client: ClientID) -> bool:
    """Whether the end of that client is the end of its resource's endpoint, too.

    With one client a resource it always is, whoever the endpoint is by now.

    Rules: DM-44, DM-163, DM-180
    """
    if context.profile.clients_by is ClientKey.RESOURCE:
        return True
    endpoint = context.state.endpoints.get(context.state.resource_of[client])
    return endpoint is not None and endpoint.client == client


def is_known(state: State, client: ClientID) -> bool:
    """Whether anything still leads to the client: the table, or an endpoint."""
    resource = state.resource_of.get(client)
    endpoint = state.endpoints.get(resource) if resource is not None else None
    return client in state.clients.values() or (endpoint is not None and endpoint.client == client)


def registering_clients(state: State) -> frozenset[ClientID]:
    """The clients whose registration may be under way: those of the table, and without one all that are known."""
    return frozenset(state.clients.values() or state.resource_of)


def resource_of_key(key: Key) -> ResourceName:
    """The resource that a key of the table names."""
    return key[0] if isinstance(key, tuple) else key


def _key(context: Context, client: ClientID) -> Key:
    state = context.state
    resource = state.resource_of[client]
    return (resource, state.socket_of[client].place) if context.profile.clients_by is ClientKey.SOCKET else resource
