"""Between messages of the plugin registration API, as bytes, and values of the model. As in `messages`, nothing is judged."""

from __future__ import annotations

from kubelet_sim.model.plugin import PluginInfo
from kubelet_sim.wire.decoder import parse
from kubelet_sim.wire.pb import pluginregistration_v1_pb2 as pb

SERVICE = "pluginregistration.Registration"
"""To the letter: the package has no version. Rules: DM-148"""
GET_INFO = f"/{SERVICE}/GetInfo"
NOTIFY = f"/{SERVICE}/NotifyRegistrationStatus"


def encode_info(info: PluginInfo) -> bytes:
    """The bytes of a `PluginInfo` message."""
    return pb.PluginInfo(
        type=info.type, name=info.name, endpoint=info.endpoint, supported_versions=info.supported_versions
    ).SerializeToString()


def decode_info(data: bytes) -> PluginInfo:
    """Return what a `PluginInfo` says. Rules: DM-148"""
    message = parse(pb.PluginInfo, data)
    return PluginInfo(message.type, message.name, message.endpoint, tuple(message.supported_versions))


def encode_status(*, registered: bool, error: str) -> bytes:
    """The bytes of a `RegistrationStatus` message. Rules: DM-151"""
    return pb.RegistrationStatus(plugin_registered=registered, error=error).SerializeToString()


def decode_status(data: bytes) -> tuple[bool, str]:
    """Return whether the plugin is registered, and why not."""
    message = parse(pb.RegistrationStatus, data)
    return message.plugin_registered, message.error
