"""What a story can see of a kubelet, in the plain values in which stories are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any

from kubelet_sim.container.annotation_rules import CDI_PLUGIN
from kubelet_sim.container.cdi.annotations import annotation_key, annotation_value
from kubelet_sim.container.cdi.names import BadName
from kubelet_sim.core.state import State
from kubelet_sim.errors import PreparationFailed
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.node import NodeStatusRound
from kubelet_sim.model.plain import plain
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.pod_resources import AllocatableResources, DeviceEntry, PodResources
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.resource_name import is_extended_resource_name
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.model.views import NodeSnapshot, PodView, ResourceView


def counted(names: Iterable[str]) -> dict[str, int]:
    """How many of each."""
    return dict(Counter(names))


def capacity(done: NodeStatusRound) -> dict[str, Any]:
    """What the device manager answered, and the node's extended resources after it."""
    return {
        "capacity": dict(done.answer.capacity),
        "allocatable": dict(done.answer.allocatable),
        "deleted": sorted(done.answer.deleted),
        "node": {"capacity": _extended(done.node.capacity), "allocatable": _extended(done.node.allocatable)},
    }


def _extended(amounts: Mapping[str, Quantity]) -> dict[str, int]:
    return {name: amount.value for name, amount in amounts.items() if is_extended_resource_name(name)}


async def container(preparation: Awaitable[ContainerSpec | None]) -> dict[str, Any]:
    """The container's options, each list sorted; `None` if nothing is recorded; or the error."""
    try:
        spec = await preparation
    except PreparationFailed as failure:
        return {"error": failure.text}
    return {"options": None if spec is None else options(spec)}


def with_cdi_annotation(told: Mapping[str, Any], pod: Pod, name: ContainerName) -> dict[str, Any]:
    """Such options as the device manager of 1.28 to 1.31 answers them: CDI names are in an annotation, too.

    Without names, or with one that is malformed, there is no annotation.

    Rules: DM-133
    """
    given = told.get("options")
    if not given or not given["cdi"]:
        return dict(told)
    try:
        added = [annotation_key(CDI_PLUGIN, f"{pod.uid}-{name}"), annotation_value(given["cdi"])]
    except BadName:
        return dict(told)
    return {"options": {**given, "annotations": sorted([*given["annotations"], added])}}


def options(spec: ContainerSpec) -> dict[str, Any]:
    """A container spec with each list sorted."""
    return {
        "envs": sorted([name, value] for name, value in spec.envs),
        "mounts": sorted([each.container_path, each.host_path, each.read_only] for each in spec.mounts),
        "devices": sorted([each.container_path, each.host_path, each.permissions] for each in spec.devices),
        "annotations": sorted([name, value] for name, value in spec.annotations),
        "cdi": sorted(spec.cdi_devices),
    }


def allocated(state: State, uid: PodUID, pod: Pod | None) -> dict[str, dict[str, list[str]]]:
    """Recorded ids by container and resource; each container of the pod is there, with a record or without."""
    by_container: dict[str, dict[str, list[str]]] = {}
    for each in pod.all_containers() if pod else ():
        by_container[each.name] = {}
    for (of_pod, name, resource), record in state.books:
        if of_pod == uid:
            by_container.setdefault(name, {})[resource] = sorted(record.ids)
    return by_container


def in_use(state: State) -> dict[str, int]:
    """How many ids of each resource are in use, zeros left out."""
    return {resource: len(ids) for resource, ids in state.books.in_use.items() if ids}


def healths(state: State) -> dict[str, dict[str, list[str]]]:
    """The ids held healthy and unhealthy."""
    return {
        "healthy": {resource: sorted(ids) for resource, ids in state.healthy.items()},
        "unhealthy": {resource: sorted(ids) for resource, ids in state.unhealthy.items()},
    }


def pods_with_resources(pods: Iterable[PodResources]) -> dict[str, Any]:
    """What the pod resources API lists. Rules: PR-14, PR-22"""
    return {"pods": [pod_with_resources(pod) for pod in pods]}


def pod_with_resources(pod: PodResources) -> dict[str, Any]:
    """One pod with the devices of each container it shows."""
    containers = {each.name: [_device_entry(entry) for entry in each.devices] for each in pod.containers}
    return {"pod": f"{pod.namespace}/{pod.name}", "containers": containers}


def allocatable(resources: AllocatableResources) -> dict[str, Any]:
    """What the pod resources API says the node has to give."""
    return {"devices": [_device_entry(entry) for entry in resources.devices]}


def _device_entry(entry: DeviceEntry) -> list[str | int]:
    """`[resource, id, NUMA node]`, without the node if the message has no topology. Rules: PR-10, PR-22"""
    return [entry.resource, *entry.device_ids, *(entry.numa_nodes or ())]


def node(snapshot: NodeSnapshot) -> dict[str, Any]:
    """The node without what lies on it."""
    return {
        "kubelet": snapshot.has_kubelet,
        "version": snapshot.kubelet_version,
        "incarnation": snapshot.incarnation,
        "sources_ready": snapshot.sources_ready,
        "capacity": dict(snapshot.capacity),
        "allocatable": dict(snapshot.allocatable),
    }


def resource(view: ResourceView) -> dict[str, Any]:
    """A resource with its devices by id."""
    found: dict[str, Any] = _without(plain(view), "name", "stopped_at_s")
    found["devices"] = {device.id: _without(plain(device), "id") for device in view.devices}
    return found


def pod(view: PodView) -> dict[str, Any]:
    """A pod with its containers by name."""
    found: dict[str, Any] = _without(plain(view), "name", "namespace", "created_at_s", "requests", "limits")
    found["containers"] = {
        each.name: _without(plain(each), "name", "last_finished_at_s", "id") for each in view.containers
    }
    return found


def pod_name(view: PodView) -> str:
    """With its namespace, unless that is `default`."""
    return view.name if view.namespace == "default" else f"{view.namespace}/{view.name}"


def _without(found: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in keys}
