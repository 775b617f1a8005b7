"""What an example has to say for itself: its devices, and what it answers when the kubelet asks.

Ids that reach a plugin are known ones: `service` has refused the others.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence

import grpc

from plugins_examples.chassis.devices import Device
from plugins_examples.pb import api_pb2

API_VERSION = "v1beta1"


class Refused(Exception):
    """The kubelet gets this text and code instead of an answer, and the pod or container fails with it."""

    def __init__(self, text: str, code: grpc.StatusCode = grpc.StatusCode.INVALID_ARGUMENT) -> None:
        super().__init__(text)
        self.code = code


class Plugin(abc.ABC):
    """One resource. Its methods are called from several threads, `devices` from one at a time."""

    def __init__(self, resource: str) -> None:
        self.resource = resource

    def start(self) -> None:  # noqa: B027 - most have nothing to do
        """Called once, before the resource is first served. An `OSError` ends this resource."""

    def stop(self) -> None:  # noqa: B027 - most have nothing to undo
        """Called once, after the resource was served for the last time."""

    @abc.abstractmethod
    def devices(self) -> Sequence[Device]:
        """The devices as they are now, in the order in which they are listed; looked at several times a second."""

    def options(self) -> api_pb2.DevicePluginOptions:
        """Which of the two extra calls this plugin wants: none."""
        return api_pb2.DevicePluginOptions()

    @abc.abstractmethod
    def allocate(self, ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        """What a container needs to use these devices; they come in the order of the list, none twice."""

    def prefer(self, available: Sequence[str], must_include: Sequence[str], size: int) -> Sequence[str]:  # noqa: ARG002
        """Which devices of those available a container had best be given. Not advertised, so no kubelet calls it."""
        raise Refused("one device is as good as another", grpc.StatusCode.UNIMPLEMENTED)

    def pre_start(self, ids: Sequence[str]) -> None:  # noqa: ARG002
        """A container with these devices is about to start. Not advertised, so no kubelet calls it."""
        raise Refused("nothing to do before a container starts", grpc.StatusCode.UNIMPLEMENTED)


def registration(socket_name: str, resource: str, options: api_pb2.DevicePluginOptions) -> api_pb2.RegisterRequest:
    """What the kubelet is told. The list comes later, on the stream that it opens."""
    return api_pb2.RegisterRequest(version=API_VERSION, endpoint=socket_name, resource_name=resource, options=options)


def to_message(devices: Iterable[Device]) -> api_pb2.ListAndWatchResponse:
    """The list as the kubelet reads it."""
    answer = api_pb2.ListAndWatchResponse()
    for device in devices:
        message = answer.devices.add(ID=device.id, health="Healthy" if device.healthy else "Unhealthy")
        # An empty topology would be there, too. It is left out: it has nothing to say.
        message.topology.nodes.extend(api_pb2.NUMANode(ID=node) for node in device.numa_nodes)
        if not device.numa_nodes:
            message.ClearField("topology")
    return answer


def with_nodes(answer: api_pb2.ContainerAllocateResponse, ids: Iterable[str]) -> api_pb2.ContainerAllocateResponse:
    """The answer with a device node for each id, at `/dev/ID`: a variable alone is no grant, any pod can set it.

    The hardware is pretended, so `/dev/null` stands in for it.
    """
    for each in ids:
        answer.devices.add(container_path=f"/dev/{each}", host_path="/dev/null", permissions="rw")
    return answer


def known_of(asked: Iterable[str], known: Sequence[str]) -> list[str]:
    """Those that are listed, in the order given."""
    listed = set(known)
    return [each for each in asked if each in listed]


def in_list_order(asked: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """The ids asked for in the order of the list, none twice: the kubelet's own order means nothing.

    Raises `Refused` if one was never listed.
    """
    wanted = set(asked)
    if unknown := sorted(wanted - set(known)):
        raise Refused(f"unknown devices: {', '.join(ascii(each) for each in unknown)}")
    return tuple(each for each in known if each in wanted)
