"""What the core is given: who picks where the kubelet leaves a choice open, and who takes its decisions down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from kubelet_sim.transcript import Decision

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Order(Protocol):
    """Picks wherever the kubelet's own order is open (its maps and sets have none)."""

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        """All items, once each, in the order to use. `rule` names the place that leaves it open."""


class Ascending(Generic[T_co]):
    """A collection that is in order already. No abstract class: every order asks for it, and for those that takes long."""

    def ascending(self) -> Sequence[T_co]:
        """Its items; nobody else may change them while they are used."""
        raise NotImplementedError


class Sorted:
    """The order that is the same every time."""

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:  # noqa: ARG002 - every place is treated alike
        """Ascending: every place that leaves the order open is one of texts or of tuples of texts."""
        if isinstance(items, Ascending):
            return items.ascending()
        comparable: Iterable[Any] = items
        ordered: list[T] = sorted(comparable)
        return ordered


class Journal(Protocol):
    """Takes decisions down, at the moment they are taken."""

    def append(self, decision: Decision) -> None:
        """Never fails and never changes anything that the core looks at."""
