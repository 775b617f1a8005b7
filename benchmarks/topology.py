"""How long the hints of one resource take, and the merge of three: 8 NUMA nodes, 2,000 devices, a request of 4.

    python benchmarks/topology.py               medians, and their ratio to a fixed loop in the same run
    python benchmarks/topology.py --limit 50    ends with 1 if hints and merge take more milliseconds together

The ratio can be compared between machines, the milliseconds cannot. Each case is told apart: devices on one node, as most are;
devices on any set of nodes, and resources that cannot agree, which is as bad as it gets.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kubelet_sim.core.devices.device_hints import container_hints
from kubelet_sim.core.ports import Sorted
from kubelet_sim.core.state import Context, State
from kubelet_sim.core.topology.hints import Hint, HintsByResource
from kubelet_sim.core.topology.settings import Merger, NumaNodeInfo, TopologySettings, merger
from kubelet_sim.model.device import HEALTHY, Device
from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.profiles import V1_36
from kubelet_sim.transcript import Decision

NODES, DEVICES, REQUEST, RESOURCES = 8, 2000, 4, 3
ROUNDS, LOOPS = 15, 200_000
Placement = Callable[[int], tuple[int, ...]]


class Nobody:
    """A journal that nobody reads."""

    def append(self, decision: Decision) -> None:
        """Forget it."""


def main(arguments: Sequence[str]) -> int:
    """Measure and print; the exit code says whether the worst case is within the limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit", type=float, default=None, metavar="MS")
    limit = parser.parse_args(arguments).limit
    chance = random.Random(1)  # noqa: S311 (nothing secret)
    placements: Mapping[str, Placement] = {
        "on one node each": lambda number: (number % NODES,),
        "on any nodes": lambda _: tuple(chance.sample(range(NODES), chance.randint(1, NODES))),
    }
    loop = median_ms(reference)
    print(f"{'reference loop':50} {loop:8.2f} ms")
    policy = merger(TopologySettings("restricted"), [NumaNodeInfo(node) for node in range(NODES)])
    worst = 0.0
    for name, placement in placements.items():
        context, pod = world(placement, policy)
        hints = measured(
            f"hints of {DEVICES} devices {name}", loop, partial(container_hints, context, pod, pod.containers[0])
        )
        (of_one,) = container_hints(context, pod, pod.containers[0]).values()
        for how, answer in {"alike": agreeing(of_one or ()), "without agreement": disagreeing(of_one or ())}.items():
            merge = measured(f"merge of {RESOURCES} such resources {how}", loop, partial(policy.result, [answer]))
            worst = max(worst, hints + merge)
    print(f"{'hints and merge together, at worst':50} {worst:8.2f} ms  {worst / loop:8.2f} loops")
    return 1 if limit is not None and worst > limit else 0


def measured(name: str, loop: float, work: Callable[[], object]) -> float:
    """Measure and print one line."""
    took = median_ms(work)
    print(f"{name:50} {took:8.2f} ms  {took / loop:8.2f} loops")
    return took


def median_ms(work: Callable[[], object]) -> float:
    """The median of some rounds, in milliseconds."""
    taken = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


def reference() -> int:
    """A loop that does the same on every machine."""
    total = 0
    for number in range(LOOPS):
        total = (total * 31 + number) & 0xFFFFFFFF
    return total


def world(placement: Placement, policy: Merger) -> tuple[Context, Pod]:
    """A resource whose devices are placed so, and a pod that wants some."""
    resource = ResourceName("example.com/dev")
    devices = [
        Device(DeviceID(f"device-{number}"), HEALTHY, tuple(map(NumaNode, placement(number))))
        for number in range(DEVICES)
    ]
    state = State(sources_ready=True)
    state.devices[resource] = {device.id: device for device in devices}
    state.healthy[resource] = frozenset(device.id for device in devices)
    context = Context(state, V1_36, Sorted(), Nobody(), merger=policy, numa_nodes=tuple(range(NODES)))
    container = Container(ContainerName("main"), limits={resource: Quantity.of(REQUEST)})
    return context, Pod("p", "default", PodUID("p"), containers=(container,))


def agreeing(hints: Sequence[Hint]) -> HintsByResource:
    """Resources with the same hints."""
    return {f"resource-{number}": hints for number in range(RESOURCES)}


def disagreeing(hints: Sequence[Hint]) -> HintsByResource:
    """Resources of which one prefers nothing, so that every mask that can come out is looked at."""
    return {**agreeing(hints), "resource-0": [Hint(hint.mask) for hint in hints]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
