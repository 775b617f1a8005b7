"""The kubelet's status manager: it tells the API server what becomes of pods.

What a status says of devices is no live look at the device manager: between two syncs of a pod it stays as it was (DM-158). A
pod is synced when it is admitted, when something changes about its containers, when a notice names it, and otherwise every 60
to 90 s.
"""

from __future__ import annotations

from math import ceil
from random import Random

from attrs import define, field

from kubelet_sim.core.devices.pod_device_health import allocated_resources_status
from kubelet_sim.core.state import State
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.api_objects.api_server import PODS, ApiServer, ObjectNotFound, Preconditions
from kubelet_sim.node.api_objects.node_times import NodeTimes
from kubelet_sim.node.pods.container_status import TERMINAL
from kubelet_sim.node.pods.pod_status import PodHealth, StatusUpdate
from kubelet_sim.node.pods.pod_table import KnownPod
from kubelet_sim.node.pods.simulated_runtime import SimulatedRuntime
from kubelet_sim.node.ports import Clock
from kubelet_sim.profiles import HealthNotices, Profile
from kubelet_sim.transcript import RecordLevel, Transcript

RESYNC_S, RESYNC_STRETCH = 60.0, 0.5
"""How long a pod waits for its next sync; stretched by a random part of itself, up to so much. Rules: DM-158"""
LOOK_S = 1.0
"""How often a kubelet looks which pods are due."""


@define
class StatusManager:
    """Tells the API server of the pods' statuses. What it has told of devices outlives kubelet processes."""

    _profile: Profile
    _clock: Clock
    _transcript: Transcript
    _random: Random
    _api: ApiServer
    _runtime: SimulatedRuntime
    _times: NodeTimes
    _told: dict[PodUID, PodHealth] = field(factory=dict)

    def of(self, pod: Pod) -> PodHealth:
        """Returns the devices' health as last told; empty if none was, or if this kubelet has no such field. Rules: DM-154, DM-158"""
        return self._told.get(pod.uid, {})

    async def sync(self, known: KnownPod, state: State) -> None:
        """Tell the API server of the pod, with what the device manager says now of its devices.

        An update of the health that the API server finds invalid is refused, so that part stays as it was.

        Rules: DM-154, DM-155, DM-158, DM-159
        """
        if self._profile.health_notices is not HealthNotices.NEVER:
            self._take_health(known.pod, state)
        await self.tell(known)

    async def tell(self, known: KnownPod, *, is_over: bool = False) -> None:
        """Tell the API server of the pod as it is, but for its devices, of which it is told at a sync; a terminal phase is final.

        Args:
            known: the pod.
            is_over: whether it was deleted, and its containers have stopped.
        """
        pod = known.pod
        try:
            told = await self._api.get(PODS, pod.name, pod.namespace)
        except ObjectNotFound:
            return
        if told["metadata"]["uid"] != pod.uid or told["status"]["phase"] in TERMINAL:
            return
        shows_sizes = self._profile.resizes_in_place
        update = StatusUpdate(known, self._runtime, self.of(pod), self._times, is_over=is_over, shows_sizes=shows_sizes)
        await self._api.patch(PODS, pod.name, pod.namespace, update.patch(told), Preconditions(uid=pod.uid))

    def _take_health(self, pod: Pod, state: State) -> None:
        now = {name: health for name, health in allocated_resources_status(state, pod).items() if health}
        if now == self.of(pod):
            return
        problem = refusal(pod, now)
        if problem is not None:
            text = f"the API server refuses the pod's status: {problem}"
            self._transcript.add("node", pod.key, text, rules=("DM-159",), level=RecordLevel.WARNING)
            return
        self._told[pod.uid] = now
        text = f"device health in its status: {_health_text(now)}"
        self._transcript.add("node", pod.key, text, rules=("DM-155", "DM-158"))

    async def resyncs(self, known: KnownPod, state: State) -> None:
        """Sync again and again, until cancelled. Rules: DM-158"""
        while self._profile.health_notices is not HealthNotices.NEVER:
            due_s = self._clock.now() + RESYNC_S * (1 + self._random.uniform(0, RESYNC_STRETCH))
            await self._clock.sleep(ceil(due_s / LOOK_S) * LOOK_S - self._clock.now())
            await self.sync(known, state)

    def forget(self, pod: Pod) -> None:
        """Forget what was told of the devices of a pod that is gone, or was refused."""
        self._told.pop(pod.uid, None)


def refusal(pod: Pod, health: PodHealth) -> str | None:
    """What the API server finds wrong with the field, if anything.

    Ids are unique and health is one of two words by the way they are made, and ephemeral containers have no devices. A name
    can be wrong: records of a checkpoint may say what the pod that has the uid today does not ask for.

    Rules: DM-159
    """
    for container in pod.containers:
        for name in health.get(container.name, {}):
            if name not in container.requests:
                return f"container {container.name} has a status of {name}, which it does not request"
    return None


def _health_text(health: PodHealth) -> str:
    parts = [
        f"{container} {resource} {', '.join(f'{device} {word}' for device, word in devices.items())}"
        for container, resources in health.items()
        for resource, devices in resources.items()
    ]
    return "; ".join(parts) or "nothing"
