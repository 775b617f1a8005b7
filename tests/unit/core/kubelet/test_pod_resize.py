from __future__ import annotations

import pytest

from kubelet_sim.core.cpus.cpu_manager import CpuAllocations
from kubelet_sim.core.kubelet.kubelet import Kubelet
from kubelet_sim.core.topology.alignment import Alignment
from kubelet_sim.core.walks import ResizeAsked
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.pod import Pod
from kubelet_sim.profiles import profile_of
from tests.unit.core.bench import DEV, Bench, Steps, calls, dev, pod, sick


def resize(bench: Bench, wanted: Pod) -> Steps[Admission]:
    """A resize, up to its first effect."""
    return Steps(bench.manager.begin(ResizeAsked(wanted)))


def small_and_large() -> tuple[Pod, Pod]:
    """A pod with a device, as it is and as it is to be."""
    return pod("p", {"cpu": 1, DEV: 1}), pod("p", {"cpu": 2, DEV: 1})


def test_nothing_is_allocated_anew() -> None:
    """The pod keeps its devices, no plugin is called, and from now on it counts with its new size. Rules: DM-114"""
    bench = Bench()
    bench.serve("a", "b")
    small, large = small_and_large()
    bench.admit(small)
    held = bench.ids("p")
    steps = resize(bench, large)
    assert (steps.result, steps.seen) == (Admitted(), [])
    assert bench.ids("p") == held
    assert bench.state.active_pods[PodUID("p")] == large


@pytest.mark.parametrize(
    "listed, text", [([sick("a")], "no healthy devices present"), ([dev("b")], "previously allocated")]
)
def test_a_broken_or_missing_device_refuses_a_resize(listed: list[Device], text: str) -> None:
    """Size has nothing to do with it. The pod stays active, and keeps device and size. Rules: DM-90, DM-114"""
    bench = Bench()
    client = bench.serve("a")
    small, large = small_and_large()
    bench.admit(small)
    bench.list(client, *listed)
    verdict = resize(bench, large).result
    assert isinstance(verdict, Rejected)
    assert verdict.reason == "UnexpectedAdmissionError"
    assert text in verdict.message
    assert bench.state.active_pods[PodUID("p")] == small
    bench.reclaim()
    assert bench.ids("p") == {"a"}
    assert bench.notes.warnings("DM-114")


def test_a_pod_does_not_stand_in_its_own_way() -> None:
    """What it asked for before is not counted twice; what the node does not have is refused. Rules: DM-80, DM-114"""
    bench = Bench()
    bench.admit(pod("other", {"cpu": 1}))
    bench.admit(pod("p", {"cpu": 60}))
    assert resize(bench, pod("p", {"cpu": 63})).result == Admitted()
    verdict = resize(bench, pod("p", {"cpu": 64})).result
    assert isinstance(verdict, Rejected)
    assert verdict.reason == "OutOfcpu"
    assert bench.state.active_pods.requested(PodUID("p"))["cpu"] == 63_000


@pytest.mark.parametrize("version", ["1.33", "1.34", "1.35"])
def test_what_admission_refused_was_once_deferred(version: str) -> None:
    """Whatever it refused it for; the text is the same. Rules: DM-114"""
    bench = Bench(profile=profile_of(version))
    client = bench.serve("a")
    small, large = small_and_large()
    bench.admit(small)
    bench.list(client, sick("a"), "b")
    verdict = resize(bench, large).result
    assert isinstance(verdict, Rejected)
    assert verdict.reason == "Deferred"
    assert "previously allocated devices are no longer healthy" in verdict.message


@pytest.mark.parametrize("version", ["1.33", "1.36"])
@pytest.mark.parametrize(
    "amounts, text",
    [
        ({"cpu": 1000}, "cpu, requested: 1000000, capacity: 64000"),
        ({"cpu": 1000, "memory": "257Gi"}, "memory, requested: 275951648768, capacity: 274877906944"),
    ],
)
def test_more_than_the_node_has_is_infeasible(version: str, amounts: dict[str, str | int], text: str) -> None:
    """For good, in every release; that a device is broken, too, does not matter. Rules: DM-114"""
    bench = Bench(profile=profile_of(version))
    client = bench.serve("a")
    bench.admit(pod("p", {"cpu": 1, DEV: 1}))
    bench.list(client, sick("a"))
    verdict = resize(bench, pod("p", {**amounts, DEV: 1})).result
    assert verdict == Rejected("Infeasible", f"Node didn't have enough capacity: {text}")


PINNED = {
    "1.34": "Resize is infeasible for Guaranteed Pods alongside CPU Manager static policy",
    "1.35": 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
    "1.36": 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
}


def resized_beside_static_cpus(version: str, before: Pod, after: Pod) -> Admission:
    """The verdict on a resize with the static CPU policy."""
    bench = Bench(profile=profile_of(version))
    alignment = Alignment(cpus=CpuAllocations({0: 8}))
    bench.manager = Kubelet(bench.profile, bench.notes, node=bench.state.node, alignment=alignment)
    bench.sources_ready(ready=True)
    assert bench.admit(before) == Admitted()
    return resize(bench, after).result


@pytest.mark.parametrize("version", PINNED)
def test_a_guaranteed_pod_keeps_its_exclusive_cpus(version: str) -> None:
    """One that is not guaranteed is resized as without the policy. Rules: DM-114"""
    before, after = pod("p", {"cpu": 2, "memory": 1}), pod("p", {"cpu": 3, "memory": 1})
    assert resized_beside_static_cpus(version, before, after) == Rejected("Infeasible", PINNED[version])
    assert resized_beside_static_cpus(version, pod("p", {"cpu": 2}), pod("p", {"cpu": 3})) == Admitted()


@pytest.mark.parametrize(
    "version, expected", [("1.34", Rejected("Infeasible", PINNED["1.34"])), ("1.35", Admitted()), ("1.36", Admitted())]
)
def test_its_memory_can_be_changed_since_1_35(version: str, expected: Admission) -> None:
    """Before, the policy alone was enough to refuse it. Rules: DM-114"""
    before, after = pod("p", {"cpu": 2, "memory": 1}), pod("p", {"cpu": 2, "memory": 2})
    assert resized_beside_static_cpus(version, before, after) == expected


def test_what_a_container_runs_without_is_allocated_with_a_resize() -> None:
    """The plugin came after the pod: there is no record, so this is the first allocation. Rules: DM-90, DM-114"""
    bench = Bench()
    small, large = small_and_large()
    bench.admit(small)
    bench.serve("a")
    steps = resize(bench, large)
    assert calls(steps) == [("a",)]
