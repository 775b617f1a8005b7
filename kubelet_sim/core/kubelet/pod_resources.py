"""What the pod resources API says of pods and of the node: which containers, and what each of them holds.

Which pods are asked about is the business of whoever knows them; how it is sent is that of `wire`.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import field, frozen

from kubelet_sim.core.cpus.cpu_manager import CpuAllocations
from kubelet_sim.core.devices.device_views import allocatable_devices, allocatable_entries, device_entries
from kubelet_sim.core.ports import Order, Sorted
from kubelet_sim.core.state import State
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.pod_resources import (
    AllocatableResources,
    ApiVersion,
    ContainerResources,
    DeviceEntry,
    PodResources,
)


@frozen
class ResourcesView:
    """Looks at the tables of a device manager, and at the allocations of exclusive cpus if there are any.

    Memory and claims are always empty: nobody here manages any. Rules: PR-28, PR-29, PR-30
    """

    state: State
    cpus: CpuAllocations | None = None
    order: Order = field(factory=Sorted)

    def pods(self, pods: Iterable[Pod], version: ApiVersion = ApiVersion.V1) -> tuple[PodResources, ...]:
        """The pods, one entry each, in an order that is open. Rules: PR-11, PR-14"""
        by_uid = {pod.uid: pod for pod in pods}
        arranged = self.order.arrange("PR-11", by_uid)
        show = self.pod if version is ApiVersion.V1 else self.pod_of_v1alpha1
        return tuple(show(by_uid[uid]) for uid in arranged)

    def pod(self, pod: Pod) -> PodResources:
        """Sidecars, then app containers, each in the order of the spec, those that hold nothing too.

        Rules: PR-14, PR-15, PR-27, PR-30
        """
        sidecars = [each for each in pod.init_containers if each.kind is ContainerKind.SIDECAR]
        containers = tuple(
            ContainerResources(each.name, self._devices(pod.uid, each), self._cpu_ids(pod.uid, each))
            for each in (*sidecars, *pod.containers)
        )
        return PodResources(pod.name, pod.namespace, containers)

    def pod_of_v1alpha1(self, pod: Pod) -> PodResources:
        """App containers with their devices; a device on two nodes is there twice, without either. Rules: PR-9, PR-31"""
        containers = tuple(
            ContainerResources(each.name, tuple(map(_without_topology, self._devices(pod.uid, each))))
            for each in pod.containers
        )
        return PodResources(pod.name, pod.namespace, containers)

    def allocatable(self, *, with_unhealthy: bool = False) -> AllocatableResources:
        """What the node has to give, in use or not. Rules: PR-20, PR-25, PR-26"""
        devices = allocatable_devices(self.state, with_unhealthy=with_unhealthy)
        cpu_ids = () if self.cpus is None else self.cpus.ids(self.cpus.all())
        return AllocatableResources(allocatable_entries(devices, self.order), cpu_ids)

    def _devices(self, uid: PodUID, container: Container) -> tuple[DeviceEntry, ...]:
        records = self.state.allocations.of_container(uid, container.name)
        return device_entries({resource: record.devices for resource, record in records.items()}, self.order)

    def _cpu_ids(self, uid: PodUID, container: Container) -> tuple[int, ...]:
        return () if self.cpus is None else self.cpus.ids(self.cpus.held.get((uid, container.name), frozenset()))


def _without_topology(entry: DeviceEntry) -> DeviceEntry:
    return DeviceEntry(entry.resource, entry.device_ids)
