"""The pods that the kubelet knows, with its own notes on each. What an API server has of them are objects: see `api_objects`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from attrs import define, field

from kubelet_sim.errors import UsageError, there_are
from kubelet_sim.model.admission import Admission, Rejected
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.pods.container_status import TERMINAL, ContainerStatus, WaitingReason, container_statuses
from kubelet_sim.node.pods.simulated_runtime import SimulatedRuntime


@define(eq=False)
class KnownPod:
    """A pod that the kubelet knows, its status as the kubelet sees it, and who works on it."""

    pod: Pod
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    created_at_s: float = 0.0
    is_deleting: bool = False
    """Whether somebody has deleted it; it is there until its containers have stopped."""
    grace_s: float = 0.0
    """How long its containers may take to stop, once it is deleted."""
    waiting: dict[ContainerName, WaitingReason] = field(factory=dict)
    """Why containers do not run that the pod worker could not start."""
    verdict: Admission | None = None
    """The last one."""
    verdict_of: int = 0
    """Which kubelet process gave it, counted from 1."""
    wanted: Pod | None = None
    """The pod with the amounts that somebody asked for last, as long as it does not have them: `pod` is what is allocated.

    Rules: DM-114
    """
    refused_resize: Rejected | None = None
    """Why it does not have them, once that is known. Rules: DM-114"""
    resyncs: asyncio.Task[None] | None = None
    """What brings its status up to date from time to time. Rules: DM-158"""
    worker: asyncio.Task[None] | None = None
    """What brings its containers to life, once it is admitted, or to their end."""
    changed: asyncio.Event = field(factory=asyncio.Event)
    """Set when a container of it has ended: the worker looks again."""

    @property
    def is_terminal(self) -> bool:
        """Such a pod is never admitted again. Rules: DM-73"""
        return self.phase in TERMINAL

    @property
    def desired(self) -> Pod:
        """The pod as an API server has it. Rules: DM-114"""
        return self.wanted or self.pod

    @property
    def was_refused(self) -> bool:
        """Whether admission ended it; its containers are nobody's business any more. Rules: DM-77"""
        return self.is_terminal and bool(self.reason)

    def decided(self, verdict: Admission, prefix: str, incarnation: int) -> None:
        """Take the verdict of a kubelet process into the status; a refusal is final. Rules: DM-77, TM-44"""
        self.verdict, self.verdict_of = verdict, incarnation
        if isinstance(verdict, Rejected):
            self.phase, self.reason, self.message = "Failed", verdict.reason, prefix + verdict.message
            self.waiting.clear()

    def resized(self, pod: Pod, verdict: Admission) -> None:
        """Take the verdict on other amounts into the status: the pod has them, or stays as it is. Rules: DM-114"""
        self.refused_resize = verdict if isinstance(verdict, Rejected) else None
        if self.refused_resize is None:
            self.pod = pod
            self.settled(pod)

    def settled(self, pod: Pod) -> None:
        """The pod has these amounts, so nobody asks for them any more, unless for others meanwhile. Rules: DM-114"""
        self.refused_resize = None
        if self.wanted is pod:
            self.wanted = None

    def let_go(self) -> None:
        """Cancel what looks after the pod."""
        for task in (self.worker, self.resyncs):
            if task is not None:
                task.cancel()

    def statuses(self, runtime: SimulatedRuntime) -> tuple[ContainerStatus, ...]:
        """Returns the status of each container, in the pod's order."""
        return container_statuses(self.pod, runtime, self.waiting)


@define
class PodTable:
    """The pods that the kubelet knows, the oldest first."""

    _pods: dict[PodUID, KnownPod] = field(factory=dict)
    _by_key: dict[str, dict[PodUID, KnownPod]] = field(factory=dict)
    """The same by namespace and name; only a source can bring about several of one name."""

    def __iter__(self) -> Iterator[KnownPod]:
        return iter(tuple(self._pods.values()))

    def add(self, pod: Pod, at_s: float = 0.0) -> KnownPod:
        """Get to know a pod at that time. Raises `UsageError` if its name or its uid is taken by another one."""
        if pod.key in self._by_key:
            raise UsageError(f"pod {pod.key} already exists; delete it first, or choose another name")
        if (known := self._pods.get(pod.uid)) is not None:
            raise UsageError(f"pod {pod.key}: the uid {pod.uid} is that of {known.pod.key}; choose another one")
        return self._enter(KnownPod(pod, created_at_s=at_s))

    def recall(self, pod: Pod, phase: str) -> None:
        """Know a pod that is over, whatever is known of others of its name: a source may tell of it at any time."""
        self._enter(KnownPod(pod, phase))

    def _enter(self, known: KnownPod) -> KnownPod:
        uid, before = known.pod.uid, self._pods.get(known.pod.uid)
        if before is not None and before.pod.key != known.pod.key:
            self._leave_key(before)
        self._pods[uid] = self._by_key.setdefault(known.pod.key, {})[uid] = known
        return known

    def find(self, name: str, namespace: str = "default") -> KnownPod:
        """Raises `UsageError` if there is none of that name."""
        for known in self._by_key.get(f"{namespace}/{name}", {}).values():
            return known
        names = there_are([known.pod.key for known in self])
        raise UsageError(f"there is no pod {namespace}/{name} on this node; {names}")

    def get(self, uid: PodUID) -> KnownPod | None:
        """The pod of that uid, if it is known."""
        return self._pods.get(uid)

    def drop(self, uid: PodUID) -> None:
        """Forget a pod that is gone."""
        known = self._pods.pop(uid, None)
        if known is not None:
            self._leave_key(known)

    def _leave_key(self, known: KnownPod) -> None:
        same_name = self._by_key[known.pod.key]
        del same_name[known.pod.uid]
        if not same_name:
            del self._by_key[known.pod.key]
