"""Who has which device: the records of pods, and the set of ids in use.

`records` is the real book-keeping; `in_use` is a cache of it that is normally equal to the union of the records. Where the
kubelet lets the two part (DM-97, DM-102), so do we, and say so: `forgotten` and `leaked` name the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView, Mapping

from attrs import define, field, frozen

from kubelet_sim.core.devices.available_devices import FreeIds
from kubelet_sim.core.devices.device_holders import Holder, Holders
from kubelet_sim.core.ports import Order
from kubelet_sim.model.checkpoint import CheckpointEntry
from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.response import ContainerResponse


@frozen
class AllocationRecord:
    """The devices of one (pod, container, resource), and the answer that came with them."""

    devices: Mapping[NumaNode, tuple[DeviceID, ...]] = field(hash=False)
    """By NUMA node at the moment of allocation, −1 for none; an id stands under each of its nodes. Rules: DM-56, DM-100"""
    response: ContainerResponse
    ids: frozenset[DeviceID] = field(init=False, eq=False, repr=False)
    """The ids, whatever their nodes."""

    @ids.default
    def _all_ids(self) -> frozenset[DeviceID]:
        return frozenset(device for devices in self.devices.values() for device in devices)


RecordKey = tuple[PodUID, ContainerName, ResourceName]
_ContainerRecords = dict[ResourceName, AllocationRecord]


@define
class Allocations:
    """The records, and what counts as in use because of them."""

    _records: dict[RecordKey, AllocationRecord] = field(factory=dict)
    """In order of recording."""
    _by_pod: dict[PodUID, dict[ContainerName, _ContainerRecords]] = field(factory=dict)
    """The same records, for looking."""
    _holders: Holders = field(factory=Holders)
    _entries: dict[RecordKey, CheckpointEntry] = field(factory=dict, eq=False)
    """What a checkpoint has of the records, each made when it is first asked for, in the order of the checkpoint."""
    _unwritten: dict[RecordKey, AllocationRecord] = field(factory=dict, eq=False)
    """Records without an entry yet."""
    _in_order: tuple[CheckpointEntry, ...] | None = field(default=(), eq=False)
    """All entries; `None` when they have changed."""
    in_use: dict[ResourceName, set[DeviceID]] = field(factory=dict)
    """A key alone, with an empty set, makes the name one of the device manager's. Rules: DM-83"""
    _free: dict[ResourceName, FreeIds] = field(factory=dict, eq=False)
    """What was free when somebody last looked, less what was taken since."""
    shared: set[tuple[ResourceName, DeviceID]] = field(factory=set)
    """Ids that two pods hold because of a race the kubelet has, or a checkpoint that says so. Rules: DM-97, DM-145"""

    def __iter__(self) -> Iterator[tuple[RecordKey, AllocationRecord]]:
        return iter(self._records.items())

    def pods(self) -> KeysView[PodUID]:
        """Every pod with a record, in order of the first one; a view that changes with the allocations."""
        return self._by_pod.keys()

    def of_container(self, pod: PodUID, container: ContainerName) -> Mapping[ResourceName, AllocationRecord]:
        """The records of one container by resource; empty if it has none."""
        return self._by_pod.get(pod, {}).get(container, {})

    def record(self, pod: PodUID, container: ContainerName, resource: ResourceName) -> AllocationRecord | None:
        """The record of a resource that a container has, if it has any of it."""
        return self.of_container(pod, container).get(resource)

    def ids_of_pod(self, pod: PodUID, resource: ResourceName) -> frozenset[DeviceID]:
        """What all records of the pod have of the resource, those of containers that it has no more included."""
        records = (resources.get(resource) for resources in self._by_pod.get(pod, {}).values())
        return frozenset(device for record in records if record is not None for device in record.ids)

    def holders(self, resource: ResourceName, device: DeviceID) -> tuple[Holder, ...]:
        """Every container that has the device in a record, in order of recording."""
        return self._holders.of(resource, device)

    def entries(self, order: Order) -> tuple[CheckpointEntry, ...]:
        """The records as a checkpoint has them, new ones behind those of the last checkpoint.

        An entry is made once, and stays the same value in its place until its record goes.

        Rules: CP-5, CP-6
        """
        for key in order.arrange("CP-6", self._unwritten):
            self._entries[key] = _entry(key, self._unwritten[key], order)
            self._in_order = None
        self._unwritten.clear()
        if self._in_order is None:
            self._in_order = tuple(self._entries.values())
        return self._in_order

    def enter(self, key: RecordKey, record: AllocationRecord) -> frozenset[DeviceID]:
        """Record an allocation in place of an earlier one for the same key; answers with ids that another pod holds, too.

        The ids in use are left as they are: they were entered when they were chosen. Rules: DM-97, DM-100
        """
        pod, container, resource = key
        also_held = self._also_held(pod, resource, record.ids)
        self.shared |= {(resource, device) for device in also_held}
        self._drop(key)
        self._records[key] = self._unwritten[key] = record
        self._by_pod.setdefault(pod, {}).setdefault(container, {})[resource] = record
        self._holders.add(resource, record.ids, (pod, container))
        return also_held

    def take(self, resource: ResourceName, device: DeviceID) -> None:
        """Count an id as in use, before it is recorded."""
        self.in_use.setdefault(resource, set()).add(device)
        if (free := self._free.get(resource)) is not None:
            free.take(device)

    def know(self, resource: ResourceName) -> set[DeviceID]:
        """The ids in use; makes the name known if it was not. Rules: DM-83"""
        return self.in_use.setdefault(resource, set())

    def free(self, resource: ResourceName, healthy: frozenset[DeviceID]) -> FreeIds:
        """The healthy ids that are not in use; the name is known then. Rules: DM-83, DM-90"""
        free = self._free.get(resource)
        if free is None or free.healthy is not healthy:
            free = self._free[resource] = FreeIds(healthy, self.know(resource))
        self.know(resource)
        return free

    def release(self, pods: Iterable[PodUID]) -> None:
        """Drop the records of these pods and count anew."""
        for pod in pods:
            for container, resources in self._by_pod.pop(pod).items():
                for resource in resources:
                    self._drop((pod, container, resource))
        self.recount()

    def recount(self) -> None:
        """Make the ids in use the union of the records: chosen but unrecorded ids are free again, bare names forgotten.

        Rules: DM-97, DM-102
        """
        resources = dict.fromkeys(resource for _, _, resource in self._records)
        self.in_use = {resource: self._holders.ids(resource) for resource in resources}
        self._free.clear()
        self.shared = {device_of for device_of in self.shared if len(self._holders.pods(*device_of)) > 1}

    def forgotten(self) -> frozenset[tuple[ResourceName, DeviceID]]:
        """Recorded ids that count as free all the same. Rules: DM-97"""
        return self._recorded() - self._taken()

    def unrecorded(self) -> frozenset[tuple[ResourceName, DeviceID]]:
        """Ids in use that nobody has: being allocated at this moment, or leaked. Rules: DM-102"""
        return self._taken() - self._recorded()

    def _recorded(self) -> frozenset[tuple[ResourceName, DeviceID]]:
        return frozenset((resource, device) for (_, _, resource), record in self for device in record.ids)

    def _taken(self) -> frozenset[tuple[ResourceName, DeviceID]]:
        return frozenset((resource, device) for resource, devices in self.in_use.items() for device in devices)

    def _also_held(self, pod: PodUID, resource: ResourceName, ids: frozenset[DeviceID]) -> frozenset[DeviceID]:
        held = self._holders.held(resource, ids)
        return frozenset(device for device in held if self._holders.pods(resource, device) - {pod})

    def _drop(self, key: RecordKey) -> None:
        """Forget a record, if there is one, but in the view by pod."""
        if (record := self._records.pop(key, None)) is not None:
            pod, container, resource = key
            self._holders.remove(resource, record.ids, (pod, container))
            self._unwritten.pop(key, None)
            if self._entries.pop(key, None) is not None:
                self._in_order = None


def _entry(key: RecordKey, record: AllocationRecord, order: Order) -> CheckpointEntry:
    devices = {int(numa): tuple(order.arrange("CP-6", ids)) for numa, ids in record.devices.items()}
    return CheckpointEntry(*key, devices=devices, allocate_response=record.response.raw)
