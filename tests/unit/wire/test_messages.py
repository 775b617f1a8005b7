from __future__ import annotations

import pytest

from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, NumaNode, ResourceName
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions, Registration
from kubelet_sim.model.response import ContainerResponse, DeviceNode, Mount
from kubelet_sim.wire import messages
from kubelet_sim.wire.pb import deviceplugin_v1beta1_pb2 as pb

FULL = ContainerResponse(
    envs={"B": "2", "A": "", "": "x"},
    mounts=(Mount("/c", "/h", read_only=True), Mount("", "", read_only=False)),
    devices=(DeviceNode("/dev/c", "/dev/h", "mrw"), DeviceNode("", "relative", "?")),
    annotations={"k": "v"},
    cdi_devices=("vendor.com/gpu=0", "not a name", "not a name"),
)


@pytest.mark.parametrize(
    "registration",
    [
        Registration("v1beta1", "a.sock", ResourceName("example.com/a")),
        Registration("", "", ResourceName(""), PluginOptions()),
        Registration("v1", "../ü", ResourceName("\x00"), PluginOptions(True, True)),
    ],
)
def test_registrations_are_kept_as_sent(registration: Registration) -> None:
    """Nothing is judged, and options that were sent empty are not the same as none. Rules: DM-28"""
    assert messages.decode_registration(messages.encode_registration(registration)) == registration


@pytest.mark.parametrize("options", [PluginOptions(), PluginOptions(True, False), PluginOptions(False, True)])
def test_options_are_kept_as_sent(options: PluginOptions) -> None:
    """Each flag is its own. Rules: DM-28"""
    assert messages.decode_options(messages.encode_options(options)) == options


@pytest.mark.parametrize("topology", [None, (), (NumaNode(0),), (NumaNode(-1), NumaNode(3), NumaNode(3))])
def test_topology_absent_is_not_topology_empty(topology: tuple[NumaNode, ...] | None) -> None:
    """`None` and no nodes differ; nodes keep their order and repetitions. Rules: DM-56"""
    device = Device(DeviceID("a"), "Healthy", topology)
    assert messages.decode_devices(messages.encode_devices([device])) == (device,)


def test_lists_keep_order_and_repeated_ids() -> None:
    """A list is what was sent: any health, any id, twice or not at all. Rules: DM-52, DM-53, DM-54"""
    devices = (Device(DeviceID("b"), ""), Device(DeviceID("a\x00")), Device(DeviceID("b"), "healthy"))
    assert messages.decode_devices(messages.encode_devices(devices)) == devices
    assert messages.decode_devices(b"") == ()


def test_a_request_holds_one_container() -> None:
    """The ids of one container, in the order chosen; none is a container without ids. Rules: DM-98"""
    assert messages.decode_allocate_request(messages.encode_allocate_request([DeviceID("b"), DeviceID("a")])) == (
        ("b", "a"),
    )
    assert messages.decode_allocate_request(messages.encode_allocate_request([])) == ((),)


def test_answers_keep_every_response_and_its_bytes() -> None:
    """Values as sent, and the bytes that a checkpoint stores; an empty response has none. Rules: DM-99, CP-18"""
    answer = messages.decode_allocate_answer(
        messages.encode_allocate_answer(AllocateAnswer((FULL, ContainerResponse())))
    )
    first, second = answer.responses
    assert (first.envs, first.annotations) == (FULL.envs, FULL.annotations)
    assert (first.mounts, first.devices, first.cdi_devices) == (FULL.mounts, FULL.devices, FULL.cdi_devices)
    assert second == ContainerResponse()
    assert pb.ContainerAllocateResponse.FromString(first.raw).envs == dict(FULL.envs)
    assert messages.decode_allocate_answer(b"") == AllocateAnswer(())


def test_equal_answers_have_equal_bytes() -> None:
    """The order of map entries on the wire does not reach the checkpoint."""
    one = pb.AllocateResponse.FromString(b"\x0a\x10" + b"\x0a\x06\x0a\x01a\x12\x01x" + b"\x0a\x06\x0a\x01b\x12\x01y")
    other = b"\x0a\x10" + b"\x0a\x06\x0a\x01b\x12\x01y" + b"\x0a\x06\x0a\x01a\x12\x01x"
    assert messages.decode_allocate_answer(one.SerializeToString()) == messages.decode_allocate_answer(other)


def test_an_entry_of_a_checkpoint_keeps_its_bytes() -> None:
    """Whoever wrote them, in whatever order, with whatever unknown field: they are written back as read. Rules: CP-18"""
    raw = b"\x0a\x06\x0a\x01b\x12\x01y\x0a\x06\x0a\x01a\x12\x01x\x7a\x01!"
    response = messages.decode_container_response(raw)
    assert response.raw == raw
    assert response.envs == {"a": "x", "b": "y"}
    assert messages.decode_container_response(b"") == ContainerResponse()
    assert messages.decode_container_response(messages.encode_container_response(FULL)).cdi_devices == FULL.cdi_devices


@pytest.mark.parametrize(
    "raw, cause",
    [
        (b"\x0a\x03\x0a\x01\xff", "string field contains invalid UTF-8"),
        (b"\x0a\x03\x12\x01\xff", "string field contains invalid UTF-8"),
        (b"\x12\x03\x0a\x01\xff", "string field contains invalid UTF-8"),
        (b"\x0a", "proto: cannot parse invalid wire-format data"),
        (b"\x0a\x05abc", "proto: cannot parse invalid wire-format data"),
        (b"\x12\x03\x0a\x01\xff\x0a", "proto: cannot parse invalid wire-format data"),
        (b"not a message", "proto: cannot parse invalid wire-format data"),
    ],
)
def test_bytes_that_are_no_response_say_why(raw: bytes, cause: str) -> None:
    """The two causes that the kubelet tells apart, in its words. Rules: DM-125, DM-145"""
    with pytest.raises(ValueError) as failure:
        messages.decode_container_response(raw)
    assert str(failure.value) == cause
