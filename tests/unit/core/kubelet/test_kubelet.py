from __future__ import annotations

import pytest

from kubelet_sim.core.facts import (
    Fact,
    PodActivated,
    PodDeactivated,
    ReclaimAsked,
    RuntimeListed,
    SourcesReadyChanged,
)
from kubelet_sim.core.kubelet.kubelet import Kubelet
from kubelet_sim.core.ports import Sorted
from kubelet_sim.errors import UsageError
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.node import NodeObject
from kubelet_sim.profiles import V1_36
from tests.unit.core.bench import DEV, Bench, Notes, container, pod, quantities, snapshot


def test_a_new_manager() -> None:
    """It knows nothing but the node object that was left behind, and its sources are not ready. Rules: DM-64, DM-109"""
    node = NodeObject(quantities({DEV: 3}), quantities({DEV: 3}))
    manager = Kubelet(V1_36, Notes(), node=node)

    state = manager.state
    assert state.node == node
    assert not state.sources_ready
    assert not any((state.clients, state.endpoints, state.healthy, state.unhealthy, state.devices))
    assert state.active_pods == {}
    assert state.running_at_start == frozenset()
    assert list(state.allocations) == []
    assert isinstance(manager.context.order, Sorted)


def test_two_managers_share_nothing() -> None:
    """What one learns, the other does not. Rules: DM-16"""
    first, second = Bench(), Bench()
    first.serve("a")
    first.admit(pod("p", {DEV: 1}))

    assert snapshot(second.state) == snapshot(Bench().state)


def test_pods_come_and_go() -> None:
    """An active pod is known by its uid; one that goes need not have been there. Rules: DM-116"""
    bench = Bench()
    bench.manager.apply(PodActivated(pod("p")))
    bench.manager.apply(PodActivated(pod("p", {DEV: 1})))
    assert bench.state.active_pods == {PodUID("p"): pod("p", {DEV: 1})}

    bench.manager.apply(PodDeactivated(PodUID("p")))
    bench.manager.apply(PodDeactivated(PodUID("p")))
    assert bench.state.active_pods == {}


def test_facts_of_the_start() -> None:
    """What runs and whether the sources are ready is taken over as it is told. Rules: DM-7, DM-109, DM-110"""
    bench = Bench()
    running = frozenset({(PodUID("p"), ContainerName("main"))})

    bench.manager.apply(RuntimeListed(running))
    bench.manager.apply(SourcesReadyChanged(ready=False))

    assert bench.state.running_at_start == running
    assert not bench.state.sources_ready


@pytest.mark.parametrize(
    "fact",
    [
        PodActivated(pod("p")),
        PodDeactivated(PodUID("p")),
        SourcesReadyChanged(ready=True),
        ReclaimAsked(),
        RuntimeListed(frozenset()),
    ],
)
def test_facts_without_consequences(fact: Fact[None]) -> None:
    """They are answered with nothing, and nothing is to be done. Rules: DM-115"""
    applied = Bench().manager.apply(fact)

    assert applied.answer is None
    assert applied.effects == ()


def test_a_foreign_fact_is_refused() -> None:
    """Something that is no fact of a device manager is our caller's error, and changes nothing. Rules: DM-51"""

    class Sneeze(Fact[None]):
        """None of ours."""

    bench = Bench()
    before = snapshot(bench.state)

    with pytest.raises(UsageError, match="Sneeze"):
        bench.manager.apply(Sneeze())
    assert snapshot(bench.state) == before


def test_a_walk_is_made_without_side_effects() -> None:
    """Admission and preparation begin with their first step, not before. Rules: DM-74"""
    bench = Bench()
    before = snapshot(bench.state)
    bench.manager.admit(pod("p", {DEV: 1}))
    bench.manager.prepare(pod("p"), container())

    assert snapshot(bench.state) == before


def test_order_and_hash_seed_do_not_show() -> None:
    """With the default order the ids of an allocation are the first ones, sorted. Rules: DM-92, DM-221"""
    bench = Bench()
    bench.serve(*(f"id-{number:02}" for number in reversed(range(40))))
    bench.admit(pod("p", {DEV: 3}))

    assert bench.ids("p") == {"id-00", "id-01", "id-02"}
