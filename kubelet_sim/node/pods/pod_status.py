"""A pod as `kubectl get pod -o json` would show it: the manifest with the status that the kubelet reports.

Times are left out: a node's clock counts from its start, and what would be made up helps nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubelet_sim.model.ids import DeviceID, ResourceName
from kubelet_sim.model.pod import ContainerKind, Pod
from kubelet_sim.node.pods.container_status import EXITED, RUNNING, ContainerStatus
from kubelet_sim.node.pods.pod_table import KnownPod
from kubelet_sim.node.pods.scripted_containers import image_of
from kubelet_sim.node.pods.simulated_runtime import RuntimeContainer, SimulatedRuntime
from kubelet_sim.node.pods.status_manager import PodHealth


def pod_object(known: KnownPod, runtime: SimulatedRuntime, health: PodHealth) -> dict[str, Any]:
    """The Pod of the API: what was applied last, completed by name, namespace and uid, and its status.

    `health` is what the API server was told last.

    Rules: DM-77, DM-104, DM-114, DM-155, DM-156, DM-158
    """
    pod = known.pod
    manifest = dict(known.desired.manifest)
    metadata = {**manifest.get("metadata", {}), "name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    if known.is_deleting:
        metadata["deletionGracePeriodSeconds"] = int(known.grace_s)
    status = {"phase": known.phase, "reason": known.reason, "message": known.message}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        **manifest,
        "metadata": metadata,
        "status": {
            **{name: text for name, text in status.items() if text},
            **_conditions(known),
            **_container_statuses(pod, known, runtime, health),
        },
    }


def _conditions(known: KnownPod) -> dict[str, Any]:
    """The one that is about resizes, if there is anything to say. Rules: DM-114"""
    why = known.refused_resize
    if why is None:
        return {}
    pending = {"type": "PodResizePending", "status": "True", "reason": why.reason, "message": why.message}
    return {"conditions": [pending]}


def _container_statuses(pod: Pod, known: KnownPod, runtime: SimulatedRuntime, health: PodHealth) -> dict[str, Any]:
    """Nothing for a pod that was refused, or not admitted yet: its containers never were. Rules: DM-77"""
    if known.was_refused or known.verdict is None:
        return {}
    told: dict[str, list[dict[str, Any]]] = {"initContainerStatuses": [], "containerStatuses": []}
    for status in known.statuses(runtime):
        container = status.container
        shown = _container_status(status, image_of(pod, container))
        resources = health.get(container.name)
        if resources:
            shown["allocatedResourcesStatus"] = _resource_statuses(resources)
        told["containerStatuses" if container.kind is ContainerKind.APP else "initContainerStatuses"].append(shown)
    return {name: statuses for name, statuses in told.items() if statuses or name == "containerStatuses"}


def _container_status(status: ContainerStatus, image: str) -> dict[str, Any]:
    shown = {
        "name": status.container.name,
        "image": image,
        "imageID": "",
        "ready": status.is_ready,
        "started": status.state == RUNNING,
        "restartCount": status.restart_count,
        "state": _state(status),
    }
    if status.held is not None:
        shown["containerID"] = f"kubelet-sim://{status.held.id}"
    if status.ended is not None:
        shown["lastState"] = {"terminated": _terminated(status.ended)}
    return shown


def _state(status: ContainerStatus) -> dict[str, Any]:
    if status.state == RUNNING:
        return {"running": {}}
    if status.state == EXITED and status.held is not None:
        return {"terminated": _terminated(status.held)}
    waiting = {"reason": status.reason, "message": status.message}
    return {"waiting": {name: text for name, text in waiting.items() if text}}


def _terminated(held: RuntimeContainer) -> dict[str, Any]:
    return {"exitCode": held.exit_code, "reason": held.reason, "containerID": f"kubelet-sim://{held.id}"}


def _resource_statuses(resources: Mapping[ResourceName, Mapping[DeviceID, str]]) -> list[dict[str, Any]]:
    """One element a resource, each device with its id and health. Rules: DM-155"""
    return [
        {"name": name, "resources": [{"resourceID": device, "health": health} for device, health in devices.items()]}
        for name, devices in resources.items()
    ]
