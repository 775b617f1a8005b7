from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, TypeVar

import pytest

from kubelet_sim.core.devices.device_views import allocatable_devices, allocatable_entries, device_entries
from kubelet_sim.core.ports import Order, Sorted
from kubelet_sim.core.state import State
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, NumaNode, ResourceName
from kubelet_sim.model.pod_resources import DeviceEntry
from kubelet_sim.wire import pod_resources_messages

VECTOR_FILES = {
    "container": "pod_resources.json#container_devices",
    "allocatable": "pod_resources.json#allocatable_devices",
}
T = TypeVar("T")


class Shuffled:
    """An order that is another one each time."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - shuffles

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        found = list(items)
        self._random.shuffle(found)
        return found


ORDERS = pytest.mark.parametrize("order", [Sorted(), Shuffled(1), Shuffled(2)], ids=["sorted", "seed 1", "seed 2"])


def told(entries: Iterable[DeviceEntry]) -> list[str]:
    """The entries as the vectors have them, comparable as a multiset."""
    documents = ({"resource_name": e.resource, "device_ids": [*e.device_ids], "numa": _numa(e)} for e in entries)
    return sorted(map(repr, documents))


def _numa(entry: DeviceEntry) -> list[int] | None:
    return None if entry.numa_nodes is None else [*entry.numa_nodes]


def _over_the_wire(entries: tuple[DeviceEntry, ...]) -> tuple[DeviceEntry, ...]:
    return tuple(map(pod_resources_messages.device_value, map(pod_resources_messages.device_message, entries)))


@ORDERS
def test_a_record_becomes_the_recorded_entries(container: dict[str, Any], order: Order) -> None:
    """A container's record becomes the recorded entries, whatever the order. Rules: DM-71, PR-21, PR-22, PR-23"""
    allocated = {
        ResourceName(resource): {NumaNode(int(node)): tuple(map(DeviceID, ids)) for node, ids in nodes.items()}
        for resource, nodes in container["allocated"].items()
    }
    entries = device_entries(allocated, order)
    assert told(entries) == sorted(map(repr, container["entries"]))
    assert _over_the_wire(entries) == entries


@ORDERS
def test_listed_devices_become_the_recorded_entries(allocatable: dict[str, Any], order: Order) -> None:
    """What plugins listed becomes the recorded entries, quirks included. Rules: DM-71, PR-23, PR-25, PR-26"""
    state = State()
    for name, listed in allocatable["devices"].items():
        devices = [_device(each) for each in listed]
        state.devices[ResourceName(name)] = {device.id: device for device in devices}
        state.healthy[ResourceName(name)] = frozenset(device.id for device in devices if device.is_healthy)
    entries = allocatable_entries(allocatable_devices(state), order)
    assert told(entries) == sorted(map(repr, allocatable["entries"]))
    assert _over_the_wire(entries) == entries


def _device(listed: dict[str, Any]) -> Device:
    numa = None if listed["numa"] is None else tuple(map(NumaNode, listed["numa"]))
    return Device(DeviceID(listed["id"]), "Healthy" if listed["healthy"] else "Unhealthy", numa)
