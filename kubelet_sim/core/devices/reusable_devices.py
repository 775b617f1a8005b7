"""What init containers hand on to the containers after them. Holds one pod at a time, as the kubelet's table does."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field

from kubelet_sim.core.devices.allocations import AllocationRecord
from kubelet_sim.model.ids import DeviceID, PodUID, ResourceName
from kubelet_sim.model.pod import ContainerKind


@define
class ReuseTable:
    """Ids that the next container of a pod may take over, by resource."""

    _pod: PodUID | None = None
    _ids: dict[ResourceName, set[DeviceID]] = field(factory=dict)

    def begin(self, pod: PodUID) -> None:
        """A container of this pod is about to be allocated: what other pods left is gone. Rules: DM-86, TM-59"""
        if pod != self._pod:
            self._pod, self._ids = pod, {}

    def of(self, pod: PodUID, resource: ResourceName) -> frozenset[DeviceID]:
        """Ids of the resource that the next container of the pod may take over."""
        return frozenset(self._ids.get(resource, ())) if pod == self._pod else frozenset()

    def settle(self, kind: ContainerKind, records: Mapping[ResourceName, AllocationRecord]) -> None:
        """A container has been allocated: an init container hands on all it has, any other keeps what it took.

        Rules: DM-86, DM-87, TM-59
        """
        for resource, record in records.items():
            if kind is ContainerKind.INIT:
                self._ids.setdefault(resource, set()).update(record.ids)
            else:
                self._ids.get(resource, set()).difference_update(record.ids)
