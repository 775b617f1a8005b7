"""Answers of the pod resources API as documents in the names of the API, and as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kubelet_sim.model.ids import DeviceID, NumaNode
from kubelet_sim.model.plain import plain
from kubelet_sim.model.pod_resources import (
    AllocatableResources,
    ApiVersion,
    ContainerResources,
    DeviceEntry,
    MemoryEntry,
    PodResources,
)
from kubelet_sim.present.tables import table_text

_UNITS = (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def list_document(pods: Iterable[PodResources], version: ApiVersion) -> dict[str, Any]:
    """The answer to `List`, in its order; the older version has names and ids only. Rules: PR-8, PR-9"""
    return {"pod_resources": [_pod(pod, is_older=version is ApiVersion.V1ALPHA1) for pod in pods]}


def pod_document(pod: PodResources) -> dict[str, Any]:
    """The answer to `Get` as plain values, for programs."""
    return {"pod_resources": _pod(pod)}


def allocatable_document(resources: AllocatableResources) -> dict[str, Any]:
    """The answer to `GetAllocatableResources` as plain values, for programs."""
    return {
        "devices": [_device(entry) for entry in resources.devices],
        "cpu_ids": list(resources.cpu_ids),
        "memory": [_memory(entry) for entry in resources.memory],
    }


def _pod(pod: PodResources, *, is_older: bool = False) -> dict[str, Any]:
    containers = [_older_container(each) if is_older else _container(each) for each in pod.containers]
    return {"name": pod.name, "namespace": pod.namespace, "containers": containers}


def _older_container(container: ContainerResources) -> dict[str, Any]:
    return {"name": container.name, "devices": [_device(entry) for entry in container.devices]}


def _container(container: ContainerResources) -> dict[str, Any]:
    claims = [
        {
            "claim_name": claim.claim_name,
            "claim_namespace": claim.claim_namespace,
            "claim_resources": [
                {key: value for key, value in plain(device).items() if value is not None}
                | {"cdi_devices": [{"name": name} for name in device.cdi_devices]}
                for device in claim.devices
            ],
        }
        for claim in container.dynamic_resources
    ]
    return {
        **_older_container(container),
        "cpu_ids": list(container.cpu_ids),
        "memory": [_memory(entry) for entry in container.memory],
        "dynamic_resources": claims,
    }


def _device(entry: DeviceEntry) -> dict[str, Any]:
    return {"resource_name": entry.resource, "device_ids": list(entry.device_ids)} | _topology(entry.numa_nodes)


def _memory(entry: MemoryEntry) -> dict[str, Any]:
    return {"memory_type": entry.memory_type, "size": entry.size_bytes} | _topology(entry.numa_nodes)


def _topology(nodes: Sequence[NumaNode] | None) -> dict[str, Any]:
    """Its presence says more than the number in it. Rules: PR-10"""
    return {} if nodes is None else {"topology": {"nodes": [{"ID": node} for node in nodes]}}


def pods_table(pods: Iterable[PodResources], *, wide: bool = False) -> str:
    """A line for each container and kind of device in it; empty for no pods. Sorted by namespace and name."""
    ordered = sorted(pods, key=lambda pod: (pod.namespace, pod.name))
    rows = [
        [pod.namespace, pod.name, container.name, *cells, numbers(container.cpu_ids), *_further(container, wide=wide)]
        for pod in ordered
        for container in pod.containers
        for cells in _groups(container.devices)
    ]
    titles = ["NAMESPACE", "POD", "CONTAINER", "RESOURCE", "DEVICES", "NUMA", "CPUS"]
    return table_text([*titles, "MEMORY", "CLAIMS"] if wide else titles, rows) if rows else ""


def allocatable_table(resources: AllocatableResources, *, wide: bool = False) -> str:
    """A line for each resource and set of nodes, then CPUs and memory, if there are any; empty if there is nothing."""
    rows = [list(cells) for cells in _groups(resources.devices)] if resources.devices else []
    if resources.cpu_ids:
        rows.append(["cpu", numbers(resources.cpu_ids), "-"])
    if wide:
        rows += [
            [each.memory_type, size_text(each.size_bytes), numa_text(each.numa_nodes)] for each in resources.memory
        ]
    return table_text(["RESOURCE", "DEVICES", "NUMA"], rows) if rows else ""


def _further(container: ContainerResources, *, wide: bool) -> Iterator[str]:
    if wide:
        memory = [
            f"{each.memory_type} {size_text(each.size_bytes)} on {numa_text(each.numa_nodes)}"
            for each in container.memory
        ]
        claims = [
            f"{claim.claim_namespace}/{claim.claim_name}: {', '.join(device.device_name for device in claim.devices)}"
            for claim in container.dynamic_resources
        ]
        yield "; ".join(memory) or "-"
        yield "; ".join(claims) or "-"


def _groups(entries: Sequence[DeviceEntry]) -> Iterator[tuple[str, str, str]]:
    """Resource, ids and nodes: each device once, those with the same nodes together; dashes for no device. Rules: PR-22"""
    nodes_of: dict[tuple[str, DeviceID], set[NumaNode] | None] = {}
    for entry in entries:
        for device in entry.device_ids:
            known = nodes_of.setdefault((entry.resource, device), None)
            if entry.numa_nodes is not None:
                nodes_of[entry.resource, device] = {*(known or ()), *entry.numa_nodes}
    groups: dict[tuple[str, str], list[str]] = {}
    for (resource, device), nodes in sorted(nodes_of.items(), key=lambda item: item[0]):
        groups.setdefault((resource, numa_text(nodes)), []).append(device or "(no id)")
    for (resource, nodes_text), ids in groups.items():
        yield resource, ", ".join(ids), nodes_text
    if not groups:
        yield "-", "-", "-"


def numa_text(nodes: Iterable[NumaNode] | None) -> str:
    """The nodes; `-` for no topology, `none` for one without nodes."""
    return "-" if nodes is None else ",".join(map(str, sorted(nodes))) or "none"


def numbers(values: Iterable[int]) -> str:
    """`0-2,5` for 0, 1, 2 and 5, as an operating system writes CPUs; `-` for none."""
    runs: list[tuple[int, int]] = []
    for value in sorted(set(values)):
        if runs and value == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs) or "-"


def size_text(size_bytes: int) -> str:
    """An amount of memory in the largest unit that divides it."""
    fitting = (f"{size_bytes // unit}{name}" for name, unit in _UNITS if size_bytes and not size_bytes % unit)
    return next(fitting, str(size_bytes))
