from __future__ import annotations

from kubelet_sim.core.ports import Journal, Order, Sorted
from tests.unit.core.bench import Notes


def test_sorted_is_the_same_every_time() -> None:
    """All items once, ascending, whatever comes in: sets, keys, pairs, tuples of texts. Rules: DM-221"""
    order: Order = Sorted()

    assert order.arrange("DM-92", {"b", "a", "", "\u00e9"}) == ["", "a", "b", "\u00e9"]
    assert order.arrange("DM-124", {"B": "1", "A": "2"}.items()) == [("A", "2"), ("B", "1")]
    assert order.arrange("CP-6", ("b", "a", "b")) == ["a", "b", "b"]
    assert order.arrange("DM-89", ()) == []


def test_the_bench_notes_are_a_journal() -> None:
    """What the tests read decisions from fits the port. Rules: DM-221"""
    journal: Journal = Notes()

    assert isinstance(journal, Notes)
