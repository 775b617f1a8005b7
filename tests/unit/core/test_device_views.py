"""The two read-only views of devices."""

from __future__ import annotations

from kubelet_sim.core.books import AllocationRecord
from kubelet_sim.core.device_views import allocatable_devices, devices_of_container
from kubelet_sim.core.state import State
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.response import ContainerResponse

DEV = ResourceName("example.com/dev")
A, B = DeviceID("a"), DeviceID("b")


def test_allocatable_devices_are_the_healthy_ones() -> None:
    """An unhealthy device is left out, one in use is not. Rules: DM-71"""
    state = State(
        healthy={DEV: frozenset({A})},
        unhealthy={DEV: {B}},
        devices={DEV: {A: Device(A), B: Device(B, "Unhealthy")}},
    )
    state.books.take(DEV, A)
    assert allocatable_devices(state) == {DEV: (Device(A),)}


def test_a_lost_plugin_has_no_allocatable_devices() -> None:
    """The table keeps what was sent, the healthy set decides. Rules: DM-44, DM-71"""
    state = State(healthy={DEV: frozenset()}, unhealthy={DEV: {A}}, devices={DEV: {A: Device(A)}})
    assert allocatable_devices(state) == {DEV: ()}


def test_a_container_has_its_devices_with_their_nodes() -> None:
    """A device on two nodes is one device with two nodes; later changes of its topology do not show. Rules: DM-56, DM-71"""
    state = State()
    pod, container = PodUID("u"), ContainerName("c")
    record = AllocationRecord({NumaNode(0): (A,), NumaNode(1): (A, B)}, ContainerResponse())
    state.books.enter((pod, container, DEV), record)
    assert devices_of_container(state, pod, container) == {DEV: {A: (0, 1), B: (1,)}}
    assert devices_of_container(state, pod, ContainerName("other")) == {}
