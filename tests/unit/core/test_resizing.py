from __future__ import annotations

import pytest

from kubelet_sim.core.walks import ResizeAsked
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.pod import Pod
from tests.unit.core.bench import DEV, Bench, Steps, dev, pod, sick


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
    bench.admit(pod("p", {"cpu": 60}))
    assert resize(bench, pod("p", {"cpu": 64})).result == Admitted()
    verdict = resize(bench, pod("p", {"cpu": 65})).result
    assert isinstance(verdict, Rejected)
    assert verdict.reason == "OutOfcpu"
    assert bench.state.active_pods.requested(PodUID("p"))["cpu"] == 64_000
