from __future__ import annotations

from kubelet_sim.core.devices.ordered_lists import Arranged
from kubelet_sim.core.ports import Sorted
from kubelet_sim.model.ids import DeviceID
from tests.unit.core.bench import DEV, NIC, Reversed

A, B = DeviceID("a"), DeviceID("b")


def test_sets_become_lists() -> None:
    """Each in the order that is asked for; nothing healthy is an empty list, no resource no list. Rules: CP-6"""
    assert Arranged().lists({}, Sorted()) == {}
    assert Arranged().lists({DEV: frozenset({A, B}), NIC: frozenset()}, Reversed()) == {DEV: ("b", "a"), NIC: ()}


def test_a_set_that_stayed_gives_the_same_list() -> None:
    """The same set gives the same tuple; an equal one is arranged anew, and a removed one is forgotten. Rules: CP-6"""
    arranged, ids = Arranged(), frozenset({A, B})
    first = arranged.lists({DEV: ids}, Sorted())

    assert arranged.lists({DEV: ids, NIC: frozenset({A})}, Sorted())[DEV] is first[DEV]
    replaced = arranged.lists({DEV: frozenset({B})}, Sorted())
    assert replaced == {DEV: ("b",)}
    assert arranged.lists({}, Sorted()) == {}
    assert arranged.lists({DEV: ids}, Sorted()) == first
