"""A second provider of topology hints: exclusive cpus for guaranteed pods, as the kubelet's static CPU manager gives them.

Made so that devices and cpus can be aligned with each other as on a real node. Which cpu of a node a container gets is no
subject here: cpus are interchangeable within a NUMA node, there are no cores, sockets or policy options.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import ceil

from attrs import define, field

from kubelet_sim.core.effects import Walk
from kubelet_sim.core.kubelet.pod_requests import effective_amounts
from kubelet_sim.core.state import Context
from kubelet_sim.core.topology.hints import Hint, HintsByResource
from kubelet_sim.core.topology.masks import Mask, subsets, width
from kubelet_sim.errors import AllocationFailed
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity

Cpu = tuple[int, int]
"""(NUMA node, number within it)."""


@define(eq=False)
class CpuAllocations:
    """The cpus of a machine and who has them. They outlive the kubelet process, which keeps a checkpoint of them.

    Args:
        per_node: how many cpus each NUMA node has for exclusive use.
    """

    per_node: Mapping[int, int]
    held: dict[tuple[PodUID, ContainerName], frozenset[Cpu]] = field(factory=dict)

    def all(self) -> frozenset[Cpu]:
        """Every cpu that there is for exclusive use."""
        return frozenset((node, number) for node, count in self.per_node.items() for number in range(count))

    def free(self) -> frozenset[Cpu]:
        """The cpus that no container has to itself."""
        return self.all().difference(*self.held.values())

    def ids(self, cpus: Iterable[Cpu]) -> tuple[int, ...]:
        """Numbers as an operating system has them, sorted: counted through node by node. Rules: PR-20, PR-27"""
        nodes = sorted(self.per_node)
        first = dict(zip(nodes, accumulate((self.per_node[node] for node in nodes), initial=0), strict=False))
        return tuple(sorted(first[node] + number for node, number in cpus))

    def of_pod(self, uid: PodUID) -> frozenset[Cpu]:
        """The cpus that the containers of the pod have to themselves."""
        return frozenset().union(*(cpus for (pod, _), cpus in self.held.items() if pod == uid))


@define(eq=False)
class CpuProvider:
    """The hints of the CPU manager; fits `HintProvider`. Rules: TM-9, TM-10"""

    context: Context
    allocations: CpuAllocations

    def hints(self, pod: Pod, container: Container) -> HintsByResource:
        """For one container of a guaranteed pod that asks for whole cpus; no opinion otherwise."""
        count = exclusive_cpus(pod, container)
        if count == 0:
            return {}
        held = self.allocations.held.get((pod.uid, container.name), frozenset())
        return {"cpu": self._hints(count, held, self._reusable(pod))}

    def pod_hints(self, pod: Pod) -> HintsByResource:
        """For all containers of the pod together."""
        wanted = effective_amounts(pod, lambda each: {"cpu": Quantity.of(exclusive_cpus(pod, each))})
        count = ceil(wanted.get("cpu", 0))
        return {"cpu": self._hints(count, self.allocations.of_pod(pod.uid), frozenset())} if count else {}

    def allocating(self, pod: Pod, container: Container) -> Walk[None]:
        """Take cpus of init containers before it first, then aligned ones, then any.

        Raises:
            AllocationFailed: with the CPU manager's words.
        """
        yield from ()
        count = exclusive_cpus(pod, container)
        key = (pod.uid, container.name)
        if count == 0 or key in self.allocations.held:
            return
        self._forget_inactive()
        reusable, free = self._reusable(pod), self.allocations.free()
        if len(reusable | free) < count:
            available = len(reusable | free)
            text = f"not enough cpus available to satisfy request: requested={count}, available={available}"
            raise AllocationFailed(text, rule="TM-43")
        mask = self.context.state.affinities.of(pod.uid, container.name).mask
        aligned = frozenset(cpu for cpu in free if mask is not None and mask >> cpu[0] & 1)
        taken: list[Cpu] = []
        for pool in (reusable, aligned, free):
            taken += self.context.order.arrange("TM-65", pool.difference(taken))[: count - len(taken)]
        self.allocations.held[key] = frozenset(taken)
        nodes = sorted({node for node, _ in taken})
        self.context.say("TM-10", pod.key, f"{container.name} gets {count} cpus of NUMA nodes {nodes}")

    def _hints(self, count: int, held: frozenset[Cpu], reusable: frozenset[Cpu]) -> Sequence[Hint]:
        """As the device manager makes hints, with cpus for devices. Rules: TM-55, TM-56"""
        self._forget_inactive()
        if held and len(held) != count:
            return ()
        pool = held or self.allocations.free() | reusable
        nodes = sorted(self.allocations.per_node)
        everything = self.allocations.all()
        preferred = min((width(m) for m in subsets(nodes) if _count(everything, m) >= count), default=len(nodes))
        fitting = [mask for mask in subsets(nodes) if _count(pool, mask) >= count]
        pinned = [mask for mask in fitting if all(mask >> node & 1 for node, _ in reusable)]
        return [Hint(mask, is_preferred=width(mask) == preferred) for mask in pinned]

    def _reusable(self, pod: Pod) -> frozenset[Cpu]:
        """What ended init containers of the pod had and no other container of it has taken over."""
        kinds = {each.name: each.kind for each in pod.all_containers()}
        held = {name: cpus for (uid, name), cpus in self.allocations.held.items() if uid == pod.uid}
        handed_on = frozenset[Cpu]().union(*(c for n, c in held.items() if kinds.get(n) is ContainerKind.INIT))
        return handed_on.difference(*(c for n, c in held.items() if kinds.get(n) is not ContainerKind.INIT))

    def _forget_inactive(self) -> None:
        """Cpus come free with their pods, as soon as somebody asks."""
        if not self.context.state.sources_ready:
            return
        active = self.context.state.active_pods
        for key in [key for key in self.allocations.held if key[0] not in active]:
            del self.allocations.held[key]


def exclusive_cpus(pod: Pod, container: Container) -> int:
    """How many cpus the container has for itself: whole ones, in a guaranteed pod; else 0."""
    cpu = container.requests.get("cpu")
    return cpu.value if cpu is not None and cpu.is_integer and is_guaranteed(pod) else 0


def is_guaranteed(pod: Pod) -> bool:
    """Whether every container asks for cpu and memory, and for no less than its limits."""
    return all(
        name in each.limits and each.limits[name].amount > 0 and each.requests.get(name) == each.limits[name]
        for each in pod.all_containers()
        for name in ("cpu", "memory")
    )


def _count(cpus: Iterable[Cpu], mask: Mask) -> int:
    return sum(mask >> node & 1 for node, _ in cpus)
