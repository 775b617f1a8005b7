"""A plugin registers: a walk, since its socket has to be dialled and its options asked for before Register is answered.

Concurrent registrations run through here side by side without a lock, as in the kubelet; that two of one name can get in
each other's way is part of the contract (DM-35, DM-38).
"""

from __future__ import annotations

from kubelet_sim.core import endpoint as endpoints
from kubelet_sim.core.effects import CallGetDevicePluginOptions, Dial, OpenListAndWatch, Walk, ask
from kubelet_sim.core.go_text import quoted
from kubelet_sim.core.state import Context
from kubelet_sim.errors import DialFailed, RegistrationRefused, RpcFailed
from kubelet_sim.model.ids import ClientID, ResourceName
from kubelet_sim.model.plugin import API_VERSION, PluginOptions, PluginSocket, Registration, SocketName
from kubelet_sim.model.resource_name import is_extended_resource_name


def registering(context: Context, request: Registration) -> Walk[ClientID]:
    """Process one Register call; answers with the new client once the plugin's options are known.

    The options in the request and the socket name are not looked at (DM-25, DM-28).

    Raises:
        RegistrationRefused: with the text for the plugin; every refusal has the same gRPC code (DM-29).

    Rules: DM-20, DM-21, DM-22, DM-23, DM-27, DM-31, DM-37
    Follows: Register
    """
    context.say("DM-21", request.resource, f"Register: version {request.version}, socket {request.socket_name}")
    context.state.registrations[request.resource] += 1  # Counted even if it is refused. Rules: DM-21
    refusal = _refusal(request)
    if refusal is not None:
        context.warn(refusal.rule, request.resource, f"Register refused: {refusal.text}")
        raise refusal
    return (yield from connecting(context, request.resource, SocketName(request.socket_name), "Register"))


def connecting(context: Context, resource: ResourceName, socket: PluginSocket, how: str) -> Walk[ClientID]:
    """Make the plugin on that socket the resource's; answers with the new client once its options are known.

    `how` it came is told if that fails.

    Raises:
        RegistrationRefused: it could not be dialled, or asked for its options.

    Rules: DM-26
    Follows: connectClient
    """
    client = _new_client(context, resource)
    options = yield from _options(context, Dial(client, resource, socket), how)
    _connect(context, client, resource, options)
    context.state.streams.add(client)
    yield from ask(OpenListAndWatch(client))
    return client


def _refusal(request: Registration) -> RegistrationRefused | None:
    if request.version != API_VERSION:
        version, supported = quoted(request.version), quoted(API_VERSION)
        text = f"requested API version {version} is not supported by kubelet. Supported version is [{supported}]"
        return RegistrationRefused(text, rule="DM-22")
    if not is_extended_resource_name(request.resource):
        return RegistrationRefused(f"the ResourceName {quoted(request.resource)} is invalid", rule="DM-23")
    return None


def _new_client(context: Context, resource: ResourceName) -> ClientID:
    """A client of its own for this registration, in the table in place of an earlier one, which is left as it is."""
    state = context.state
    client = ClientID(state.next_client)
    state.next_client += 1
    state.resource_of[client] = resource
    earlier = state.clients.get(resource)
    state.clients[resource] = client
    if earlier is not None:
        context.warn(
            "DM-31 DM-32 DM-33",
            resource,
            f"client {client} replaces client {earlier}, whose stream goes on; when that one ends, the newer is cut off",
        )
    return client


def _options(context: Context, dial: Dial, how: str) -> Walk[PluginOptions]:
    client, resource = dial.client, dial.resource
    try:
        yield from ask(dial)
        return (yield from ask(CallGetDevicePluginOptions(client)))
    except DialFailed as failure:
        text, rule = f"failed to dial device plugin: {failure}", "DM-40"
    except RpcFailed as failure:
        # The connection that was made stays open: nobody closes it. Rules: DM-36
        text, rule = f"failed to get device plugin options: {failure}", "DM-29"
    _forget_client(context, client, resource)
    context.state.forget_client(client)
    context.warn(rule, resource, f"{how} refused: {text}")
    raise RegistrationRefused(text, rule=rule)


def _forget_client(context: Context, client: ClientID, resource: ResourceName) -> None:
    """Remove the entry of that name, whatever client it is by now. Rules: DM-26, DM-35, DM-38"""
    removed = context.state.clients.pop(resource, None)
    if removed not in (None, client):
        context.warn("DM-35 DM-38", resource, f"client {client} failed and took the entry of client {removed} with it")


def _connect(context: Context, client: ClientID, resource: ResourceName, options: PluginOptions) -> None:
    """Rules: DM-26, DM-28, DM-48"""
    table, before = context.state.endpoints, context.state.endpoints.get(resource)
    table[resource] = endpoints.connected(before, resource, client, options)
    if before is not None and before.client is not None and before.client not in context.state.streams:
        context.state.forget_client(before.client)
    context.say(
        "DM-26 DM-28",
        resource,
        f"client {client} is the endpoint now",
        pre_start_required=options.pre_start_required,
        get_preferred_allocation_available=options.get_preferred_allocation_available,
    )
