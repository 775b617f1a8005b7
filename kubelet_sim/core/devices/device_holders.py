"""The records turned round: for each device the containers that hold it.

What is a record, and what counts as in use, is `allocations`; this is its index, so that entering a record does not have to look
at all the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from attrs import define, field

from kubelet_sim.model.ids import ContainerName, DeviceID, PodUID, ResourceName

Holder = tuple[PodUID, ContainerName]
_NOBODY: dict[Holder, None] = {}


@define
class Holders:
    """Every container that has a device in a record, in order of recording."""

    _of: dict[ResourceName, dict[DeviceID, dict[Holder, None]]] = field(factory=dict)

    def add(self, resource: ResourceName, ids: Iterable[DeviceID], holder: Holder) -> None:
        """The container has these devices, too."""
        devices = self._of.setdefault(resource, {})
        for device in ids:
            devices.setdefault(device, {})[holder] = None

    def remove(self, resource: ResourceName, ids: Iterable[DeviceID], holder: Holder) -> None:
        """The container does not have these devices any more."""
        devices = self._of[resource]
        for device in ids:
            del devices[device][holder]
            if not devices[device]:
                del devices[device]

    def of(self, resource: ResourceName, device: DeviceID) -> tuple[Holder, ...]:
        """The containers that hold a device; nobody is empty."""
        return tuple(self._of.get(resource, {}).get(device, _NOBODY))

    def pods(self, resource: ResourceName, device: DeviceID) -> frozenset[PodUID]:
        """The pods whose containers hold the device."""
        return frozenset(pod for pod, _ in self.of(resource, device))

    def held(self, resource: ResourceName, ids: AbstractSet[DeviceID]) -> AbstractSet[DeviceID]:
        """Those of the ids that somebody holds."""
        return self._of.get(resource, {}).keys() & ids

    def ids(self, resource: ResourceName) -> set[DeviceID]:
        """Every device of the resource that somebody holds; a set of the caller's own."""
        return set(self._of.get(resource, ()))
