"""The two read-only views of devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest

from kubelet_sim.core.devices.allocations import AllocationRecord
from kubelet_sim.core.devices.device_views import allocatable_devices, device_entries, devices_of_container
from kubelet_sim.core.ports import Order, Sorted
from kubelet_sim.core.state import State
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.response import ContainerResponse

DEV = ResourceName("example.com/dev")
A, B = DeviceID("a"), DeviceID("b")
T = TypeVar("T")


def test_allocatable_devices_are_the_healthy_ones() -> None:
    """An unhealthy device is left out, one in use is not. Rules: DM-71"""
    state = State(
        healthy={DEV: frozenset({A})},
        unhealthy={DEV: {B}},
        devices={DEV: {A: Device(A), B: Device(B, "Unhealthy")}},
    )
    state.allocations.take(DEV, A)
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
    state.allocations.enter((pod, container, DEV), record)
    assert devices_of_container(state, pod, container) == {DEV: {A: (0, 1), B: (1,)}}
    assert devices_of_container(state, pod, ContainerName("other")) == {}


class _Backwards:
    """The order that nobody would expect."""

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        return list(items)[::-1]


@pytest.mark.parametrize(
    "order, seen",
    [(Sorted(), [(NumaNode(0),), (NumaNode(1),)]), (_Backwards(), [None])],
    ids=["no node first", "no node last"],
)
def test_an_id_with_and_without_node_reads_as_either(order: Order, seen: list[tuple[NumaNode, ...] | None]) -> None:
    """What the kubelet comes by last decides: −1 wipes out what was before, a node begins anew. Rules: PR-24"""
    record = {DEV: {NumaNode(-1): (A,), NumaNode(0): (A,), NumaNode(1): (A,)}}
    assert [entry.numa_nodes for entry in device_entries(record, order)] == seen


def test_the_earliest_kubelets_list_unhealthy_devices_too() -> None:
    """Everything that was ever listed then counts as allocatable. Rules: DM-71, DM-164, PR-26"""
    state = State(
        healthy={DEV: frozenset({A})},
        unhealthy={DEV: {B}},
        devices={DEV: {A: Device(A), B: Device(B, "Unhealthy")}},
    )
    assert allocatable_devices(state, with_unhealthy=True) == {DEV: (Device(A), Device(B, "Unhealthy"))}
