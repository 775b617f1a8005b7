from __future__ import annotations

from kubelet_sim.core.facts import Applied, DevicesListed, StatusRoundDue, StreamEnded
from kubelet_sim.model.ids import ClientID
from tests.unit.core.bench import Bench, dev


def test_facts_are_values() -> None:
    """Equal facts are equal; duplicates and order inside a list are part of it. Rules: DM-51, DM-53"""
    once, twice = (DevicesListed(ClientID(1), devices) for devices in ((dev("a"),), (dev("a"), dev("a"))))

    assert once == DevicesListed(ClientID(1), (dev("a"),)) != twice
    assert StreamEnded(ClientID(1), 0.0).error is None


def test_one_fact_may_be_applied_twice() -> None:
    """A fact holds nothing that its application changes. Rules: DM-62"""
    bench = Bench()
    fact = StatusRoundDue(1.0)

    assert bench.manager.apply(fact) == bench.manager.apply(fact)


def test_nothing_to_do_is_the_rule() -> None:
    """A consequence without effects has none. Rules: DM-115"""
    assert Applied(None).effects == ()
