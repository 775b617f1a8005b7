"""Who has which device: the records of pods, and the set of ids in use.

`records` is the real book-keeping; `in_use` is a cache of it that is normally equal to the union of the records. Where the
kubelet lets the two part (DM-97, DM-102), so do we, and say so: `forgotten` and `leaked` name the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import define, field, frozen

from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.response import ContainerResponse


@frozen
class AllocationRecord:
    """The devices of one (pod, container, resource), and the answer that came with them."""

    devices: Mapping[NumaNode, tuple[DeviceID, ...]] = field(hash=False)
    """By NUMA node at the moment of allocation, −1 for none; an id stands under each of its nodes. Rules: DM-56, DM-100"""
    response: ContainerResponse

    @property
    def ids(self) -> frozenset[DeviceID]:
        """The ids, whatever their nodes."""
        return frozenset(device for devices in self.devices.values() for device in devices)


RecordKey = tuple[PodUID, ContainerName, ResourceName]
_ContainerRecords = dict[ResourceName, AllocationRecord]


@define
class Books:
    """The records, and what counts as in use because of them."""

    _records: dict[PodUID, dict[ContainerName, _ContainerRecords]] = field(factory=dict)
    in_use: dict[ResourceName, set[DeviceID]] = field(factory=dict)
    """A key alone, with an empty set, makes the name one of the device manager's. Rules: DM-83"""
    shared: set[tuple[ResourceName, DeviceID]] = field(factory=set)
    """Ids that two pods hold because of a race the kubelet has, or a checkpoint that says so. Rules: DM-97, DM-145"""

    def __iter__(self) -> Iterator[tuple[RecordKey, AllocationRecord]]:
        for pod, containers in self._records.items():
            for container, resources in containers.items():
                for resource, record in resources.items():
                    yield (pod, container, resource), record

    def pods(self) -> frozenset[PodUID]:
        """Every pod with a record."""
        return frozenset(self._records)

    def of_container(self, pod: PodUID, container: ContainerName) -> Mapping[ResourceName, AllocationRecord]:
        """The records of one container by resource; empty if it has none."""
        return self._records.get(pod, {}).get(container, {})

    def record(self, pod: PodUID, container: ContainerName, resource: ResourceName) -> AllocationRecord | None:
        """One record."""
        return self.of_container(pod, container).get(resource)

    def holders(self, resource: ResourceName, device: DeviceID) -> tuple[tuple[PodUID, ContainerName], ...]:
        """Every container that has the device in a record, in order of recording."""
        return tuple((pod, name) for (pod, name, of), record in self if of == resource and device in record.ids)

    def enter(self, key: RecordKey, record: AllocationRecord) -> frozenset[DeviceID]:
        """Record an allocation in place of an earlier one for the same key; answers with ids that another pod holds, too.

        The ids in use are left as they are: they were entered when they were chosen. Rules: DM-97, DM-100
        """
        pod, container, resource = key
        also_held = record.ids & self._ids_of_others(pod, resource)
        self.shared |= {(resource, device) for device in also_held}
        self._records.setdefault(pod, {}).setdefault(container, {})[resource] = record
        return also_held

    def take(self, resource: ResourceName, device: DeviceID) -> None:
        """Count an id as in use, before it is recorded."""
        self.in_use.setdefault(resource, set()).add(device)

    def know(self, resource: ResourceName) -> set[DeviceID]:
        """The ids in use; makes the name known if it was not. Rules: DM-83"""
        return self.in_use.setdefault(resource, set())

    def release(self, pods: Iterable[PodUID]) -> None:
        """Drop the records of these pods and count anew."""
        for pod in pods:
            del self._records[pod]
        self.recount()

    def recount(self) -> None:
        """Make the ids in use the union of the records: chosen but unrecorded ids are free again, bare names forgotten.

        Rules: DM-97, DM-102
        """
        self.in_use = {}
        owners: dict[tuple[ResourceName, DeviceID], set[PodUID]] = {}
        for (pod, _, resource), record in self:
            self.in_use.setdefault(resource, set()).update(record.ids)
            for device in record.ids:
                owners.setdefault((resource, device), set()).add(pod)
        self.shared = {device_of for device_of in self.shared if len(owners.get(device_of, ())) > 1}

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

    def _ids_of_others(self, pod: PodUID, resource: ResourceName) -> set[DeviceID]:
        return {d for (uid, _, of), held in self if uid != pod and of == resource for d in held.ids}
