"""Between messages of the device plugin API, as bytes, and values of the model.

Nothing is judged here: what a plugin sent is what the value holds. Every `decode_…` raises `ValueError` for bytes that
are not the message, with the cause in Go's words; unknown fields are no error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubelet_sim.model.device import HEALTHY, Device
from kubelet_sim.model.ids import DeviceID, NumaNode, ResourceName
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions, PreferredAllocationRequest, Registration
from kubelet_sim.model.response import ContainerResponse, DeviceNode, Mount
from kubelet_sim.wire.decoder import parse
from kubelet_sim.wire.pb import deviceplugin_v1beta1_pb2 as pb

REGISTRATION_SERVICE = "v1beta1.Registration"
PLUGIN_SERVICE = "v1beta1.DevicePlugin"
EMPTY = b""
"""The `Empty` message: the request of two methods, the answer of Register."""


def encode_registration(registration: Registration) -> bytes:
    """The bytes of a `RegisterRequest` with these fields."""
    options = registration.options
    message = pb.RegisterRequest(
        version=registration.version,
        endpoint=registration.socket_name,
        resource_name=registration.resource,
        options=None if options is None else _options_message(options),
    )
    return message.SerializeToString()


def decode_registration(data: bytes) -> Registration:
    """Return what a `RegisterRequest` says; `options` is `None` if the field was absent. Rules: DM-21, DM-28"""
    message = parse(pb.RegisterRequest, data)
    return Registration(
        version=message.version,
        socket_name=message.endpoint,
        resource=ResourceName(message.resource_name),
        options=_options_value(message.options) if message.HasField("options") else None,
    )


def encode_options(options: PluginOptions) -> bytes:
    """The bytes of a `DevicePluginOptions` message."""
    return _options_message(options).SerializeToString()


def decode_options(data: bytes) -> PluginOptions:
    """Return what a `DevicePluginOptions` says. Rules: DM-28"""
    return _options_value(parse(pb.DevicePluginOptions, data))


def encode_devices(devices: Sequence[Device]) -> bytes:
    """Return a `ListAndWatchResponse` with the devices in that order."""
    return pb.ListAndWatchResponse(devices=[_device_message(device) for device in devices]).SerializeToString()


def decode_devices(data: bytes) -> tuple[Device, ...]:
    """Return the devices of a `ListAndWatchResponse` as sent: order, repeated ids and all. Rules: DM-51, DM-53, DM-56"""
    return tuple(_device_value(device) for device in parse(pb.ListAndWatchResponse, data).devices)


def encode_allocate_request(device_ids: Sequence[DeviceID]) -> bytes:
    """Return an `AllocateRequest` with exactly one container request, ids in that order. Rules: DM-98"""
    container = pb.ContainerAllocateRequest(devices_ids=device_ids)
    return pb.AllocateRequest(container_requests=[container]).SerializeToString()


def encode_allocate_requests(containers: Iterable[Sequence[DeviceID]]) -> bytes:
    """Return an `AllocateRequest` with a container request for each, which no kubelet sends: see `encode_allocate_request`."""
    requests = [pb.ContainerAllocateRequest(devices_ids=ids) for ids in containers]
    return pb.AllocateRequest(container_requests=requests).SerializeToString()


def decode_allocate_request(data: bytes) -> tuple[tuple[DeviceID, ...], ...]:
    """Return the ids of each container request."""
    message = parse(pb.AllocateRequest, data)
    return tuple(tuple(DeviceID(i) for i in container.devices_ids) for container in message.container_requests)


def encode_allocate_answer(answer: AllocateAnswer) -> bytes:
    """Return an `AllocateResponse`. The values of each response count, `raw` does not."""
    return pb.AllocateResponse(
        container_responses=[_response_message(response) for response in answer.responses]
    ).SerializeToString()


def decode_allocate_answer(data: bytes) -> AllocateAnswer:
    """Return what an `AllocateResponse` says, each response with its bytes for the checkpoint. Rules: DM-99, CP-18"""
    message = parse(pb.AllocateResponse, data)
    return AllocateAnswer(
        # Map entries have no order on the wire; sorted, so that equal answers make equal checkpoints.
        tuple(_response_value(item, item.SerializeToString(deterministic=True)) for item in message.container_responses)
    )


def encode_preferred_allocation_request(request: PreferredAllocationRequest) -> bytes:
    """Return a `PreferredAllocationRequest` with exactly one container request, ids in their order. Rules: DM-94"""
    container = pb.ContainerPreferredAllocationRequest(
        available_deviceIDs=request.available,
        must_include_deviceIDs=request.must_include,
        allocation_size=request.size,
    )
    return pb.PreferredAllocationRequest(container_requests=[container]).SerializeToString()


def decode_preferred_allocation_request(data: bytes) -> tuple[PreferredAllocationRequest, ...]:
    """Return what is asked for each container."""
    return tuple(
        PreferredAllocationRequest(
            _device_ids(container.available_deviceIDs),
            _device_ids(container.must_include_deviceIDs),
            container.allocation_size,
        )
        for container in parse(pb.PreferredAllocationRequest, data).container_requests
    )


def encode_preferred_allocation_answer(answer: Iterable[Iterable[DeviceID]]) -> bytes:
    """Return a `PreferredAllocationResponse` with the ids for each container."""
    containers = [pb.ContainerPreferredAllocationResponse(deviceIDs=ids) for ids in answer]
    return pb.PreferredAllocationResponse(container_responses=containers).SerializeToString()


def decode_preferred_allocation_answer(data: bytes) -> tuple[tuple[DeviceID, ...], ...]:
    """Return the ids for each container, in the order sent; there may be none at all. Rules: DM-95"""
    message = parse(pb.PreferredAllocationResponse, data)
    return tuple(_device_ids(container.deviceIDs) for container in message.container_responses)


def encode_pre_start_request(device_ids: Iterable[DeviceID]) -> bytes:
    """Return a `PreStartContainerRequest` with ids in that order. Rules: DM-103"""
    return pb.PreStartContainerRequest(devices_ids=device_ids).SerializeToString()


def decode_pre_start_request(data: bytes) -> tuple[DeviceID, ...]:
    """Return the ids of a `PreStartContainerRequest`."""
    return _device_ids(parse(pb.PreStartContainerRequest, data).devices_ids)


def encode_container_response(response: ContainerResponse) -> bytes:
    """Return a `ContainerAllocateResponse` made from the values; equal values give equal bytes."""
    return _response_message(response).SerializeToString(deterministic=True)


def decode_container_response(raw: bytes) -> ContainerResponse:
    """Return the response of a checkpoint entry; it keeps exactly these bytes. Rules: DM-145, CP-18"""
    return _response_value(parse(pb.ContainerAllocateResponse, raw), raw)


def _device_ids(ids: Iterable[str]) -> tuple[DeviceID, ...]:
    return tuple(map(DeviceID, ids))


def _options_message(options: PluginOptions) -> pb.DevicePluginOptions:
    return pb.DevicePluginOptions(
        pre_start_required=options.pre_start_required,
        get_preferred_allocation_available=options.get_preferred_allocation_available,
    )


def _options_value(message: pb.DevicePluginOptions) -> PluginOptions:
    return PluginOptions(
        pre_start_required=message.pre_start_required,
        get_preferred_allocation_available=message.get_preferred_allocation_available,
    )


def _device_message(device: Device) -> pb.Device:
    topology = None
    if device.topology is not None:
        topology = pb.TopologyInfo(nodes=[pb.NUMANode(ID=node) for node in device.topology])
    return pb.Device(ID=device.id, health=device.health, topology=topology)


def _device_value(message: pb.Device) -> Device:
    topology = None
    if message.HasField("topology"):
        topology = tuple(NumaNode(node.ID) for node in message.topology.nodes)
    health = HEALTHY if message.health == HEALTHY else message.health  # one text for all that are
    return Device(id=DeviceID(message.ID), health=health, topology=topology)


def _response_message(response: ContainerResponse) -> pb.ContainerAllocateResponse:
    return pb.ContainerAllocateResponse(
        envs=response.envs,
        mounts=[
            pb.Mount(container_path=m.container_path, host_path=m.host_path, read_only=m.read_only)
            for m in response.mounts
        ],
        devices=[
            pb.DeviceSpec(container_path=d.container_path, host_path=d.host_path, permissions=d.permissions)
            for d in response.devices
        ],
        annotations=response.annotations,
        cdi_devices=[pb.CDIDevice(name=name) for name in response.cdi_devices],
    )


def _response_value(message: pb.ContainerAllocateResponse, raw: bytes) -> ContainerResponse:
    return ContainerResponse(
        envs=message.envs,
        mounts=tuple(Mount(m.container_path, m.host_path, m.read_only) for m in message.mounts),
        devices=tuple(DeviceNode(d.container_path, d.host_path, d.permissions) for d in message.devices),
        annotations=message.annotations,
        cdi_devices=tuple(cdi.name for cdi in message.cdi_devices),
        raw=raw,
    )
