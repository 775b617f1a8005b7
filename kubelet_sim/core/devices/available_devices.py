"""The devices of a resource that a container can be given: healthy, and nobody has them. Kept in order as they are taken.

A device that is taken leaves the set at once. Everything else that changes what is free makes a new set, so that one that
was looked at before a plugin was asked stays what it was (DM-97), but for what the walk itself has taken.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from kubelet_sim.core.devices.ordered_ids import OrderedIds
from kubelet_sim.core.ports import Ascending
from kubelet_sim.model.ids import DeviceID


class FreeIds(AbstractSet[DeviceID], Ascending[DeviceID]):
    """Ids in ascending order.

    Args:
        healthy: the healthy ids, as one list brought them.
        in_use: those that somebody has.
    """

    def __init__(self, healthy: frozenset[DeviceID], in_use: AbstractSet[DeviceID]) -> None:
        self.healthy = healthy
        self._ids = set(healthy.difference(in_use))
        in_order = healthy.ascending() if isinstance(healthy, OrderedIds) else sorted(healthy)
        self._ascending = [device for device in in_order if device in self._ids]

    def __contains__(self, device: object) -> bool:
        return device in self._ids

    def __iter__(self) -> Iterator[DeviceID]:
        return iter(self._ascending)

    def __len__(self) -> int:
        return len(self._ids)

    def ascending(self) -> Sequence[DeviceID]:
        """All of them; not a copy."""
        return self._ascending

    def take(self, device: DeviceID) -> None:
        """It is not free any more, if it was."""
        if device in self._ids:
            self._ids.remove(device)
            del self._ascending[bisect_left(self._ascending, device)]

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> frozenset[Any]:
        """What `&` and its like make."""
        return frozenset(it)
