from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from kubelet_sim.core.effects import WriteCheckpoint
from kubelet_sim.core.facts import StatusRoundDue
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.node import CapacityAnswer, NodeObject
from tests.unit.core.bench import DEV, GONE_S, NIC, Bench, container, dev, drive, pod, quantities, sick, snapshot

JUST_OVER_S = math.nextafter(GONE_S, math.inf)


def test_what_the_device_manager_answers() -> None:
    """Capacity counts healthy and unhealthy, allocatable the healthy ones, in use or not. Rules: DM-62"""
    bench = Bench()
    bench.serve("a", "b", sick("c"))
    bench.serve("x", resource=NIC)
    bench.admit(pod("p", {DEV: 2}))

    assert bench.round().answer == CapacityAnswer({DEV: 3, NIC: 1}, {DEV: 2, NIC: 1}, ())


def test_a_round_without_devices() -> None:
    """A node without plugins shows the machine, and nothing is written. Rules: DM-64, DM-69"""
    bench = Bench(machine=quantities({"cpu": "4", "memory": "1Gi", "pods": "5"}))

    applied = bench.manager.apply(StatusRoundDue(0.0))

    assert applied.effects == ()
    assert applied.answer.answer == CapacityAnswer({}, {}, ())
    assert applied.answer.node == NodeObject(
        quantities({"cpu": "4", "memory": "1Gi", "pods": "5"}), quantities({"cpu": "4", "memory": "1Gi", "pods": "5"})
    )
    assert applied.answer.node == bench.state.node


@pytest.mark.parametrize("at_s, is_gone", [(0.0, False), (GONE_S, False), (JUST_OVER_S, True), (1e6, True)])
def test_removal_at_the_first_round_after_the_grace_period(at_s: float, is_gone: bool) -> None:
    """Strictly more than five minutes after the stop time the resource goes, and the checkpoint is written. Rules: DM-47, DM-62, DM-70"""
    bench = Bench()
    bench.serve("x", resource=NIC)
    bench.end(bench.serve("a"), 0.0)

    applied = bench.manager.apply(StatusRoundDue(at_s))

    if is_gone:
        assert applied.answer.answer.deleted == (DEV,)
        assert applied.effects == (WriteCheckpoint(CheckpointDocument(None, {NIC: ("x",)})),)
        assert DEV not in {**bench.state.endpoints, **bench.state.healthy, **bench.state.unhealthy}
        assert bench.state.devices[DEV] == {"a": dev("a")}
    else:
        assert applied.answer.answer.deleted == ()
        assert applied.effects == ()
        assert bench.shown() == (1, 0)


def test_nothing_expires_without_rounds() -> None:
    """Time alone removes nothing: a plugin that is back in time for the next round was never gone. Rules: DM-47"""
    bench = Bench()
    bench.end(bench.serve("a"), 0.0)

    client = bench.register()
    bench.list(client, "a")

    assert bench.round(10 * GONE_S).answer.deleted == ()
    assert bench.shown() == (1, 1)


def test_a_removal_is_told_once() -> None:
    """The round that removes names the resource, no later one does. Rules: DM-63"""
    bench = Bench()
    for resource in (NIC, DEV):
        bench.end(bench.serve("a", resource=resource), 0.0)

    assert bench.round(GONE_S + 1).answer == CapacityAnswer({}, {}, (DEV, NIC))
    assert bench.round(GONE_S + 2).answer == CapacityAnswer({}, {}, ())
    assert bench.manager.apply(StatusRoundDue(GONE_S + 3)).effects == ()


def test_removal_leaves_the_books() -> None:
    """Pods keep their records, and the name stays known as long as ids are in use. Rules: DM-47, DM-49"""
    bench = Bench()
    client = bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))
    bench.end(client, 0.0)

    bench.round(GONE_S + 1)

    assert bench.ids("p") == bench.in_use() == {"a"}
    assert bench.refusal(pod("q", {DEV: 1})) == f"cannot allocate unregistered device {DEV}"


def test_a_zero_stays_for_ever() -> None:
    """The node object keeps the name of what was ever served, with zero. Rules: DM-64, DM-66"""
    bench = Bench()
    bench.end(bench.serve("a"), 0.0)
    for at_s in (GONE_S + 1, GONE_S + 2, 1e6, 2e6):
        bench.round(at_s)
        assert bench.shown() == (0, 0)


def test_changes_are_seen_at_the_next_round_only() -> None:
    """The node object is as last computed, whatever happens in between. Rules: DM-65"""
    bench = Bench()
    client = bench.serve("a", "b")
    assert bench.shown() is None
    bench.round()
    assert bench.shown() == (2, 2)
    bench.list(client, "a")
    assert bench.shown() == (2, 2)
    bench.round()
    assert bench.shown() == (1, 1)


def test_what_nobody_mentions_keeps_its_capacity() -> None:
    """Resources of an earlier life stay, allocatable in full; the machine's are taken from the machine. Rules: DM-64"""
    node = NodeObject(
        quantities({"cpu": "1", NIC: "7", "hugepages-2Mi": "3"}),
        quantities({"cpu": "1", NIC: "0", "hugepages-2Mi": "1"}),
    )
    bench = Bench(node=node, machine=quantities({"cpu": "8"}))

    after = bench.round().node

    assert after.capacity == quantities({"cpu": "8", NIC: "7", "hugepages-2Mi": "3"})
    assert after.allocatable == after.capacity


def test_allocatable_without_capacity() -> None:
    """An extended resource that is in allocatable alone is removed, any other one stays. Rules: DM-64"""
    bench = Bench(node=NodeObject({}, quantities({NIC: "7", "hugepages-2Mi": "3"})), machine=quantities({"cpu": "8"}))

    assert bench.round().node.allocatable == quantities({"cpu": "8", "hugepages-2Mi": "3"})


def test_quantities_are_plain_integers() -> None:
    """A count of devices is written without suffix. Rules: DM-64"""
    bench = Bench()
    bench.serve(*(f"d{number}" for number in range(1200)))

    assert str(bench.round().node.capacity[DEV]) == "1200"


def test_a_round_repeats() -> None:
    """Without events a second round changes nothing and says nothing. Rules: DM-62, DM-65"""
    bench = Bench()
    bench.serve("a", sick("b"))
    bench.round(1.0)
    before, noted = snapshot(bench.state), len(bench.notes.decisions)

    bench.round(2.0)

    assert snapshot(bench.state) == before
    assert len(bench.notes.decisions) == noted


# ---------------------------------------------------------- the table of what a node status shows over time (DM-69)


def _restart(bench: Bench, *, lost: bool = False, at_s: float = 0.0) -> Bench:
    """The next kubelet, from the checkpoint of the last list; one round is due."""
    document = CheckpointDocument(None, dict.fromkeys(bench.state.healthy, ()))
    return bench.restarted(None if lost else document, at_s=at_s, ready=True)


def _served(bench: Bench) -> Bench:
    bench.serve("a", "b", sick("c"))
    bench.round(0.0)
    return bench


def _gone(bench: Bench, rounds: tuple[float, ...] = ()) -> Bench:
    _served(bench)
    bench.end(bench.state.clients[DEV], 0.0)
    for at_s in rounds:
        bench.round(at_s)
    return bench


def _registered(bench: Bench) -> Bench:
    bench.register()
    return bench


def _failed_stream(bench: Bench) -> Bench:
    bench.end(bench.register(), 0.0)
    return bench


def _empty(bench: Bench) -> Bench:
    bench.serve()
    return bench


def _used(bench: Bench) -> Bench:
    _served(bench)
    assert bench.admit(pod("p", {DEV: 2})) == Admitted()
    return bench


def _back_after_restart(bench: Bench) -> Bench:
    after = _restart(_served(bench))
    after.round(1.0)
    after.serve("x", sick("y"))
    return after


SITUATIONS: dict[str, tuple[Callable[[Bench], Bench], float, tuple[int, int] | None]] = {
    "never registered": (lambda bench: bench, 1e6, None),
    "registered, no message yet": (_registered, 1e6, None),
    "stream failed before any message": (_failed_stream, 1.0, (0, 0)),
    "stream failed before any message, removed": (_failed_stream, JUST_OVER_S, (0, 0)),
    "stream alive": (_served, 1e6, (3, 2)),
    "empty list": (_empty, 1e6, (0, 0)),
    "pods use some": (_used, 1e6, (3, 2)),
    "plugin gone": (_gone, GONE_S, (3, 0)),
    "plugin gone for more than 5 minutes": (_gone, JUST_OVER_S, (0, 0)),
    "back within the grace period, no message": (lambda b: _registered(_gone(b, (200.0,))), 250.0, (3, 0)),
    "back after removal, no message": (lambda b: _registered(_gone(b, (JUST_OVER_S,))), 400.0, (0, 0)),
    "restarted, plugin not back": (lambda b: _restart(_served(b)), 1.0, (0, 0)),
    "restarted, plugin not back, removed": (lambda b: _restart(_served(b)), JUST_OVER_S, (0, 0)),
    "restarted, checkpoint lost": (lambda b: _restart(_served(b), lost=True), 1.0, (3, 3)),
    "restarted while gone, checkpoint lost": (lambda b: _restart(_gone(b, (1.0,)), lost=True), 2.0, (3, 3)),
    "restarted, plugin back": (_back_after_restart, 2.0, (2, 1)),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_node_status_over_time(situation: str) -> None:
    """Capacity and allocatable after the next round, line by line of the table. Rules: DM-66, DM-69"""
    story, at_s, expected = SITUATIONS[situation]
    bench = story(Bench())

    bench.round(at_s)

    assert bench.shown() == expected


def test_the_grace_period_restarts_with_the_kubelet() -> None:
    """A placeholder expires five minutes after the start, however long the plugin was gone before. Rules: DM-45, DM-193"""
    bench = _gone(Bench(), (299.0,))
    after = _restart(bench, at_s=299.0)

    assert after.round(299.0 + GONE_S).answer.deleted == ()
    assert after.round(300.0 + GONE_S).answer.deleted == (DEV,)


def test_a_left_over_number_admits_pods_without_devices() -> None:
    """With the checkpoint lost, the old number stands in the node object, and pods run without a device. Rules: DM-67, DM-81"""
    after = _restart(_served(Bench()), lost=True)
    after.round(1.0)

    assert after.admit(pod("p", {DEV: 3})) == Admitted()
    assert after.ids("p") is None
    assert drive(after.manager.prepare(pod("p"), container("main", {DEV: 3}))) is None
