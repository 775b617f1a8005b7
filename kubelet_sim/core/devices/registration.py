"""A plugin registers: a walk, since its socket has to be dialled and, as a rule, its options asked for before the answer.

Concurrent registrations run through here side by side without a lock, as in the kubelet; that two of one name can get in
each other's way is part of the contract (DM-35, DM-38).
"""

from __future__ import annotations

from kubelet_sim.core.devices import endpoint as endpoints
from kubelet_sim.core.devices import plugin_clients as clients
from kubelet_sim.core.effects import AnswerCaller, CallGetDevicePluginOptions, Dial, OpenListAndWatch, Walk, ask
from kubelet_sim.core.go_text import quoted
from kubelet_sim.core.state import Context
from kubelet_sim.errors import DialFailed, RegistrationRefused, RpcFailed
from kubelet_sim.model.ids import ClientID, ResourceName
from kubelet_sim.model.plugin import API_VERSION, PluginOptions, PluginSocket, Registration, SocketName
from kubelet_sim.model.resource_name import is_extended_resource_name


def registering(context: Context, request: Registration) -> Walk[ClientID]:
    """Process one Register call; answers with the new client once the plugin's options are known.

    The socket name is not looked at (DM-25), nor are the options in the request since 1.25. Kubelets before that let the
    caller go before they dial, and nobody hears of a plugin that they do not reach.

    Raises:
        RegistrationRefused: with the text for the plugin; every refusal has the same gRPC code (DM-29).

    Rules: DM-20, DM-21, DM-22, DM-23, DM-27, DM-28, DM-31, DM-37, DM-163, DM-168
    Follows: Register
    """
    context.say("DM-21", request.resource, f"Register: version {request.version}, socket {request.socket_name}")
    context.state.registrations[request.resource] += 1  # Counted even if it is refused. Rules: DM-21
    refusal = _refusal(request)
    if refusal is not None:
        context.warn(refusal.rule, request.resource, f"Register refused: {refusal.text}")
        raise refusal
    profile = context.profile
    if not profile.register_waits_for_plugin:
        yield from ask(AnswerCaller())
    how = "Register" if profile.register_waits_for_plugin else "Register was answered already, but the plugin is"
    options = (request.options or PluginOptions()) if profile.options_from_request else None
    return (yield from connecting(context, request.resource, SocketName(request.socket_name), how, options))


def connecting(
    context: Context, resource: ResourceName, socket: PluginSocket, how: str, options: PluginOptions | None = None
) -> Walk[ClientID]:
    """Make the plugin on that socket the resource's; answers with the new client once its options are known.

    Args:
        context: of the device manager.
        resource: what the plugin serves.
        socket: where it serves.
        how: how it came, told if it is refused.
        options: what it wants to be asked; `None`: that has to be asked first.

    Raises:
        RegistrationRefused: it could not be dialled, or asked for its options.

    Rules: DM-26
    Follows: connectClient
    """
    client = clients.entered(context, resource, socket)
    asked = yield from _options(context, Dial(client, resource, socket), how, options)
    _connect(context, client, resource, asked)
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


def _options(context: Context, dial: Dial, how: str, given: PluginOptions | None) -> Walk[PluginOptions]:
    """Dial, and learn what the plugin wants to be asked. Rules: DM-26, DM-28, DM-163"""
    client, resource = dial.client, dial.resource
    try:
        yield from ask(dial)
        if given is not None:
            return given
        return (yield from ask(CallGetDevicePluginOptions(client)))
    except DialFailed as failure:
        text, rule = f"failed to dial device plugin: {failure}", "DM-40"
    except RpcFailed as failure:
        # The connection that was made stays open: nobody closes it. Rules: DM-36
        text, rule = f"failed to get device plugin options: {failure}", "DM-29"
    clients.failed(context, client)
    context.warn(rule, resource, f"{how} refused: {text}")
    raise RegistrationRefused(text, rule=rule)


def _connect(context: Context, client: ClientID, resource: ResourceName, options: PluginOptions) -> None:
    """Makes the client the endpoint of its resource, in the place of the one before. Rules: DM-26, DM-28, DM-48"""
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
