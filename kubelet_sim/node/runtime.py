"""The simulated container runtime: which containers there are, and in which state. Pure state, beside the core.

It outlives the kubelet process, as a real runtime does. An init container ends by itself, with success; an app container
or a sidecar runs until its pod goes.
"""

from __future__ import annotations

from enum import Enum

from attrs import define, field

from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.response import ContainerSpec


class ContainerState(Enum):
    """Where a container is in its life."""

    WAITING = "waiting"
    """Not created: its turn has not come, or its creation failed."""
    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"


@define
class SimulatedContainer:
    """One container."""

    state: ContainerState = ContainerState.WAITING
    reason: str = ""
    message: str = ""
    created_count: int = 0
    spec: ContainerSpec | None = None
    """What the device manager gave it when it was created; `None` if no plugin had a say."""

    def becomes(self, state: ContainerState, reason: str = "", message: str = "") -> None:
        """Move on."""
        self.state, self.reason, self.message = state, reason, message


@define
class SimulatedRuntime:
    """All containers of the node."""

    _containers: dict[tuple[PodUID, ContainerName], SimulatedContainer] = field(factory=dict)

    def container(self, uid: PodUID, name: ContainerName) -> SimulatedContainer:
        """The container, waiting if nobody has touched it yet."""
        return self._containers.setdefault((uid, name), SimulatedContainer())

    def running(self) -> frozenset[tuple[PodUID, ContainerName]]:
        """What a kubelet that starts now is told. Rules: DM-7, DM-110"""
        return frozenset(key for key, held in self._containers.items() if held.state is ContainerState.RUNNING)

    def create(self, pod: Pod, container: Container, spec: ContainerSpec | None) -> None:
        """Make the container, with what the device manager gave it."""
        held = self.container(pod.uid, container.name)
        held.spec = spec
        held.created_count += 1
        held.becomes(ContainerState.CREATED)

    def start(self, pod: Pod, container: Container) -> None:
        """Run it; an init container runs to its end at once."""
        held = self.container(pod.uid, container.name)
        held.becomes(ContainerState.RUNNING)
        if container.kind is ContainerKind.INIT:
            held.becomes(ContainerState.EXITED, "Completed")

    def stop(self, pod: Pod, reason: str) -> list[Container]:
        """End what there is of a pod; answers with the containers that ended by it, in the pod's order."""
        stopped = []
        for container in pod.all_containers():
            held = self.container(pod.uid, container.name)
            if held.state in (ContainerState.CREATED, ContainerState.RUNNING):
                held.becomes(ContainerState.EXITED, reason)
                stopped.append(container)
        return stopped

    def forget(self, pod: Pod) -> None:
        """The pod is gone from the node."""
        for container in pod.all_containers():
            self._containers.pop((pod.uid, container.name), None)
