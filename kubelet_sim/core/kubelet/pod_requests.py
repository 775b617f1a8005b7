"""What a pod asks of a node: its containers together, as the scheduler adds them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil

from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity


def requested(pod: Pod) -> dict[str, int]:
    """What a pod asks of the node, its overhead included; summed exactly, then rounded up. In thousandths for cpu."""
    total = effective_amounts(pod, lambda container: container.requests)
    _add(total, pod.overhead)
    return {name: counted(name, amount) for name, amount in total.items()}


def effective_amounts(pod: Pod, of: Callable[[Container], Mapping[str, Quantity]]) -> dict[str, Fraction]:
    """What a pod needs at once: its app containers and sidecars together, or more if an init container needs more.

    An init container runs beside the sidecars started before it.

    Rules: DM-119, TM-54
    """
    running: dict[str, Fraction] = {}
    most: dict[str, Fraction] = {}
    for container in pod.init_containers:
        if container.kind is ContainerKind.SIDECAR:
            _add(running, of(container))
        else:
            beside = dict(running)
            _add(beside, of(container))
            _raise_to(most, beside)
    for container in pod.containers:
        _add(running, of(container))
    _raise_to(most, running)
    return most


def counted(name: str, amount: Fraction) -> int:
    """An amount as a kubelet counts it: whole, rounded up; cpu in thousandths."""
    return ceil(amount * 1000) if name == "cpu" else ceil(amount)


def _add(total: dict[str, Fraction], amounts: Mapping[str, Quantity]) -> None:
    for name, quantity in amounts.items():
        total[name] = total[name] + quantity.amount if name in total else quantity.amount


def _raise_to(most: dict[str, Fraction], amounts: Mapping[str, Fraction]) -> None:
    for name, amount in amounts.items():
        most[name] = max(most[name], amount) if name in most else amount
