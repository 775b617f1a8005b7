"""A pod as `kubectl get pod -o json` would show it: the manifest with the status that the kubelet reports.

Times are left out: a node's clock counts from its start, and what would be made up helps nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubelet_sim.model.ids import DeviceID, ResourceName
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.node.pod_status import PodHealth
from kubelet_sim.node.pods import KnownPod
from kubelet_sim.node.runtime import ContainerState, SimulatedContainer, SimulatedRuntime


def pod_object(known: KnownPod, runtime: SimulatedRuntime, health: PodHealth) -> dict[str, Any]:
    """The Pod of the API: what was applied, completed by name, namespace and uid, and its status.

    `health` is what the API server was told last.

    Rules: DM-77, DM-104, DM-155, DM-156, DM-158
    """
    pod = known.pod
    manifest = dict(pod.manifest)
    metadata = {**manifest.get("metadata", {}), "name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    status = {"phase": known.phase, "reason": known.reason, "message": known.message}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        **manifest,
        "metadata": metadata,
        "status": {
            **{name: text for name, text in status.items() if text},
            **_container_statuses(pod, known, runtime, health),
        },
    }


def _container_statuses(pod: Pod, known: KnownPod, runtime: SimulatedRuntime, health: PodHealth) -> dict[str, Any]:
    """Nothing for a pod that was refused: its containers never were. Rules: DM-77"""
    if known.is_terminal and known.reason:
        return {}
    images = _images(pod)

    def status(container: Container) -> dict[str, Any]:
        held = runtime.container(pod.uid, container.name)
        told = _container_status(container, held, images.get(container.name, ""))
        resources = health.get(container.name)
        return {**told, "allocatedResourcesStatus": _resource_statuses(resources)} if resources else told

    statuses: dict[str, Any] = {"containerStatuses": [status(each) for each in pod.containers]}
    if pod.init_containers:
        statuses["initContainerStatuses"] = [status(each) for each in pod.init_containers]
    return statuses


def _container_status(container: Container, held: SimulatedContainer, image: str) -> dict[str, Any]:
    is_running = held.state is ContainerState.RUNNING
    has_ended_well = held.state is ContainerState.EXITED and held.reason == "Completed"
    return {
        "name": container.name,
        "image": image,
        "imageID": "",
        "ready": is_running or has_ended_well,
        "started": is_running,
        "restartCount": max(0, held.created_count - 1),
        "state": _state(held),
    }


def _state(held: SimulatedContainer) -> dict[str, Any]:
    match held.state:
        case ContainerState.RUNNING:
            return {"running": {}}
        case ContainerState.EXITED:
            return {"terminated": {"exitCode": 0 if held.reason == "Completed" else 137, "reason": held.reason}}
    waiting = {"reason": held.reason or "PodInitializing", "message": held.message}
    return {"waiting": {name: text for name, text in waiting.items() if text}}


def _resource_statuses(resources: Mapping[ResourceName, Mapping[DeviceID, str]]) -> list[dict[str, Any]]:
    """One element a resource, each device with its id and health. Rules: DM-155"""
    return [
        {"name": name, "resources": [{"resourceID": device, "health": health} for device, health in devices.items()]}
        for name, devices in resources.items()
    ]


def _images(pod: Pod) -> dict[str, str]:
    spec = pod.manifest.get("spec") or {}
    listed = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return {each["name"]: each.get("image") or "" for each in listed}
