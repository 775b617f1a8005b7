"""The status of a pod and of its containers, as a kubelet computes it from what the runtime reports. Pure.

Why a container is not there yet (its image, its settings, a back-off) is known to the pod worker alone, and given in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import frozen

from kubelet_sim.model.ids import ContainerName
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.node.pods.pod_actions import is_initialized, is_restarted
from kubelet_sim.node.pods.simulated_runtime import ContainerState, RuntimeContainer, SimulatedRuntime

WAITING = "waiting"
RUNNING, EXITED = ContainerState.RUNNING.value, ContainerState.EXITED.value
CREATING, INITIALIZING = "ContainerCreating", "PodInitializing"
TERMINAL = ("Succeeded", "Failed")
"""Phases out of which there is no way back."""


@frozen
class WaitingReason:
    """Why a container does not run."""

    reason: str
    message: str = ""


@frozen
class ContainerStatus:
    """One container, as a pod's status shows it."""

    container: Container
    state: str
    """`waiting`, `created`, `running` or `exited`."""
    reason: str = ""
    message: str = ""
    held: RuntimeContainer | None = None
    """The last attempt, if there was any."""
    ended: RuntimeContainer | None = None
    """The attempt that is over and was followed by this state: what the API calls the last state."""

    @property
    def restart_count(self) -> int:
        """How often it was created again."""
        return 0 if self.held is None else self.held.attempt

    @property
    def exit_code(self) -> int | None:
        """The exit code of a container that is over."""
        return self.held.exit_code if self.held is not None and self.state == EXITED else None

    @property
    def is_ready(self) -> bool:
        """Whether it does its part: an init container by having ended well, all others by running."""
        if self.container.kind is ContainerKind.INIT:
            return self.exit_code == 0
        return self.state == RUNNING


def container_statuses(
    pod: Pod, runtime: SimulatedRuntime, waiting: Mapping[ContainerName, WaitingReason]
) -> tuple[ContainerStatus, ...]:
    """The status of each container, in the pod's order.

    Args:
        pod: whose containers.
        runtime: what there is of them.
        waiting: why those do not run that the pod worker could not start.

    Rules: DM-104
    """
    first = INITIALIZING if pod.init_containers and not is_initialized(pod, runtime) else CREATING
    return tuple(_status(pod, each, runtime, waiting.get(each.name), first) for each in pod.all_containers())


def _status(
    pod: Pod, container: Container, runtime: SimulatedRuntime, why: WaitingReason | None, first: str
) -> ContainerStatus:
    attempts = runtime.attempts(pod.uid, container.name)
    held = attempts[-1] if attempts else None
    if held is None:
        why = why or WaitingReason(first)
        return ContainerStatus(container, WAITING, why.reason, why.message)
    if held.state is not ContainerState.EXITED:
        return ContainerStatus(container, held.state.value, held=held, ended=attempts[-2] if attempts[1:] else None)
    if why is not None and is_restarted(pod, container, held):
        return ContainerStatus(container, WAITING, why.reason, why.message, held, held)
    return ContainerStatus(container, EXITED, held.reason, held=held, ended=attempts[-2] if attempts[1:] else None)


def phase_of(pod: Pod, statuses: Sequence[ContainerStatus]) -> str:
    """`Pending`, `Running`, `Succeeded` or `Failed`, by the restart policy and where the containers are.

    Follows: getPhase
    """
    apps = [each for each in statuses if each.container.kind is ContainerKind.APP]
    inits = Counter(_progress(each) for each in statuses if each.container.kind is not ContainerKind.APP)
    if inits["failed"] and pod.restart_policy == "Never":
        return "Failed"
    has_begun = any(each.held for each in apps)
    if inits["pending"] and not has_begun:
        return "Pending"
    if any(each.state not in {RUNNING, EXITED} and each.ended is None for each in apps):
        return "Pending"
    if any(each.state == RUNNING for each in apps):
        return "Running"
    if pod.restart_policy == "Always":
        return "Running"
    if all(each.exit_code == 0 for each in apps):
        has_sidecar = any(each.container.kind is ContainerKind.SIDECAR and each.state == RUNNING for each in statuses)
        return "Running" if has_sidecar else "Succeeded"
    return "Failed" if pod.restart_policy == "Never" else "Running"


def _progress(status: ContainerStatus) -> str:
    """How an init container or sidecar counts: `done`, `failed` or `pending`."""
    if status.container.kind is ContainerKind.SIDECAR:
        return "done" if status.state == RUNNING else "pending"
    last = status.held if status.state == EXITED else status.ended
    if last is None or status.state == RUNNING:
        return "pending"
    return "failed" if last.has_failed else "done"
