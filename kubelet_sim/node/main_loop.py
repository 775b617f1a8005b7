"""The kubelet's main loop as far as pods go: they come and go one after the other, whoever asks.

The pods themselves outlive the kubelet process; whichever process runs deals with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from kubelet_sim.core.facts import ContainersRemoved
from kubelet_sim.errors import UsageError
from kubelet_sim.model.admission import Admission, Admitted
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.applying import new_pods
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.events import NORMAL, WARNING, Events
from kubelet_sim.node.kubelet import Kubelet
from kubelet_sim.node.pod_status import PodStatuses
from kubelet_sim.node.pods import KnownPod, PodTable, PodWorker
from kubelet_sim.node.ports import Clock
from kubelet_sim.node.runtime import SimulatedRuntime
from kubelet_sim.transcript import Transcript


@frozen
class Surroundings:
    """What the pods of a node have around them."""

    config: NodeConfig
    clock: Clock
    transcript: Transcript
    events: Events
    runtime: SimulatedRuntime
    kubelet: Callable[[], Kubelet]
    """The process that runs now. Raises `UsageError` if there is none."""
    now: Callable[[], float]
    """Seconds since the node started."""
    statuses: PodStatuses
    """What the API server was told of the devices of pods."""


@define
class MainLoop:
    """Adds and removes pods in turn. Rules: DM-74"""

    _around: Surroundings
    pods: PodTable = field(factory=PodTable)
    _turn: asyncio.Lock = field(factory=asyncio.Lock)

    async def admit(self, pod: Pod) -> Admission:
        """Add a pod and answer with its verdict. Raises `UsageError` if its name or uid is taken."""
        return await self._admit(self.pods.add(pod, self._around.now()))

    async def apply(self, pods: Sequence[Pod]) -> None:
        """Add pods, all or none, and return at once: their verdicts come one after the other.

        Raises:
            UsageError: a name or uid is taken; none of them was added.
        """
        around, kubelet = self._around, self._around.kubelet()
        added: list[KnownPod] = []
        try:
            for pod in pods:
                added.append(self.pods.add(pod, around.now()))  # noqa: PERF401 - what was added is taken back on failure
        except UsageError:
            for known in added:
                self.pods.drop(known.pod.uid)
            raise
        for known in added:
            around.transcript.add("node", known.pod.key, "pod created")
            kubelet.run(self._admit(known))

    async def apply_manifests(self, manifests: Sequence[Mapping[str, Any]]) -> tuple[AppliedPod, ...]:
        """`apply` for manifests; one that is the same as that of the pod of its name is passed over.

        Raises:
            UsageError: one is no pod, or another pod of its name is there; none was added.
        """
        pods, answers = new_pods(manifests, self.pods)
        await self.apply(pods)
        return answers

    async def dispatch(self, kubelet: Kubelet) -> None:
        """The first batch of the pod source: it counts as ready when all of it was admitted. Rules: DM-73, DM-108, DM-109"""
        kubelet.run(self._take_notices(kubelet))
        for known in self.pods:
            if not known.is_terminal:
                await self._admit(known)
        await kubelet.sources_ready(ready=True)

    async def _take_notices(self, kubelet: Kubelet) -> None:
        """Sync the pods of each notice, as soon as no admission is in the way. Rules: DM-74, DM-158"""
        notices = kubelet.driver.notices
        while True:
            await notices.wait()
            async with self._turn:
                named = [self.pods.get(uid) for uid in notices.take()]
                for known in named:
                    if known is not None:
                        self._around.statuses.sync(known.pod, kubelet.state)

    async def _admit(self, known: KnownPod) -> Admission:
        """In turn with every other addition and removal. Rules: DM-74, DM-77"""
        around, kubelet = self._around, self._around.kubelet()
        async with self._turn:
            verdict = await kubelet.admit(known.pod)
        known.decided(verdict, around.config.profile.rejection_prefix)
        if not isinstance(verdict, Admitted):
            around.events.of_pod(known.pod, WARNING, verdict.reason, verdict.message)
            around.runtime.stop(known.pod, "Error")
            around.statuses.forget(known.pod)
            return verdict
        around.statuses.sync(known.pod, kubelet.state)
        known.resyncs = kubelet.run(around.statuses.resyncs(known.pod, kubelet.state))
        if around.config.runs_containers:
            worker = PodWorker(
                known, kubelet, around.runtime, around.clock, around.transcript, around.events, around.statuses
            )
            known.worker = kubelet.run(worker.run())
        return verdict

    async def remove(self, name: str, namespace: str) -> None:
        """Delete a pod: its containers stop, then it is gone; its devices stay in use until somebody asks for some.

        Raises:
            UsageError: there is no such pod.

        Rules: DM-74, DM-115, DM-116
        """
        around, known, kubelet = self._around, self.pods.find(name, namespace), self._around.kubelet()
        async with self._turn:
            for task in (known.worker, known.resyncs):
                if task is not None:
                    task.cancel()
            for container in around.runtime.stop(known.pod, "Completed"):
                around.events.of_pod(known.pod, NORMAL, "Killing", f"Stopping container {container.name}", container)
            await kubelet.deactivate(known.pod.uid)
            await kubelet.apply(ContainersRemoved(known.pod))
            self.pods.drop(known.pod.uid)
            around.runtime.forget(known.pod)
            around.statuses.forget(known.pod)
            around.transcript.add("node", known.pod.key, "pod deleted")
