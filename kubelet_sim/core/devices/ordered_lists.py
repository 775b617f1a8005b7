"""Sets of ids as lists, arranged once: a set that was not replaced gives the list that it gave before.

Arranging is asked of the `Order`; who reads the lists is `checkpoint`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field

from kubelet_sim.core.ports import Order
from kubelet_sim.model.ids import DeviceID, ResourceName

_Ids = frozenset[DeviceID]


@define
class Arranged:
    """The lists that were made last, each with the set that it was made of."""

    _kept: dict[ResourceName, tuple[_Ids, tuple[DeviceID, ...]]] = field(factory=dict)

    def lists(self, sets: Mapping[ResourceName, _Ids], order: Order) -> dict[str, tuple[str, ...] | None]:
        """A list for each set, in the order of the sets; the same tuple as before for the same set. Rules: CP-6"""
        before = self._kept
        self._kept = {name: self._pair(before.get(name), ids, order) for name, ids in sets.items()}
        return {name: arranged for name, (_, arranged) in self._kept.items()}

    def _pair(
        self, before: tuple[_Ids, tuple[DeviceID, ...]] | None, ids: _Ids, order: Order
    ) -> tuple[_Ids, tuple[DeviceID, ...]]:
        if before is not None and before[0] is ids:
            return before
        return ids, tuple(order.arrange("CP-6", ids))
