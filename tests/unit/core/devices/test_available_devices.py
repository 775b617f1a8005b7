"""The free devices of a resource, kept in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubelet_sim.core.devices.allocations import Allocations
from kubelet_sim.core.devices.available_devices import FreeIds
from kubelet_sim.core.ports import Sorted
from kubelet_sim.model.ids import DeviceID, ResourceName

DEV = ResourceName("example.com/dev")
IDS = st.frozensets(st.text(max_size=3).map(DeviceID), max_size=20)


@given(IDS, IDS, st.lists(st.text(max_size=3).map(DeviceID), max_size=20))
def test_what_is_left_is_always_in_order(
    healthy: frozenset[DeviceID], in_use: frozenset[DeviceID], taken: list[DeviceID]
) -> None:
    """However many are taken, and in whatever order, free or not: the set is what it should be, ascending."""
    free = FreeIds(healthy, in_use)
    for device in taken:
        free.take(device)
    left = healthy - in_use - set(taken)
    assert set(free) == left
    assert list(free) == Sorted().arrange("DM-90", free) == sorted(left)
    assert len(free) == len(left)
    assert isinstance(free & healthy, frozenset)


def test_books_give_the_same_set_less_what_was_taken() -> None:
    """No list and no recount in between: the set is not made anew."""
    healthy = frozenset(map(DeviceID, "abc"))
    allocations = Allocations()
    first = allocations.free(DEV, healthy)
    allocations.take(DEV, DeviceID("b"))
    assert allocations.free(DEV, healthy) is first
    assert list(first) == ["a", "c"]


def test_another_list_or_a_recount_makes_a_new_set() -> None:
    """Who holds the old one keeps what was free then; the name is known in any case. Rules: DM-83, DM-97"""
    allocations, healthy = Allocations(), frozenset(map(DeviceID, "ab"))
    first = allocations.free(DEV, healthy)
    allocations.take(DEV, DeviceID("a"))
    allocations.recount()
    assert DEV not in allocations.in_use
    assert list(allocations.free(DEV, healthy)) == ["a", "b"]
    assert DEV in allocations.in_use
    assert list(first) == ["b"]
    assert list(allocations.free(DEV, frozenset(map(DeviceID, "c")))) == ["c"]
