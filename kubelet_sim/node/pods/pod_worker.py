"""What a kubelet does with the containers of one admitted pod: it brings them up, restarts them, and stops them in the end.

What is to be done is worked out by `pod_actions`; here it is done, which may take calls to plugins and time on the clock.
"""

from __future__ import annotations

import contextlib

from attrs import define, field

from kubelet_sim.errors import PreparationFailed
from kubelet_sim.model.ids import ContainerName
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.node.api_objects.events import NORMAL, WARNING
from kubelet_sim.node.clock import with_timeout
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletProcess
from kubelet_sim.node.pods import scripted_containers as scripted
from kubelet_sim.node.pods.back_off import BackOff
from kubelet_sim.node.pods.container_status import WaitingReason, phase_of
from kubelet_sim.node.pods.pod_actions import actions_for
from kubelet_sim.node.pods.pod_table import KnownPod
from kubelet_sim.node.pods.simulated_runtime import KILLED, ContainerState, RuntimeContainer
from kubelet_sim.node.pods.surroundings import Surroundings
from kubelet_sim.transcript import RecordLevel

RESYNC_S = 10.0
"""How long a pod whose container could not be created waits for the next try (a kubelet: 10 to 15 s). Rules: DM-104"""


@define(eq=False)
class PodWorker:
    """Looks after the containers of one admitted pod until all of them are over, in the kubelet's order."""

    _known: KnownPod
    _kubelet: KubeletProcess
    _around: Surroundings
    _back_off: BackOff
    """Of the kubelet process, for all its pods."""
    _pull_failed_at_s: dict[ContainerName, float] = field(factory=dict)

    async def run(self) -> None:
        """Look, do what is to be done, and look again when a container has ended or a time to wait is over.

        A pod of which nothing is to run any more is not active then, so that its devices can be reclaimed.

        Rules: DM-104, DM-107, DM-115, DM-116
        """
        known = self._known
        while True:
            known.changed.clear()
            wait_s = await self._sync()
            await self._update_phase()
            if known.is_terminal:
                await self._kubelet.deactivate(known.pod.uid)
                if known.resyncs is not None:
                    known.resyncs.cancel()
                return
            await self._rest(wait_s)

    async def stop(self, grace_s: float) -> None:
        """Ask all containers to stop, and kill those that have not within the grace period; returns when all have."""
        around, pod = self._around, self._known.pod
        due: list[tuple[float, bool, RuntimeContainer]] = []
        for container in pod.all_containers():
            held = around.runtime.latest(pod.uid, container.name)
            if held is not None and held.state is not ContainerState.EXITED:
                await around.events.of_pod(pod, NORMAL, "Killing", f"Stopping container {container.name}", container)
                takes_s = scripted.stopping_s(pod, container)
                due.append((min(takes_s, grace_s), takes_s > grace_s, held))
        passed_s = 0.0
        for at_s, is_killed, held in sorted(due, key=lambda each: each[0]):
            if at_s > passed_s:
                await around.clock.sleep(at_s - passed_s)
                passed_s = at_s
            if around.runtime.end(held, KILLED if is_killed else 0, around.now()) and at_s:
                how = "killed: its grace period was over" if is_killed else "stopped"
                self._note(f"container {held.name} {how}")
                await around.statuses.tell(self._known)

    async def _sync(self) -> float | None:
        """Do what can be done now; how long until there may be more without anything having happened, if ever."""
        runtime, pod = self._around.runtime, self._known.pod
        while True:
            actions = actions_for(pod, runtime)
            if actions.is_over:
                for container in runtime.stop(pod, 0, self._around.now()):
                    self._note(f"container {container.name} stopped: nothing else of the pod runs any more")
                return None
            if actions.new_sandbox:
                runtime.open_sandbox(pod)
                continue
            waits_s = [wait_s for each in actions.start if (wait_s := await self._bring_up(each)) is not None]
            if len(waits_s) == len(actions.start):
                return min(waits_s, default=None)

    async def _bring_up(self, container: Container) -> float | None:
        """Create and start a container; how long to wait for the next try if that cannot be now.

        Before every creation the device manager is asked; no devices are chosen for a container that had some.

        Rules: DM-103, DM-104, DM-107
        """
        around, pod = self._around, self._known.pod
        wait_s = await self._crash_wait_s(container) or await self._pull_wait_s(container)
        if wait_s:
            return wait_s
        try:
            spec = await self._kubelet.prepare(pod, container)
        except PreparationFailed as failure:
            self._waits(container, "CreateContainerConfigError", failure.shown)
            await around.events.of_pod(pod, WARNING, "Failed", f"Error: {failure.shown}", container)
            self._note(f"{container.name}: CreateContainerConfigError: {failure}", RecordLevel.WARNING)
            return RESYNC_S
        self._known.waiting.pop(container.name, None)
        resources = self._kubelet.state.allocations.of_container(pod.uid, container.name)
        held = around.runtime.create(pod, container, spec, around.now(), resources)
        await around.events.of_pod(pod, NORMAL, "Created", "Container created", container)
        around.runtime.start(held, around.now())
        await around.events.of_pod(pod, NORMAL, "Started", "Container started", container)
        self._note(f"container {container.name} started{self._script_end(container, held)}")
        return None

    def _script_end(self, container: Container, held: RuntimeContainer) -> str:
        """Have the container end as its pod says; what to say of it if that is at once."""
        ending = scripted.ending(self._known.pod, container)
        if ending is None:
            return ""
        if ending.after_s:
            self._around.timers.after(
                ending.after_s, lambda: container_ends(self._around, self._known, held, ending.code)
            )
            return ""
        self._around.runtime.end(held, ending.code, self._around.now())
        return " and ran to its end" if ending.code == 0 else f" and ended with exit code {ending.code}"

    async def _crash_wait_s(self, container: Container) -> float:
        """How long a container that has ended waits before it is started again; nothing the first time."""
        around, pod = self._around, self._known.pod
        ended = around.runtime.latest(pod.uid, container.name)
        if ended is None or ended.finished_at_s is None:
            return 0.0
        key = (pod.uid, container.name)
        wait_s = self._back_off.remaining_s(key, ended.finished_at_s, around.now())
        if not wait_s:
            self._back_off.tried(key, ended.finished_at_s, around.now())
            return 0.0
        delay, whole = _go_duration(self._back_off.delay_s(key)), _full_name(pod)
        message = f"back-off {delay} restarting failed container={container.name} pod={whole}"
        if self._waits(container, "CrashLoopBackOff", message):
            text = f"Back-off restarting failed container {container.name} in pod {whole}"
            await around.events.of_pod(pod, WARNING, "BackOff", text, container)
            self._note(f"{container.name}: CrashLoopBackOff: {message}", RecordLevel.WARNING)
        return wait_s

    async def _pull_wait_s(self, container: Container) -> float:
        """How long a container waits whose image cannot be pulled; nothing for all others."""
        around, pod = self._around, self._known.pod
        image = scripted.image_of(pod, container)
        if scripted.can_be_pulled(image):
            return 0.0
        key, now_s = (pod.uid, "image", image), around.now()
        failed_at_s = self._pull_failed_at_s.get(container.name)
        wait_s = 0.0 if failed_at_s is None else self._back_off.remaining_s(key, failed_at_s, now_s)
        if wait_s:
            text = f'Back-off pulling image "{image}"'
            if self._waits(container, "ImagePullBackOff", text):
                await around.events.of_pod(pod, NORMAL, "BackOff", text, container)
            return min(wait_s, RESYNC_S)
        self._back_off.tried(key, now_s, now_s)
        self._pull_failed_at_s[container.name] = now_s
        text = f'Failed to pull image "{image}": there is no such registry'
        if self._waits(container, "ErrImagePull", text):
            await around.events.of_pod(pod, WARNING, "Failed", text, container)
            self._note(f"{container.name}: ErrImagePull: {text}", RecordLevel.WARNING)
        return RESYNC_S

    def _waits(self, container: Container, reason: str, message: str) -> bool:
        """Remember why a container does not run; whether that is news."""
        before, now = self._known.waiting.get(container.name), WaitingReason(reason, message)
        self._known.waiting[container.name] = now
        return before != now

    async def _update_phase(self) -> None:
        """Pending as long as a container waits that never ran. Rules: DM-104"""
        known = self._known
        phase = phase_of(known.pod, known.statuses(self._around.runtime))
        if phase != known.phase:
            known.phase = phase
            self._note(f"phase {phase}")
        await self._around.statuses.sync(known, self._kubelet.state)

    async def _rest(self, wait_s: float | None) -> None:
        """Until a container ends, or for so long."""
        if wait_s is None:
            await self._known.changed.wait()
            return
        with contextlib.suppress(TimeoutError):
            await with_timeout(self._around.clock, self._known.changed.wait(), wait_s)

    def _note(self, text: str, level: RecordLevel = RecordLevel.INFO) -> None:
        self._around.transcript.add("node", self._known.pod.key, text, level=level)


def container_ends(around: Surroundings, known: KnownPod, held: RuntimeContainer, code: int) -> None:
    """A container's program is over: the runtime knows it at once, the kubelet if there is one."""
    if around.runtime.end(held, code, around.now()):
        around.transcript.add("node", known.pod.key, f"container {held.name} ended with exit code {code}")
        known.changed.set()


def _full_name(pod: Pod) -> str:
    return f"{pod.name}_{pod.namespace}({pod.uid})"


def _go_duration(seconds: float) -> str:
    """A whole number of seconds as Go writes it: `10s`, `1m20s`, `5m0s`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
