"""An order of things where the kubelet leaves it open: shuffled by a seed, so that a plugin cannot rely on any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import TypeVar

from kubelet_sim.core.ports import Sorted

T = TypeVar("T")


class Shuffled:
    """Fits `kubelet_sim.core.ports.Order`. The same seed and the same questions give the same answers."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - keeps no secrets

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        """The items in any order."""
        found = list(Sorted().arrange(rule, items))
        self._random.shuffle(found)
        return found
