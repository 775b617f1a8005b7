from __future__ import annotations

from kubelet_sim.core.devices.reclaim import reclaim
from kubelet_sim.core.facts import PodActivated, ReclaimAsked
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from tests.unit.core.bench import DEV, NIC, Bench, pod, restored, snapshot


def _bench() -> Bench:
    bench = Bench()
    bench.serve("a", "b")
    bench.serve("x", resource=NIC)
    bench.admit(pod("p", {DEV: 1, NIC: 1}))
    bench.admit(pod("q", {DEV: 1}))
    return bench


def test_devices_of_pods_that_are_over_are_freed() -> None:
    """All their records go and the ids are free; nothing is written, nobody is called. Rules: DM-115, DM-136"""
    bench = _bench()
    bench.remove("p")

    applied = bench.manager.apply(ReclaimAsked())

    assert applied.effects == ()
    assert bench.state.allocations.pods() == {"q"}
    assert bench.state.allocations.in_use == {DEV: {"b"}}
    assert bench.notes.of("DM-115")[-1].details == {"pods": ["p"]}


def test_nothing_is_freed_before_somebody_asks() -> None:
    """The end of a pod alone changes no record, however much time passes. Rules: DM-115, DM-203"""
    bench = _bench()
    before = dict(bench.state.allocations)
    bench.remove("p")
    bench.remove("q")
    for at_s in (1.0, 1e6):
        bench.round(at_s)

    assert dict(bench.state.allocations) == before
    assert bench.in_use() == {"a", "b"}


def test_nothing_is_freed_before_the_sources_are_ready() -> None:
    """A pod that nobody has delivered yet keeps its devices until then. Rules: DM-115, DM-118"""
    bench = Bench(ready=False)
    entries = (
        CheckpointEntry("p", "main", DEV, {-1: ("a",)}, b""),
        CheckpointEntry("q", "main", DEV, {-1: ("b",)}, b""),
    )
    bench.manager.apply(restored(CheckpointDocument(entries, {DEV: ()})))
    before = snapshot(bench.state)

    bench.reclaim()
    assert snapshot(bench.state) == before

    bench.manager.apply(PodActivated(pod("q", {DEV: 1})))
    bench.sources_ready(ready=True)
    bench.reclaim()
    assert bench.state.allocations.pods() == {"q"}
    assert bench.in_use() == {"b"}


def test_a_reclaim_without_effect_says_nothing() -> None:
    """If every pod is active, nothing changes and nothing is noted. Rules: DM-102, DM-115"""
    bench = _bench()
    before, noted = snapshot(bench.state), len(bench.notes.decisions)

    reclaim(bench.manager.context)

    assert snapshot(bench.state) == before
    assert len(bench.notes.decisions) == noted


def test_a_pod_that_is_active_again_keeps_its_devices() -> None:
    """Only what is inactive at the moment of the reclaim counts. Rules: DM-116"""
    bench = _bench()
    bench.remove("p")
    bench.manager.apply(PodActivated(pod("p", {DEV: 1, NIC: 1})))
    bench.reclaim()

    assert bench.state.allocations.pods() == {"p", "q"}


def test_a_pod_without_devices_is_no_reason() -> None:
    """Its end leads to no new count: leaked ids stay leaked. Rules: DM-102"""
    bench = _bench()
    bench.admit(pod("idle"))
    bench.state.allocations.take(NIC, next(iter(bench.in_use(NIC) or ())))  # type: ignore[arg-type]
    bench.state.allocations.know(DEV).add("leaked")  # type: ignore[arg-type]
    bench.remove("idle")
    bench.reclaim()

    assert bench.in_use() == {"a", "b", "leaked"}
