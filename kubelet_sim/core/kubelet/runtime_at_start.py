"""Which containers ran when the kubelet started: looked at as long as the sources are not ready."""

from __future__ import annotations

from kubelet_sim.core.facts import RuntimeListed
from kubelet_sim.core.state import Context, State
from kubelet_sim.model.ids import ContainerName, PodUID


def runtime_listed(state: State, fact: RuntimeListed) -> None:
    """Take over what the runtime reported; it is never refreshed. Rules: DM-7, DM-110"""
    found: dict[tuple[PodUID, ContainerName], tuple[bool, ...]] = {}
    for pod, name, runs in fact.containers:
        found[pod, name] = (*found.get((pod, name), ()), runs)
    for key in fact.running - found.keys():
        found[key] = (True,)
    state.containers_at_start = found
    state.running_at_start = fact.running | {key for key, runs in found.items() if any(runs)}


def ran_at_start(context: Context, pod: PodUID, name: ContainerName) -> bool:
    """Whether the container counts as running; earlier releases looked at one of its name, whichever came first.

    Rules: DM-110, DM-177
    Follows: isContainerAlreadyRunning
    """
    state = context.state
    if context.profile.any_running_container_counts:
        return (pod, name) in state.running_at_start
    known = state.containers_at_start.get((pod, name), ())
    return bool(known) and context.order.arrange("DM-110", known)[0]
