"""The pods that the API server knows of this node, and what the kubelet's pod worker does with each.

Which devices a pod gets is none of it: that is admission. Here a verdict becomes a phase, and an admitted pod containers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from attrs import define, field

from kubelet_sim.errors import PreparationFailed, UsageError, there_are
from kubelet_sim.model.admission import Admission, Rejected
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.node.events import NORMAL, WARNING, Events
from kubelet_sim.node.kubelet import Kubelet
from kubelet_sim.node.pod_status import PodStatuses
from kubelet_sim.node.ports import Clock
from kubelet_sim.node.runtime import ContainerState, SimulatedRuntime
from kubelet_sim.transcript import Level, Transcript

RESYNC_S = 10.0
"""How long a pod whose container could not be created waits for the next try (a kubelet: 10 to 15 s). Rules: DM-104"""
TERMINAL = ("Succeeded", "Failed")


@define
class KnownPod:
    """A pod and its status."""

    pod: Pod
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    created_at_s: float = 0.0
    worker: asyncio.Task[None] | None = None
    """What brings its containers to life, once it is admitted."""
    resyncs: asyncio.Task[None] | None = None
    """What brings its status up to date from time to time. Rules: DM-158"""

    @property
    def is_terminal(self) -> bool:
        """Such a pod is never admitted again. Rules: DM-73"""
        return self.phase in TERMINAL

    def decided(self, verdict: Admission, prefix: str) -> None:
        """Take the verdict into the status; a refusal is final. Rules: DM-77, TM-44"""
        if isinstance(verdict, Rejected):
            self.phase, self.reason, self.message = "Failed", verdict.reason, prefix + verdict.message


@define
class PodTable:
    """The pods, oldest first."""

    _pods: dict[PodUID, KnownPod] = field(factory=dict)

    def __iter__(self) -> Iterator[KnownPod]:
        return iter(tuple(self._pods.values()))

    def add(self, pod: Pod, at_s: float = 0.0) -> KnownPod:
        """Get to know a pod at that time. Raises `UsageError` if its name or its uid is taken by another one."""
        for known in self._pods.values():
            if known.pod.key == pod.key:
                raise UsageError(f"pod {pod.key} already exists; delete it first, or choose another name")
            if known.pod.uid == pod.uid:
                raise UsageError(f"pod {pod.key}: the uid {pod.uid} is that of {known.pod.key}; choose another one")
        self._pods[pod.uid] = KnownPod(pod, created_at_s=at_s)
        return self._pods[pod.uid]

    def find(self, name: str, namespace: str = "default") -> KnownPod:
        """Raises `UsageError` if there is none of that name."""
        for known in self._pods.values():
            if (known.pod.name, known.pod.namespace) == (name, namespace):
                return known
        names = there_are([known.pod.key for known in self])
        raise UsageError(f"there is no pod {namespace}/{name} on this node; {names}")

    def get(self, uid: PodUID) -> KnownPod | None:
        """By uid."""
        return self._pods.get(uid)

    def drop(self, uid: PodUID) -> None:
        """Forget a pod that is gone."""
        self._pods.pop(uid, None)


@define
class PodWorker:
    """Brings the containers of one admitted pod to life, in the kubelet's order."""

    _known: KnownPod
    _kubelet: Kubelet
    _runtime: SimulatedRuntime
    _clock: Clock
    _transcript: Transcript
    _events: Events
    _statuses: PodStatuses

    async def run(self) -> None:
        """Create what is not there yet, again and again until everything is. Rules: DM-104"""
        while not await self._synced():
            self._update_phase()
            await self._clock.sleep(RESYNC_S)
        self._update_phase()

    async def _synced(self) -> bool:
        """One sync: init containers one after the other, then the app containers, of which one can fail alone."""
        for container in self._known.pod.init_containers:
            if not await self._created(container):
                return False
        created = [await self._created(container) for container in self._known.pod.containers]
        return all(created)

    async def _created(self, container: Container) -> bool:
        pod = self._known.pod
        held = self._runtime.container(pod.uid, container.name)
        if held.state is not ContainerState.WAITING:
            return True
        try:
            spec = await self._kubelet.prepare(pod, container)
        except PreparationFailed as failure:
            held.becomes(ContainerState.WAITING, "CreateContainerConfigError", failure.shown)
            self._events.of_pod(pod, WARNING, "Failed", f"Error: {failure.shown}", container)
            self._note(f"{container.name}: CreateContainerConfigError: {failure}", Level.WARNING)
            return False
        self._runtime.create(pod, container, spec)
        self._events.of_pod(pod, NORMAL, "Created", "Container created", container)
        self._runtime.start(pod, container)
        self._events.of_pod(pod, NORMAL, "Started", "Container started", container)
        ended = " and ran to its end" if container.kind is ContainerKind.INIT else ""
        self._note(f"container {container.name} started{ended}")
        return True

    def _update_phase(self) -> None:
        """Pending as long as a container waits. Rules: DM-104"""
        pod = self._known.pod
        states = [self._runtime.container(pod.uid, container.name).state for container in pod.all_containers()]
        self._known.phase = "Pending" if ContainerState.WAITING in states else "Running"
        self._note(f"phase {self._known.phase}")
        self._statuses.sync(pod, self._kubelet.state)

    def _note(self, text: str, level: Level = Level.INFO) -> None:
        self._transcript.add("node", self._known.pod.key, text, level=level)
