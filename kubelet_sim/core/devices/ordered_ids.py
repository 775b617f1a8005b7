"""Ids of one health, with their order: a set that came of another one by a few changes does not have to be sorted anew."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from kubelet_sim.core.ports import Ascending
from kubelet_sim.model.ids import DeviceID

_FEW = 100
"""With so many changes, sorting is quicker."""


class OrderedIds(frozenset[DeviceID], Ascending[DeviceID]):
    """A frozen set that knows its ids in ascending order, once somebody has asked for it."""

    _ascending: tuple[DeviceID, ...] | None = None

    def ascending(self) -> Sequence[DeviceID]:
        """The ids in ascending order, the same tuple at every call."""
        if self._ascending is None:
            self._ascending = tuple(sorted(self))
        return self._ascending

    def changed(self, come: AbstractSet[DeviceID], gone: AbstractSet[DeviceID]) -> OrderedIds:
        """A set with some ids more and some less; those come that are not there, and those go that are."""
        if not come and not gone:
            return self
        after = OrderedIds(self.difference(gone).union(come))
        if self._ascending is not None and len(come) + len(gone) < _FEW:
            ascending = list(self._ascending)
            for device in gone:
                del ascending[bisect_left(ascending, device)]
            for device in come:
                insort(ascending, device)
            after._ascending = tuple(ascending)
        return after
