"""What an order picked, recorded and picked again: without it, a replay of a shuffled node would go another way."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import TypeVar

from attrs import define

from kubelet_sim.core.ports import Sorted
from kubelet_sim.errors import UsageError
from kubelet_sim.node.hooks import HookedOrder
from kubelet_sim.transcript import Json, Transcript

T = TypeVar("T")
_SORTED = Sorted()


@define
class RecordingOrder:
    """Has another order pick, and records what it picked, with which of a process's picks it was. Sorted is not recorded."""

    _order: HookedOrder
    _transcript: Transcript
    _count: int = 0

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        """The items as the other order has them; a pick that is not sorted is recorded."""
        self._count += 1
        if self._order.is_sorted:
            return _SORTED.arrange(rule, items)
        whole = tuple(items)
        arranged = self._order.arrange(rule, whole)
        if list(arranged) != _SORTED.arrange(rule, whole):
            self._transcript.record("pick", (rule, self._count, *_plain(arranged)))
        return arranged


@define
class RecordedOrder:
    """Picks what was picked then; sorted where nothing was recorded."""

    _picks: deque[tuple[int, Json]]
    """With the kubelet process of each."""
    _process: int = 0
    _count: int = 0

    def begin(self, process: int) -> None:
        """A kubelet process begins: it counts anew."""
        self._process, self._count = process, 0

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        """Raises `UsageError` if what is to be arranged is not what was arranged then."""
        self._count += 1
        whole = tuple(items)
        if not self._picks or (self._picks[0][0], self._picks[0][1][1]) != (self._process, self._count):
            return _SORTED.arrange(rule, whole)
        _, (known, _, *picked) = self._picks.popleft()
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
