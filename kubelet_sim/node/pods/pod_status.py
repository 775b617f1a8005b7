"""The status of a pod as a kubelet computes it for the API server: phase, conditions, containers with their times. Pure.

A node without a network has no addresses, so there is neither a `podIP` nor a `hostIP`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from kubelet_sim.core.devices.pod_device_health import ContainerHealth
from kubelet_sim.model.ids import ContainerName, DeviceID, ResourceName
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.node.api_objects.api_server import Object
from kubelet_sim.node.api_objects.node_times import NodeTimes
from kubelet_sim.node.pods.container_status import EXITED, RUNNING, TERMINAL, ContainerStatus
from kubelet_sim.node.pods.pod_table import KnownPod
from kubelet_sim.node.pods.scripted_containers import image_of
from kubelet_sim.node.pods.simulated_runtime import KILLED, RuntimeContainer, SimulatedRuntime

PodHealth = Mapping[ContainerName, ContainerHealth]
_OWN_CONDITIONS = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
    "PodResizePending",
)
_OWN_FIELDS = ("reason", "message", "initContainerStatuses", "containerStatuses")
_LOST = {
    "exitCode": KILLED,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
}
"""What is told of a container that a pod does not have when it ends."""


@frozen
class StatusUpdate:
    """What a status is computed from."""

    known: KnownPod
    runtime: SimulatedRuntime
    health: PodHealth
    """The health of the pod's devices, as it was told last."""
    times: NodeTimes
    is_over: bool = False
    """Whether nothing of the pod will run any more, as it was deleted and its containers have stopped."""
    shows_sizes: bool = True
    """Whether a container's status has the amounts that it has, as those of kubelets that resize pods have it."""

    def patch(self, told: Object) -> dict[str, Any]:
        """The strategic merge patch that brings the Pod as it was told last to what it is now.

        Rules: DM-77, DM-104, DM-114, DM-155, DM-156, DM-158
        """
        before = told.get("status") or {}
        status = self._status(told)
        conditions = {each["type"]: each for each in before.get("conditions", ())}
        now = [self._since(each, conditions.get(each["type"], {})) for each in self._conditions(status)]
        dropped = [{"$patch": "delete", "type": name} for name in conditions if self._drops(name)]
        gone = dict.fromkeys(name for name in _OWN_FIELDS if name in before and name not in status)
        return {"status": status | gone | {"conditions": now + dropped}}

    def _since(self, condition: dict[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
        """A condition with the time when it became true or false, and without what was said of it before."""
        is_same = before.get("status") == condition["status"]
        since = before["lastTransitionTime"] if is_same else self.times.now()
        return {**dict.fromkeys(before), **condition, "lastTransitionTime": since}

    def _status(self, told: Object) -> dict[str, Any]:
        known, before, metadata = self.known, told.get("status") or {}, told["metadata"]
        statuses = known.statuses(self.runtime)
        texts = {"reason": known.reason, "message": known.message}
        return {
            "phase": self._phase(statuses),
            "startTime": before.get("startTime", self.times.now()),
            **({"observedGeneration": metadata["generation"]} if "generation" in metadata else {}),
            **{name: text for name, text in texts.items() if text},
            **self._container_statuses(statuses),
        }

    def _phase(self, statuses: Sequence[ContainerStatus]) -> str:
        """The phase of the pod; one that was stopped has failed, unless all its containers ended well."""
        known = self.known
        if not self.is_over or known.is_terminal:
            return known.phase
        apps = [each for each in statuses if each.container.kind is ContainerKind.APP]
        return "Succeeded" if all(each.exit_code == 0 for each in apps) else "Failed"

    # --- containers

    def _container_statuses(self, statuses: Sequence[ContainerStatus]) -> dict[str, Any]:
        """The statuses of containers; none for a pod that was refused, or not admitted yet: they never were. Rules: DM-77"""
        if not self._was_begun():
            return {}
        inits = [self._container(each) for each in statuses if each.container.kind is not ContainerKind.APP]
        apps = [self._container(each) for each in statuses if each.container.kind is ContainerKind.APP]
        shown = {"containerStatuses": sorted(apps, key=lambda each: str(each["name"]))}
        return {"initContainerStatuses": inits, **shown} if inits else shown

    def _was_begun(self) -> bool:
        return not self.known.was_refused and self.known.verdict is not None

    def _container(self, status: ContainerStatus) -> dict[str, Any]:
        container, pod = status.container, self.known.pod
        shown = {
            "name": container.name,
            "image": image_of(pod, container),
            "imageID": "",
            "ready": status.is_ready,
            "started": status.state == RUNNING,
            "restartCount": status.restart_count,
            "state": self._state(status),
            "lastState": {} if status.ended is None else {"terminated": self._terminated(status.ended)},
        }
        if status.held is not None:
            shown["containerID"] = _id(status.held)
        if resources := self.health.get(container.name):
            shown["allocatedResourcesStatus"] = _resource_statuses(resources)
        return shown | (_sizes(container) if self.shows_sizes else {})

    def _state(self, status: ContainerStatus) -> dict[str, Any]:
        if status.state == RUNNING and status.held is not None:
            return {"running": {"startedAt": self.times.at(status.held.started_at_s or 0.0)}}
        if status.state == EXITED and status.held is not None:
            return {"terminated": self._terminated(status.held)}
        if self.is_over and status.container.kind is ContainerKind.APP:
            return {"terminated": _LOST}
        waiting = {"reason": status.reason, "message": status.message}
        return {"waiting": {name: text for name, text in waiting.items() if text}}

    def _terminated(self, held: RuntimeContainer) -> dict[str, Any]:
        times = {"startedAt": held.started_at_s, "finishedAt": held.finished_at_s}
        return {
            "exitCode": held.exit_code,
            "reason": held.reason,
            **{name: self.times.at(at_s) for name, at_s in times.items() if at_s is not None},
            "containerID": _id(held),
        }

    # --- conditions

    def _conditions(self, status: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
        """The conditions of an admitted pod, and the one about a resize; a refused pod has none. Rules: DM-77, DM-114"""
        if self._was_begun():
            pod, phase = self.known.pod, status["phase"]
            inits, apps = status.get("initContainerStatuses", ()), status["containerStatuses"]
            sidecars = {each.name for each in pod.init_containers if each.kind is ContainerKind.SIDECAR}
            ready = _ready(phase, [*(each for each in inits if each["name"] in sidecars), *apps])
            yield _condition("PodReadyToStartContainers", is_true=self.runtime.has_sandbox(pod.uid))
            yield _initialized(phase, sidecars, inits, apps)
            yield {"type": "Ready", **(_gated(pod) if ready["status"] == "True" else ready)}
            yield {"type": "ContainersReady", **ready}
            yield _condition("PodScheduled", is_true=True)
        if (why := self.known.refused_resize) is not None:
            yield _condition("PodResizePending", is_true=True, reason=why.reason, message=why.message)

    def _drops(self, name: str) -> bool:
        """Whether a condition of the kubelet's is to be taken away, as the status has it no more."""
        if name == "PodResizePending":
            return self.known.refused_resize is None
        return name in _OWN_CONDITIONS and not self._was_begun()


def _condition(name: str, *, is_true: bool, reason: str = "", message: str = "") -> dict[str, Any]:
    texts = {"reason": reason, "message": message}
    return {"type": name, "status": str(is_true), **{key: text for key, text in texts.items() if text}}


def _ready(phase: str, statuses: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Whether all containers that are to run do. Follows: GenerateContainersReadyCondition"""
    if phase in TERMINAL:
        return {"status": "False", "reason": "PodCompleted" if phase == "Succeeded" else "PodFailed"}
    unready = " ".join(each["name"] for each in statuses if not each["ready"])
    if not unready:
        return {"status": "True"}
    return {
        "status": "False",
        "reason": "ContainersNotReady",
        "message": f"containers with unready status: [{unready}]",
    }


def _gated(pod: Pod) -> dict[str, Any]:
    """The readiness of a pod whose containers are ready: nobody here sets the conditions that its gates name."""
    gates = (pod.manifest.get("spec") or {}).get("readinessGates")
    names = (
        [each.get("conditionType") for each in gates if isinstance(each, Mapping)] if isinstance(gates, list) else []
    )
    if not names:
        return {"status": "True"}
    texts = (f'corresponding condition of pod readiness gate "{name}" does not exist.' for name in names)
    return {"status": "False", "reason": "ReadinessGatesNotReady", "message": ", ".join(texts)}


def _initialized(
    phase: str, sidecars: set[ContainerName], inits: Sequence[Mapping[str, Any]], apps: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Whether init containers are behind the pod. Follows: GeneratePodInitializedCondition"""
    if phase == "Succeeded":
        return _condition("Initialized", is_true=True, reason="PodCompleted")
    has_begun = any("containerID" in each for each in apps)
    left = [each["name"] for each in inits if not each["started" if each["name"] in sidecars else "ready"]]
    if has_begun or not left:
        return _condition("Initialized", is_true=True)
    message = f"containers with incomplete status: [{' '.join(left)}]"
    return _condition("Initialized", is_true=False, reason="ContainersNotInitialized", message=message)


def _id(held: RuntimeContainer) -> str:
    return f"kubelet-sim://{held.id}"


def _sizes(container: Container) -> dict[str, Any]:
    """The amounts that the container has, whatever its pod is to have. Rules: DM-114"""
    requests, limits = _amounts(container.requests), _amounts(container.limits)
    resources = {"requests": requests, "limits": limits}
    shown = {"resources": {name: amounts for name, amounts in resources.items() if amounts}}
    return {"allocatedResources": requests, **shown} if requests else shown


def _amounts(quantities: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: quantity.canonical for name, quantity in quantities.items()}


def _resource_statuses(resources: Mapping[ResourceName, Mapping[DeviceID, str]]) -> list[dict[str, Any]]:
    """One element a resource, each device with its id and health. Rules: DM-155"""
    return [
        {"name": name, "resources": [{"resourceID": device, "health": health} for device, health in devices.items()]}
        for name, devices in resources.items()
    ]
