"""What a node saw of a plugin: every Register call, every list, every stream, each with its time.

Only facts: what they mean is for the checks. Times are the machine's monotonic seconds, whatever the node's clock says.
"""

from __future__ import annotations

import time

from attrs import frozen

from kubelet_sim.core.devices.watched_plugins import serving_socket
from kubelet_sim.core.effects import Dial, OpenListAndWatch
from kubelet_sim.core.facts import DevicesListed, StreamEnded
from kubelet_sim.core.walks import WatchedAsked
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ClientID, ResourceName
from kubelet_sim.model.plugin import API_VERSION, Registration, SocketName
from kubelet_sim.node.bell import Bell
from kubelet_sim.node.hooks import Hook
from kubelet_sim.node.kubelet_process.plugin_connections import socket_path
from kubelet_sim.node.node import Node
from kubelet_sim.transcript import Record
from kubelet_sim.wire.messages import encode_devices


@frozen
class RegisterCall:
    """One request of a plugin to be registered; whether it was is another matter: see `PluginLog.streams`."""

    at_s: float
    registration: Registration
    deadline_s: float | None
    """How much time its caller had left; `None`: no end."""
    socket_path: str
    """Where the kubelet dials."""
    incarnation: int
    """Which kubelet process of the node, counted from 1."""
    is_watched: bool = False
    """Whether the plugin watcher found it; there was no Register call then, and most of `registration` is ours."""

    @property
    def resource(self) -> ResourceName:
        """The resource that the plugin asked to be registered for."""
        return self.registration.resource


@frozen
class OpenedStream:
    """A ListAndWatch stream that the kubelet opened: the registration had come to its end."""

    at_s: float
    client: ClientID
    resource: ResourceName
    socket_path: str
    incarnation: int


@frozen
class ReceivedList:
    """A list of devices that came on a stream."""

    at_s: float
    client: ClientID
    """On which stream: see `OpenedStream`."""
    resource: ResourceName
    devices: tuple[Device, ...]
    incarnation: int

    @property
    def size(self) -> int:
        """Bytes of the message, as our own library would write it."""
        return len(encode_devices(self.devices))


@frozen
class EndedStream:
    """The end of a ListAndWatch stream, for other reasons than the kubelet's own end."""

    at_s: float
    client: ClientID
    resource: ResourceName
    error: RpcFailed | None
    """`None`: the plugin ended it with OK."""
    incarnation: int


class PluginLog(Hook):
    """What a node saw so far, oldest first. `bell` rings at everything that happens on the node."""

    def __init__(self, node: Node, bell: Bell) -> None:
        self._node = node
        self._dialled: dict[tuple[ClientID, int], tuple[ResourceName, str]] = {}
        self.bell = bell
        self.registrations: list[RegisterCall] = []
        self.streams: list[OpenedStream] = []
        self.lists: list[ReceivedList] = []
        self.ends: list[EndedStream] = []
        node.hooks.add(self)
        node.transcript.record_with(self._note)

    # --- asking

    @property
    def resources(self) -> tuple[ResourceName, ...]:
        """What was asked to be registered so far, sorted."""
        return tuple(sorted({each.resource for each in self.registrations}))

    def registrations_of(self, resource: str, since_s: float = 0.0) -> list[RegisterCall]:
        """The requests to register a resource, from that moment on."""
        return [each for each in self.registrations if each.resource == resource and each.at_s >= since_s]

    def lists_of(self, resource: str, since_s: float = 0.0) -> list[ReceivedList]:
        """The lists of a resource, from that moment on."""
        return [each for each in self.lists if each.resource == resource and each.at_s >= since_s]

    def ends_of(self, resource: str, since_s: float = 0.0) -> list[EndedStream]:
        """The ends of a resource's streams, from that moment on."""
        return [each for each in self.ends if each.resource == resource and each.at_s >= since_s]

    def stream(self, resource: str) -> OpenedStream | None:
        """The stream of a resource that is open now; of several the newest."""
        ended = {(each.client, each.incarnation) for each in self.ends}
        for each in reversed(self.streams):
            if each.incarnation != self._node.transcript.incarnation:
                return None
            if each.resource == resource and (each.client, each.incarnation) not in ended:
                return each
        return None

    def current_list(self, resource: str) -> ReceivedList | None:
        """The last list on the stream of a resource that is open now."""
        stream = self.stream(resource)
        if stream is None:
            return None
        key = stream.client, stream.incarnation
        return next((each for each in reversed(self.lists) if (each.client, each.incarnation) == key), None)

    def is_live(self, resource: str) -> bool:
        """Whether a stream of the resource is open now and has brought a list."""
        return self.current_list(resource) is not None

    # --- noting

    async def register_called(self, registration: Registration, deadline_s: float | None) -> None:
        """Adds the call to the log, before anybody answers it."""
        path = socket_path(str(self._node.root.layout.device_plugins), SocketName(registration.socket_name))
        incarnation = self._node.transcript.incarnation
        self.registrations.append(RegisterCall(time.monotonic(), registration, deadline_s, path, incarnation))
        self.bell.ring()

    def _note(self, record: Record, payload: object) -> None:
        now_s, incarnation = time.monotonic(), record.incarnation
        match payload:
            case WatchedAsked(info, found_at):
                socket = serving_socket(info, found_at)
                path = socket_path(str(self._node.root.layout.device_plugins), socket)
                registration = Registration(API_VERSION, str(socket), ResourceName(info.name))
                self.registrations.append(RegisterCall(now_s, registration, None, path, incarnation, is_watched=True))
            case Dial(client, resource, socket):
                path = socket_path(str(self._node.root.layout.device_plugins), socket)
                self._dialled[client, incarnation] = resource, path
            case OpenListAndWatch(client) if record.kind == "effect":
                self.streams.append(OpenedStream(now_s, client, *self._dialled[client, incarnation], incarnation))
            case DevicesListed(client, devices):
                resource, _ = self._dialled[client, incarnation]
                self.lists.append(ReceivedList(now_s, client, resource, devices, incarnation))
            case StreamEnded(client, _, error):
                resource, _ = self._dialled[client, incarnation]
                self.ends.append(EndedStream(now_s, client, resource, error, incarnation))
        self.bell.ring()
