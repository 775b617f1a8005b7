"""What an order picked, recorded and picked again: without it, a replay of a shuffled node would go another way."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import TypeVar

from attrs import define, frozen

from kubelet_sim.core.ports import Order, Sorted
from kubelet_sim.errors import UsageError
from kubelet_sim.transcript import Json, Transcript

T = TypeVar("T")


@frozen
class RecordingOrder:
    """Has another order pick, and records what is not sorted anyway."""

    _order: Order
    _transcript: Transcript

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        """As the other order does."""
        whole = tuple(items)
        arranged = self._order.arrange(rule, whole)
        self._transcript.record("pick", (rule, *_plain(arranged)))
        return arranged


@define
class RecordedOrder:
    """Picks what was picked then; sorted where nothing was recorded."""

    _picks: deque[Json]

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        """Raises `UsageError` if what is to be arranged is not what was arranged then."""
        whole = tuple(items)
        if not self._picks:
            return Sorted().arrange(rule, whole)
        known, *picked = self._picks.popleft()
        by_name = {_name(item): item for item in whole}
        names = [_name(item) for item in picked]
        if known != rule or Counter(names) != Counter(map(_name, whole)):
            raise UsageError(f"something else was picked from there: {known} {names}, here {rule} {sorted(by_name)}")
        return [by_name[name] for name in names]


def _plain(items: Iterable[object]) -> Iterable[Json]:
    return (list(item) if isinstance(item, tuple) else item for item in items)


def _name(item: object) -> str:
    """JSON has no tuples: two items are the same if they read the same."""
    return repr(list(item) if isinstance(item, tuple) else item)
