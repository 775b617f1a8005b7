"""Between messages of the pod resources API, both versions, and values of the model. Nothing is judged here.

Every `…_value` takes what any server may send: several ids or nodes an entry, fields that a kubelet without managers of
CPUs, memory and claims leaves empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubelet_sim.model.ids import DeviceID, NumaNode, ResourceName
from kubelet_sim.model.pod_resources import (
    AllocatableResources,
    ApiVersion,
    ClaimedDevice,
    ContainerResources,
    DeviceEntry,
    DynamicResource,
    MemoryEntry,
    PodResources,
)
from kubelet_sim.wire.pb import podresources_v1_pb2 as v1
from kubelet_sim.wire.pb import podresources_v1alpha1_pb2 as v1alpha1

SERVICES = {ApiVersion.V1: "v1.PodResourcesLister", ApiVersion.V1ALPHA1: "v1alpha1.PodResourcesLister"}
"""Rules: PR-4"""

ListAnswer = v1.ListPodResourcesResponse | v1alpha1.ListPodResourcesResponse


def list_message(pods: Iterable[PodResources], version: ApiVersion) -> ListAnswer:
    """Return the answer to `List`; the older version has no room for topology, CPUs, memory and claims.

    Rules: PR-8, PR-9
    """
    if version is ApiVersion.V1:
        return v1.ListPodResourcesResponse(pod_resources=map(pod_message, pods))
    return v1alpha1.ListPodResourcesResponse(pod_resources=map(_older_pod_message, pods))


def list_value(answer: ListAnswer) -> tuple[PodResources, ...]:
    """Return the pods of an answer to `List`, in its order."""
    if isinstance(answer, v1.ListPodResourcesResponse):
        return tuple(map(pod_value, answer.pod_resources))
    return tuple(map(_older_pod_value, answer.pod_resources))


def pod_message(pod: PodResources) -> v1.PodResources:
    """The message for one pod, with its containers and their devices. Rules: PR-8"""
    return v1.PodResources(
        name=pod.name,
        namespace=pod.namespace,
        containers=[
            v1.ContainerResources(
                name=each.name,
                devices=map(device_message, each.devices),
                cpu_ids=each.cpu_ids,
                memory=map(_memory_message, each.memory),
                dynamic_resources=map(_dynamic_message, each.dynamic_resources),
            )
            for each in pod.containers
        ],
    )


def pod_value(message: v1.PodResources) -> PodResources:
    """Return what the message says of a pod."""
    containers = (
        ContainerResources(
            each.name,
            tuple(map(device_value, each.devices)),
            tuple(each.cpu_ids),
            tuple(map(_memory_value, each.memory)),
            tuple(map(_dynamic_value, each.dynamic_resources)),
        )
        for each in message.containers
    )
    return PodResources(message.name, message.namespace, tuple(containers))


def allocatable_message(resources: AllocatableResources) -> v1.AllocatableResourcesResponse:
    """Return the answer to `GetAllocatableResources`. Rules: PR-20"""
    return v1.AllocatableResourcesResponse(
        devices=map(device_message, resources.devices),
        cpu_ids=resources.cpu_ids,
        memory=map(_memory_message, resources.memory),
    )


def allocatable_value(message: v1.AllocatableResourcesResponse) -> AllocatableResources:
    """Return what the message says of the node."""
    return AllocatableResources(
        tuple(map(device_value, message.devices)), tuple(message.cpu_ids), tuple(map(_memory_value, message.memory))
    )


def device_message(entry: DeviceEntry) -> v1.ContainerDevices:
    """Return an entry. Node 0 is a node without content, which is more than no topology. Rules: PR-10, PR-22"""
    return v1.ContainerDevices(
        resource_name=entry.resource, device_ids=entry.device_ids, topology=_topology_message(entry.numa_nodes)
    )


def device_value(message: v1.ContainerDevices) -> DeviceEntry:
    """Return what an entry says; whether it has a topology is what counts, not which number is in it. Rules: PR-10"""
    ids = tuple(map(DeviceID, message.device_ids))
    return DeviceEntry(ResourceName(message.resource_name), ids, _nodes(message))


def _topology_message(nodes: Sequence[NumaNode] | None) -> v1.TopologyInfo | None:
    return None if nodes is None else v1.TopologyInfo(nodes=[v1.NUMANode(ID=node) for node in nodes])


def _nodes(message: v1.ContainerDevices | v1.ContainerMemory) -> tuple[NumaNode, ...] | None:
    return tuple(NumaNode(node.ID) for node in message.topology.nodes) if message.HasField("topology") else None


def _memory_message(entry: MemoryEntry) -> v1.ContainerMemory:
    return v1.ContainerMemory(
        memory_type=entry.memory_type, size=entry.size_bytes, topology=_topology_message(entry.numa_nodes)
    )


def _memory_value(message: v1.ContainerMemory) -> MemoryEntry:
    return MemoryEntry(message.memory_type, message.size, _nodes(message))


def _dynamic_message(resource: DynamicResource) -> v1.DynamicResource:
    return v1.DynamicResource(
        claim_name=resource.claim_name,
        claim_namespace=resource.claim_namespace,
        claim_resources=[
            v1.ClaimResource(
                cdi_devices=[v1.CDIDevice(name=name) for name in each.cdi_devices],
                driver_name=each.driver_name,
                pool_name=each.pool_name,
                device_name=each.device_name,
                share_id=each.share_id,
            )
            for each in resource.devices
        ],
    )


def _dynamic_value(message: v1.DynamicResource) -> DynamicResource:
    devices = (
        ClaimedDevice(
            tuple(device.name for device in each.cdi_devices),
            each.driver_name,
            each.pool_name,
            each.device_name,
            each.share_id if each.HasField("share_id") else None,
        )
        for each in message.claim_resources
    )
    return DynamicResource(message.claim_name, message.claim_namespace, tuple(devices))


def _older_pod_message(pod: PodResources) -> v1alpha1.PodResources:
    return v1alpha1.PodResources(
        name=pod.name,
        namespace=pod.namespace,
        containers=[
            v1alpha1.ContainerResources(
                name=each.name,
                devices=[
                    v1alpha1.ContainerDevices(resource_name=entry.resource, device_ids=entry.device_ids)
                    for entry in each.devices
                ],
            )
            for each in pod.containers
        ],
    )


def _older_pod_value(message: v1alpha1.PodResources) -> PodResources:
    containers = (
        ContainerResources(
            each.name,
            tuple(
                DeviceEntry(ResourceName(entry.resource_name), tuple(map(DeviceID, entry.device_ids)))
                for entry in each.devices
            ),
        )
        for each in message.containers
    )
    return PodResources(message.name, message.namespace, tuple(containers))
