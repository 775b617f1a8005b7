"""The kubelet's main loop as far as pods go: they come and go one after the other, whoever asks.

It is a node's `pods`: what a user can do to them, and what they got.
The pods themselves outlive the kubelet process; whichever process runs deals with them, and without one they wait.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from math import ceil
from random import Random
from typing import Any

from attrs import define, field

from kubelet_sim.core.facts import ContainersRemoved, PodActivated
from kubelet_sim.core.kubelet.sidecars import as_known
from kubelet_sim.errors import UsageError
from kubelet_sim.model.admission import Admission, Admitted
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.life import GRACEFUL, Deletion
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.node.api_objects.api_server import PODS, ObjectConflict, ObjectNotFound, Preconditions
from kubelet_sim.node.api_objects.events import WARNING
from kubelet_sim.node.api_objects.new_pod import new_pod, pod_spec
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletProcess, finished
from kubelet_sim.node.pods import scripted_containers as scripted
from kubelet_sim.node.pods.back_off import BackOff
from kubelet_sim.node.pods.main_loop_turn import Turn
from kubelet_sim.node.pods.pod_changes import sorted_out
from kubelet_sim.node.pods.pod_table import KnownPod, PodTable
from kubelet_sim.node.pods.pod_worker import PodWorker, container_ends
from kubelet_sim.node.pods.simulated_runtime import KILLED, ContainerState
from kubelet_sim.node.pods.surroundings import Surroundings

RESIZE_AFTER_START_S = 30.0
"""When a kubelet looks at resizes that it could not look at before, as its pod sources were not ready. Rules: DM-114"""

SHORTEST_GRACE_S = 1
"""What an API server makes of a deletion with less that is not forced."""


@define
class MainLoop:
    """Adds, resizes and removes the pods of a node, one after the other. Rules: DM-74"""

    _around: Surroundings
    table: PodTable = field(factory=PodTable)
    _turn: Turn = field(init=False)
    _back_off: BackOff = field(factory=BackOff)
    """Of the kubelet process that runs."""
    _stopping: dict[PodUID, asyncio.Task[None]] = field(factory=dict)
    """Pods that nobody knows any more, whose containers are still stopping."""

    @_turn.default
    def _nobody_has_it(self) -> Turn:
        return Turn(self._around.clock)

    def busy_for_s(self) -> float:
        """How long it has been at one thing; 0 if it has nothing to do. Rules: DM-74"""
        return self._turn.held_for_s()

    # --- pods come

    async def admit(self, pod: Pod) -> Admission:
        """Put a pod on the node and return the verdict; its containers start if the node runs containers.

        Raises:
            UsageError: its name or uid is taken, no kubelet runs, or somebody deleted it before its verdict.
            KubeletGone: the kubelet process ended before the verdict.
        """
        kubelet = self._around.kubelet.required()
        scripted.check(pod)
        known = self._add(pod)
        await self._create(pod)
        verdict = await self._admit(known, kubelet)
        if verdict is None:
            raise UsageError(f"pod {pod.key} was deleted before it was admitted")
        return verdict

    def _add(self, pod: Pod) -> KnownPod:
        """Get to know a pod, as a kubelet of the node's release sees it."""
        around = self._around
        return self.table.add(as_known(around.config.profile, pod), around.now())

    async def _create(self, pod: Pod) -> None:
        """Tell the API server of a pod that is bound to this node."""
        await self._around.api.create(PODS, new_pod(pod, self._around.config.node_name))

    async def apply(self, pods: Sequence[Pod]) -> None:
        """Put pods on the node, all or none, and return at once: their verdicts come one after the other, once a kubelet runs.

        Raises:
            UsageError: a name or uid is taken; none of them was added.
        """
        around, kubelet = self._around, self._around.kubelet.process
        added: list[KnownPod] = []
        try:
            for pod in pods:
                scripted.check(pod)
                added.append(self._add(pod))
        except UsageError:
            for known in added:
                self.table.drop(known.pod.uid)
            raise
        for known, pod in zip(added, pods, strict=True):
            await self._create(pod)
            around.transcript.add("node", known.pod.key, "pod created")
            if kubelet is not None:
                kubelet.run(self._admit(known, kubelet))

    async def apply_manifests(self, manifests: Sequence[Mapping[str, Any]]) -> tuple[AppliedPod, ...]:
        """`apply` for manifests; one that is the same as that of the pod of its name is passed over.

        One that has other amounts of cpu and memory is a resize, on which the verdict comes as on a new pod.

        Raises:
            UsageError: one is no pod, another pod of its name is there, or no kubelet runs for a resize; none was added.

        Rules: DM-114
        """
        pods, resized, answers = sorted_out(manifests, self.table, self._around.config.profile)
        kubelet = self._around.kubelet.required() if resized else None
        await self.apply(pods)
        if kubelet is not None:
            for pod in resized:
                if (known := self.table.get(pod.uid)) is not None:  # else it was deleted by now
                    known.wanted = pod
                    await self._around.api.patch(PODS, pod.name, pod.namespace, {"spec": pod_spec(pod)})
                    kubelet.run(self._resize(known, pod, kubelet))
        return answers

    async def _resize(self, known: KnownPod, wanted: Pod, kubelet: KubeletProcess) -> None:
        """In turn with admissions; a pod that has ended has no use for it, nor has one that is to be resized otherwise.

        Before the sources are ready nothing is resized: the first batch ends with that.

        Rules: DM-74, DM-114
        """
        async with self._turn:
            is_over = self.table.get(known.pod.uid) is not known or known.is_terminal or known.is_deleting
            if is_over or known.wanted is not wanted or not kubelet.state.sources_ready:
                return
            if wanted == known.pod:
                known.settled(wanted)
                text = "no resize is asked for any more: the pod has what it is to have"
                self._around.transcript.add("node", wanted.key, text, rules=("DM-114",))
            else:
                known.resized(wanted, await kubelet.resize(wanted))
            await self._around.statuses.tell(known)

    async def _resize_later(self, known: KnownPod, wanted: Pod, kubelet: KubeletProcess) -> None:
        """What an earlier process left undecided, or refused: by now plugins may have come back. Rules: DM-114"""
        await self._around.clock.sleep(RESIZE_AFTER_START_S)
        await self._resize(known, wanted, kubelet)

    async def dispatch(self, kubelet: KubeletProcess, seed: int | None = None) -> None:
        """The first batch of the pod source: it counts as ready when all of it was admitted.

        Pods that have ended are left alone, those that are being deleted are stopped, and what the runtime still has of
        pods that nobody knows any more is killed. Resizes that were refused, or not decided, are looked at after that.

        Args:
            kubelet: the process that has started.
            seed: puts the pods into an order of its own; without, the oldest is first.

        Rules: DM-73, DM-108, DM-109, DM-114, DM-116, DM-118
        """
        kubelet.run(self.take_notices(kubelet))
        self._back_off = BackOff()
        self._stopping.clear()
        order = list(self.table)
        if seed is not None:
            Random(seed).shuffle(order)  # noqa: S311 - an order to repeat, no secret
        for known in order:
            known.waiting.clear()
            if known.is_terminal:
                continue
            if known.is_deleting:
                await kubelet.apply(PodActivated(known.pod))
                known.worker = kubelet.run(self._terminate(known, kubelet))
            else:
                await self._admit(known, kubelet)
        await kubelet.sources_ready(ready=True)
        for known in self.table:
            if known.wanted is not None:
                kubelet.run(self._resize_later(known, known.wanted, kubelet))
        for pod in self._around.runtime.pods():
            if self.table.get(pod.uid) is None and pod.uid not in self._stopping:
                await self._kill_orphan(pod, kubelet)

    async def take_notices(self, kubelet: KubeletProcess) -> None:
        """Sync the pods of each notice, as soon as no admission is in the way. Rules: DM-74, DM-158"""
        notices = kubelet.driver.notices
        while True:
            await notices.wait()
            async with self._turn:
                named = [self.table.get(uid) for uid in notices.take()]
                for known in named:
                    if known is not None:
                        await self._around.statuses.sync(known, kubelet.state)

    async def _admit(self, known: KnownPod, kubelet: KubeletProcess) -> Admission | None:
        """In turn with every other addition and removal; `None` for a pod that was deleted before. Rules: DM-74, DM-77"""
        around = self._around
        async with self._turn:
            if known.verdict_of == around.transcript.incarnation:
                return known.verdict  # The first batch had it, and it was applied at the same time.
            if known.is_deleting or self.table.get(known.pod.uid) is not known:
                return None
            verdict = await kubelet.admit(known.pod)
        known.decided(verdict, around.config.profile.rejection_prefix, around.transcript.incarnation)
        if not isinstance(verdict, Admitted):
            await around.events.of_pod(known.pod, WARNING, verdict.reason, verdict.message)
            around.runtime.stop(known.pod, KILLED, around.now())
            around.statuses.forget(known.pod)
            await around.statuses.tell(known)
            return verdict
        await around.statuses.sync(known, kubelet.state)
        known.resyncs = kubelet.run(around.statuses.resyncs(known, kubelet.state))
        if around.config.runs_containers:
            known.worker = kubelet.run(self._run(known, kubelet))
        return verdict

    async def _run(self, known: KnownPod, kubelet: KubeletProcess) -> None:
        before = self._stopping.get(known.pod.uid)
        if before is not None:
            await asyncio.wait([before])
        await self._worker(known, kubelet).run()

    def _worker(self, known: KnownPod, kubelet: KubeletProcess) -> PodWorker:
        return PodWorker(known, kubelet, self._around, self._back_off)

    # --- pods go

    async def remove(self, name: str, namespace: str = "default", how: Deletion = GRACEFUL) -> None:
        """Delete a pod: its containers stop, then it is gone; its devices stay in use until somebody asks for some.

        Waits for an admission that is under way. A forced deletion lets the API server forget the pod at once; so does one
        without a kubelet, which could not tell of its end: the next kubelet stops its containers.

        Raises:
            UsageError: there is no such pod.
            KubeletGone: the kubelet process ended before the pod; the next one goes on with it.

        Rules: DM-74, DM-115, DM-116, DM-118
        """
        how.check()
        kubelet, known = self._around.kubelet.process, self.table.find(name, namespace)
        if kubelet is None:
            await self._forget(known, "no kubelet knows of it")
            return
        async with self._turn:
            if self.table.get(known.pod.uid) is not known:
                return  # Somebody else was faster.
            known.let_go()
            if how.is_forced:
                await self._forget(known, "by force")
                await kubelet.deactivate(known.pod.uid)
                stopping = kubelet.run(self._stop_unknown(known, kubelet))
                self._stopping[known.pod.uid] = stopping
                return
            known.is_deleting = True
            known.grace_s = scripted.grace_s(known.pod) if how.grace_s is None else how.grace_s
            with contextlib.suppress(ObjectNotFound):  # a pod that ended before
                await self._around.api.delete(PODS, name, namespace, max(SHORTEST_GRACE_S, ceil(known.grace_s)))
            known.worker = terminating = kubelet.run(self._terminate(known, kubelet))
        if how.waits:
            await finished(terminating)

    async def _terminate(self, known: KnownPod, kubelet: KubeletProcess) -> None:
        """Its devices stay until all containers have stopped. Rules: DM-116"""
        await self._worker(known, kubelet).stop(known.grace_s)
        await self._around.statuses.tell(known, is_over=True)
        await kubelet.deactivate(known.pod.uid)
        await self._remove_containers(known.pod, kubelet)
        await self._forget(known)

    async def _stop_unknown(self, known: KnownPod, kubelet: KubeletProcess) -> None:
        """The containers of a pod that is not active any more. Rules: DM-116"""
        await self._worker(known, kubelet).stop(scripted.grace_s(known.pod))
        await self._remove_containers(known.pod, kubelet)
        self._stopping.pop(known.pod.uid, None)

    async def _kill_orphan(self, pod: Pod, kubelet: KubeletProcess) -> None:
        """What was deleted while no kubelet ran. Its record stays until the first reclaim. Rules: DM-118"""
        self._around.runtime.stop(pod, KILLED, self._around.now())
        await self._remove_containers(pod, kubelet)
        self._around.transcript.add("node", pod.key, "nobody knows the pod any more: its containers are killed")

    async def _remove_containers(self, pod: Pod, kubelet: KubeletProcess) -> None:
        self._around.runtime.forget(pod.uid)
        self._back_off.forget(pod.uid)
        await kubelet.apply(ContainersRemoved(pod))

    async def _forget(self, known: KnownPod, how: str = "") -> None:
        pod = known.pod
        self.table.drop(pod.uid)
        with contextlib.suppress(ObjectNotFound, ObjectConflict):  # it is gone already, or another one has its name
            await self._around.api.delete(PODS, pod.name, pod.namespace, 0, Preconditions(uid=pod.uid))
        self._around.statuses.forget(known.pod)
        self._around.transcript.add("node", known.pod.key, f"pod deleted{f': {how}' if how else ''}")

    # --- containers

    def exit_container(
        self, name: str, container: str | None = None, namespace: str = "default", *, code: int = 0
    ) -> str:
        """End a container that runs, as its program might; returns its name. The pod's restart policy says what comes then.

        Args:
            name: the pod's.
            container: may be left out for a pod with one app container.
            namespace: the pod's.
            code: 0 to 255.

        Raises:
            UsageError: there is no such pod or container, it does not run, or no program ends with that code.
        """
        if not 0 <= code <= 255:  # noqa: PLR2004 - what a program can end with
            raise UsageError(f"{code} is no exit code; it is one of 0 to 255")
        known = self.table.find(name, namespace)
        wanted = known.pod.named_container(container)
        held = self._around.runtime.latest(known.pod.uid, wanted.name)
        if held is None or held.state is not ContainerState.RUNNING:
            status = next(each for each in known.statuses(self._around.runtime) if each.container == wanted)
            why = f" ({status.reason})" if status.reason else ""
            raise UsageError(f"container {wanted.name} of pod {known.pod.key} does not run: it is {status.state}{why}")
        container_ends(self._around, known, held, code)
        return wanted.name

    async def prepare(self, name: str, container: str, namespace: str = "default") -> ContainerSpec | None:
        """What the kubelet would hand to the runtime if it created the container now; `None`: nothing from plugins.

        Raises:
            UsageError: there is no such pod or container.
            PreparationFailed: the container cannot be created for now.
        """
        pod = self.table.find(name, namespace).pod
        return await self._around.kubelet.required().prepare(pod, pod.named_container(container))

    def container_spec(self, name: str, container: str | None = None, namespace: str = "default") -> ContainerSpec:
        """What a container got when it was created, the last time; empty if no plugin had a say.

        Args:
            name: the pod's.
            container: may be left out for a pod with one container.
            namespace: the pod's.

        Raises:
            UsageError: there is no such pod or container, or it has not been created.
        """
        known = self.table.find(name, namespace)
        wanted = known.pod.named_container(container)
        held = self._around.runtime.latest(known.pod.uid, wanted.name)
        if held is None:
            waiting = known.waiting.get(wanted.name)
            why = known.message or (waiting.message if waiting else "") or "it waits for its turn"
            raise UsageError(f"container {wanted.name} of pod {known.pod.key} has not been created: {why}")
        return held.spec or ContainerSpec()
