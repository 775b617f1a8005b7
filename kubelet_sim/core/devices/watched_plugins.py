"""Plugins that the kubelet finds by itself, by a socket in `plugins_registry`, and loses by its removal.

Which sockets there are, when one is asked, who handles plugins of its type, and what a plugin is told is the plugin watcher's
business; from here on a device plugin that came so is like any other.
"""

from __future__ import annotations

from kubelet_sim.core.devices import plugin_clients as clients
from kubelet_sim.core.devices.plugin_stream import disconnected
from kubelet_sim.core.devices.registration import connecting
from kubelet_sim.core.effects import CloseConnection, Walk
from kubelet_sim.core.facts import Applied, WatchedPluginGone
from kubelet_sim.core.go_text import quoted
from kubelet_sim.core.state import Context
from kubelet_sim.errors import PluginNotValid, RegistrationRefused
from kubelet_sim.model.ids import ClientID, ResourceName
from kubelet_sim.model.plugin import API_VERSION, DIRECTORY, PluginInfo, SocketPath
from kubelet_sim.model.resource_name import is_extended_resource_name

_HOW = "registration by the plugin watcher"


def registering_watched(
    context: Context, info: PluginInfo, registration_socket: str, directory: str = DIRECTORY
) -> Walk[ClientID]:
    """Register the plugin that described itself so; answers with the new client once its options are known.

    The counter of Register calls does not count this one.

    Args:
        context: of the device manager.
        info: its answer to GetInfo.
        registration_socket: the path of the socket that was asked.
        directory: the device-plugin directory, as these paths have it.

    Raises:
        PluginNotValid: its versions or its name are none of ours; nothing was tried.
        RegistrationRefused: it could not be dialled, or asked for its options.
        Either has the text that the plugin is told.

    Rules: DM-26, DM-148, DM-149, DM-150, DM-151
    Follows: GenerateRegisterPluginFunc, ValidatePlugin, RegisterPlugin
    """
    resource, socket = ResourceName(info.name), serving_socket(info, registration_socket, directory)
    context.say("DM-148", resource, f"a plugin of type {info.type} came by the plugin watcher, serving on {socket}")
    refusal = _refusal(info)
    if refusal is not None:
        context.warn(refusal.rule, resource, f"{_HOW} refused: {refusal.text}")
        raise refusal
    try:
        return (yield from connecting(context, resource, socket, _HOW))
    except RegistrationRefused as failure:
        text = f"RegisterPlugin error -- plugin registration failed with err: {failure.text}"
        raise RegistrationRefused(text, rule=failure.rule) from failure


def serving_socket(info: PluginInfo, registration_socket: str, directory: str = DIRECTORY) -> SocketPath:
    """Where the plugin serves: as it says, and where it says nothing, on the socket that was asked. Rules: DM-148, DM-150"""
    return SocketPath(info.endpoint or registration_socket, directory)


def _refusal(info: PluginInfo) -> PluginNotValid | None:
    if API_VERSION not in info.supported_versions:
        versions = " ".join(info.supported_versions)
        problem = f"manager version, {API_VERSION}, is not among plugin supported versions [{versions}]"
    elif not is_extended_resource_name(info.name):
        problem = f"invalid name of device plugin socket: the ResourceName {quoted(info.name)} is invalid"
    else:
        return None
    return PluginNotValid(f"RegisterPlugin error -- plugin validation failed with err: {problem}", rule="DM-149")


def watched_plugin_gone(context: Context, fact: WatchedPluginGone) -> Applied[None]:
    """Disconnect whichever client has the resource's name, also a newer one that called Register itself.

    After 1.36 only the one on that socket.

    Rules: DM-44, DM-152, DM-163, DM-180
    Follows: DeRegisterPlugin
    """
    resource = fact.resource
    context.say("DM-152", resource, f"the plugin on {fact.socket} is deregistered by the plugin watcher")
    current = clients.taken_for(context, resource, fact.socket)
    if current is None:
        context.say("DM-152", resource, "no client is registered under the name, so nothing happens")
        return Applied(None)
    disconnected(context, resource, current, fact.at_s)
    return Applied(None, (CloseConnection(current),))
