"""What the pod resources API says of pods and of the node, as values: the shape of its messages, without their format.

A kubelet says less than the format could hold (one id and one node an entry); what others send fits as well.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from kubelet_sim.model.ids import DeviceID, NumaNode, ResourceName

POD_RESOURCES_SOCKET = "kubelet.sock"
"""The name of the API's socket, in the directory `pod-resources`. Rules: PR-1"""


class ApiVersion(Enum):
    """The two services on one socket. Rules: PR-4"""

    V1 = "v1"
    V1ALPHA1 = "v1alpha1"


@frozen
class DeviceEntry:
    """The devices of one resource on one set of NUMA nodes, a `ContainerDevices` of the API. Rules: PR-8, PR-22"""

    resource: ResourceName
    device_ids: tuple[DeviceID, ...]
    numa_nodes: tuple[NumaNode, ...] | None = None
    """`None`: the message has no topology; that differs from node 0, and from a topology without nodes. Rules: PR-10"""


@frozen
class MemoryEntry:
    """A `ContainerMemory`: one block, with all its nodes. Rules: PR-28"""

    memory_type: str
    """`memory`, `hugepages-2Mi`, …"""
    size_bytes: int
    numa_nodes: tuple[NumaNode, ...] | None = None


@frozen
class ClaimedDevice:
    """A `ClaimResource`: one device of a claim. Rules: PR-29"""

    cdi_devices: tuple[str, ...]
    driver_name: str
    pool_name: str
    device_name: str
    share_id: str | None = None


@frozen
class DynamicResource:
    """What one claim brings to a container. Rules: PR-29"""

    claim_name: str
    claim_namespace: str
    devices: tuple[ClaimedDevice, ...] = ()


@frozen
class ContainerResources:
    """One container of a pod. Rules: PR-14, PR-15"""

    name: str
    devices: tuple[DeviceEntry, ...] = ()
    cpu_ids: tuple[int, ...] = ()
    """CPUs that it has to itself. Rules: PR-27"""
    memory: tuple[MemoryEntry, ...] = ()
    dynamic_resources: tuple[DynamicResource, ...] = ()


@frozen
class PodResources:
    """One pod; its uid is not told. Rules: PR-8, PR-14"""

    name: str
    namespace: str
    containers: tuple[ContainerResources, ...] = ()


@frozen
class AllocatableResources:
    """What the node has to give, in use or not. Rules: PR-20"""

    devices: tuple[DeviceEntry, ...] = ()
    cpu_ids: tuple[int, ...] = ()
    memory: tuple[MemoryEntry, ...] = ()
