"""What is to be done next about the containers of an admitted pod, as a kubelet's pod worker works it out. Pure.

Looked at are the pod and the runtime; whether something that is to be started has to wait first is the worker's business.
"""

from __future__ import annotations

from attrs import frozen

from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.node.pods.simulated_runtime import ContainerState, RuntimeContainer, SimulatedRuntime


@frozen
class PodActions:
    """What to do, in this order."""

    new_sandbox: bool = False
    start: tuple[Container, ...] = ()
    """Containers to create and start, again or for the first time."""
    is_over: bool = False
    """Nothing of the pod is to run any more: what still runs is ended."""


NOTHING = PodActions()
OVER = PodActions(is_over=True)


def actions_for(pod: Pod, runtime: SimulatedRuntime) -> PodActions:
    """What is to be done now; look again after it, and whenever a container has ended.

    Init containers run one after the other, sidecars are kept, then the app containers start together. A pod whose
    sandbox is gone begins from its first init container.

    Follows: computePodActions, computeInitContainerActions
    """
    if not runtime.has_sandbox(pod.uid):
        return _from_the_beginning(pod, runtime)
    if not is_initialized(pod, runtime):
        return _initializing(pod, runtime)
    to_start = tuple(each for each in pod.containers if _is_to_start(pod, runtime.latest(pod.uid, each.name)))
    if not to_start and not any(_is_alive(runtime.latest(pod.uid, each.name)) for each in pod.containers):
        return OVER
    sidecars = tuple(
        each
        for each in pod.init_containers
        if each.kind is ContainerKind.SIDECAR and not _is_alive(runtime.here(pod.uid, each.name))
    )
    return PodActions(start=sidecars + to_start)


def is_initialized(pod: Pod, runtime: SimulatedRuntime) -> bool:
    """Whether init containers are behind it: an app container was created, or there is none before them."""
    if any(runtime.here(pod.uid, each.name) for each in pod.containers):
        return True
    return all(_is_behind(each, runtime.here(pod.uid, each.name)) for each in pod.init_containers)


def _from_the_beginning(pod: Pod, runtime: SimulatedRuntime) -> PodActions:
    """A pod that is not to be restarted, or that has nothing left to do, gets no further sandbox."""
    if runtime.knows(pod.uid):
        has_run = any(runtime.latest(pod.uid, each.name) for each in pod.all_containers())
        if pod.restart_policy == "Never" and has_run:
            return OVER
        if not any(_is_to_start(pod, runtime.latest(pod.uid, each.name)) for each in pod.containers):
            return OVER
    return PodActions(new_sandbox=True)


def _initializing(pod: Pod, runtime: SimulatedRuntime) -> PodActions:
    for container in pod.init_containers:
        held = runtime.here(pod.uid, container.name)
        if _is_behind(container, held):
            continue
        if _is_alive(held):
            return NOTHING
        if held is not None and container.kind is ContainerKind.INIT and pod.restart_policy == "Never":
            return OVER
        return PodActions(start=(container,))
    return NOTHING


def _is_behind(container: Container, held: RuntimeContainer | None) -> bool:
    """Whether an init container lets the next one start."""
    if held is None:
        return False
    if container.kind is ContainerKind.SIDECAR:
        return held.state is ContainerState.RUNNING
    return held.state is ContainerState.EXITED and not held.has_failed


def _is_alive(held: RuntimeContainer | None) -> bool:
    return held is not None and held.state is not ContainerState.EXITED


def _is_to_start(pod: Pod, held: RuntimeContainer | None) -> bool:
    """Whether an app container is to be started, by the restart policy if it has ended. Follows: ShouldContainerBeRestarted"""
    if held is None:
        return True
    if held.state is not ContainerState.EXITED:
        return False
    return pod.restart_policy == "Always" or (pod.restart_policy == "OnFailure" and held.has_failed)


def is_restarted(pod: Pod, container: Container, held: RuntimeContainer) -> bool:
    """Whether a container that has ended comes back, sooner or later."""
    match container.kind:
        case ContainerKind.SIDECAR:
            return True
        case ContainerKind.INIT:
            return held.has_failed and pod.restart_policy != "Never"
        case ContainerKind.APP:
            return _is_to_start(pod, held)
