"""Which of the allowed orders a story is played in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

T = TypeVar("T")


class AsWritten:
    """The order of the manifest where something has one, as the limits of a container have; sorted where nothing has.

    The kubelet's own order is open there. Whoever writes a story thinks of the limits in the order in which they stand,
    and the recorded stories are told so. Rules: DM-89
    """

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        """All items, once each."""
        if rule == "DM-89" and not isinstance(items, AbstractSet):
            return tuple(items)
        comparable: Iterable[Any] = items
        ordered: list[T] = sorted(comparable)
        return ordered
