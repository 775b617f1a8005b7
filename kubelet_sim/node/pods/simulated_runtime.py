"""The simulated container runtime: which containers there are, and in which state. Pure state, beside the core.

It outlives the kubelet process, as a real runtime does. Every attempt at a container is a container of its own, with an id;
of those that are over, the last one of each name is kept. When a container is to run is none of its business: see
`pod_actions`. When one ends by itself is `scripted`'s.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from enum import Enum

from attrs import define, field

from kubelet_sim.errors import InvariantError
from kubelet_sim.model.ids import ContainerName, PodUID, ResourceName
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.response import ContainerSpec

COMPLETED, ERROR, UNKNOWN = "Completed", "Error", "Unknown"
KILLED = 137
"""The exit code of a container that was ended by SIGKILL."""
LOST = 255
"""The exit code that a runtime reports of a container whose end it has not seen, as after a power loss."""
DEAD_KEPT = 1
"""How many containers of a name are kept that are over, once there is a newer one: what a kubelet keeps."""


class ContainerState(Enum):
    """Where a container is in its life."""

    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"


@define
class RuntimeContainer:
    """One attempt at running a container, as the runtime has it."""

    pod_uid: PodUID
    name: ContainerName
    attempt: int
    """Counts from 0; a pod's status shows that of the last one as its restart count."""
    sandbox: int
    """The attempt of the sandbox that it lives in."""
    spec: ContainerSpec | None
    """What the device manager gave it when it was created; `None` if no plugin had a say."""
    created_at_s: float
    resources: frozenset[ResourceName] = frozenset()
    """Those of which it had devices when it was created; what is allocated later does not reach it."""
    state: ContainerState = ContainerState.CREATED
    started_at_s: float | None = None
    finished_at_s: float | None = None
    exit_code: int | None = None
    reason: str = ""
    """`Completed`, `Error` or `Unknown` once it is over."""

    @property
    def id(self) -> str:
        """As long as those of real runtimes; the same for the same attempt at every run."""
        return hashlib.sha256(f"{self.pod_uid}/{self.name}/{self.attempt}".encode()).hexdigest()

    @property
    def has_failed(self) -> bool:
        """Whether it is over, and not well."""
        return self.state is ContainerState.EXITED and self.exit_code != 0


@define
class Sandbox:
    """What the containers of a pod live in; after a reboot it takes another one."""

    pod: Pod
    attempt: int = 0
    is_ready: bool = True


@define
class SimulatedRuntime:
    """The containers of a node, in which nothing runs."""

    _containers: dict[PodUID, dict[ContainerName, list[RuntimeContainer]]] = field(factory=dict)
    _sandboxes: dict[PodUID, Sandbox] = field(factory=dict)

    # --- looking

    def latest(self, uid: PodUID, name: ContainerName) -> RuntimeContainer | None:
        """The last attempt; `None` if there has been none."""
        attempts = self.attempts(uid, name)
        return attempts[-1] if attempts else None

    def attempts(self, uid: PodUID, name: ContainerName) -> tuple[RuntimeContainer, ...]:
        """Every attempt that is still kept, oldest first."""
        return tuple(self._containers.get(uid, {}).get(name, ()))

    def here(self, uid: PodUID, name: ContainerName) -> RuntimeContainer | None:
        """The last attempt, if it lives in the sandbox that the pod has now."""
        found, sandbox = self.latest(uid, name), self._sandboxes.get(uid)
        return found if found and sandbox and sandbox.is_ready and found.sandbox == sandbox.attempt else None

    def has_sandbox(self, uid: PodUID) -> bool:
        """Whether the pod has a sandbox in which containers can run."""
        sandbox = self._sandboxes.get(uid)
        return sandbox is not None and sandbox.is_ready

    def knows(self, uid: PodUID) -> bool:
        """Whether there is, or was, anything of the pod."""
        return uid in self._sandboxes

    def pods(self) -> tuple[Pod, ...]:
        """Those with anything left of them, whether the API server knows them or not; in order of their first sandboxes."""
        return tuple(sandbox.pod for sandbox in self._sandboxes.values())

    def running(self) -> frozenset[tuple[PodUID, ContainerName]]:
        """Pod and name of each container that runs: what a kubelet that starts now is told. Rules: DM-7, DM-110"""
        running = (held for held in self._all() if held.state is ContainerState.RUNNING)
        return frozenset((held.pod_uid, held.name) for held in running)

    def listed(self) -> tuple[tuple[PodUID, ContainerName, bool], ...]:
        """Pod and name of every container, and whether it runs; a name may stand there twice. Rules: DM-7, DM-110"""
        return tuple((held.pod_uid, held.name, held.state is ContainerState.RUNNING) for held in self._all())

    # --- what becomes of containers

    def open_sandbox(self, pod: Pod) -> None:
        """Give the pod a sandbox, the next one if it had one before."""
        before = self._sandboxes.get(pod.uid)
        self._sandboxes[pod.uid] = Sandbox(pod, 0 if before is None else before.attempt + 1)

    def create(
        self,
        pod: Pod,
        container: Container,
        spec: ContainerSpec | None,
        at_s: float,
        resources: Iterable[ResourceName] = (),
    ) -> RuntimeContainer:
        """Make the next attempt, with what the device manager gave it: devices of these resources; the pod has a sandbox."""
        if not self.has_sandbox(pod.uid):
            raise InvariantError(f"pod {pod.key} has no sandbox for container {container.name}")
        attempts = self._containers.setdefault(pod.uid, {}).setdefault(container.name, [])
        number = attempts[-1].attempt + 1 if attempts else 0
        made = RuntimeContainer(
            pod.uid, container.name, number, self._sandboxes[pod.uid].attempt, spec, at_s, frozenset(resources)
        )
        del attempts[:-DEAD_KEPT]
        attempts.append(made)
        return made

    def start(self, container: RuntimeContainer, at_s: float) -> None:
        """Run a container that was created."""
        container.state, container.started_at_s = ContainerState.RUNNING, at_s

    def end(self, container: RuntimeContainer, code: int, at_s: float, reason: str = "") -> bool:
        """End a container, unless it is over already; answers whether it ended by this.

        Without a reason it is the one that runtimes give for such a code.
        """
        if container.state is ContainerState.EXITED:
            return False
        container.state, container.exit_code, container.finished_at_s = ContainerState.EXITED, code, at_s
        container.reason = reason or (COMPLETED if code == 0 else ERROR)
        return True

    def stop(self, pod: Pod, code: int, at_s: float) -> list[Container]:
        """End what runs of a pod at once; answers with the containers that ended by it, in the pod's order."""
        stopped = []
        for container in pod.all_containers():
            held = self.latest(pod.uid, container.name)
            if held is not None and self.end(held, code, at_s):
                stopped.append(container)
        return stopped

    def lose_power(self, at_s: float) -> None:
        """The machine went down: nothing runs, no sandbox is of use any more; what there was is still known."""
        for held in self._all():
            self.end(held, LOST, at_s, UNKNOWN)
        for sandbox in self._sandboxes.values():
            sandbox.is_ready = False

    def forget(self, uid: PodUID) -> None:
        """Remove all that is left of a pod."""
        self._containers.pop(uid, None)
        self._sandboxes.pop(uid, None)

    def _all(self) -> Iterator[RuntimeContainer]:
        for by_name in self._containers.values():
            for attempts in by_name.values():
                yield from attempts
