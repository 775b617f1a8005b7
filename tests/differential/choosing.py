"""Which stories are worth keeping: those whose transcripts show rules that few others show, short ones first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from attrs import frozen

ENOUGH = 12
"""How often a rule is shown until more of it adds nothing."""


@frozen(eq=False)
class Candidate:
    """A story that both sides play alike."""

    story: dict[str, Any]
    rules: frozenset[str]
    size: int


def chosen(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """At most so many, in the order of the candidates: each time the one that adds most for its size."""
    shown: Counter[str] = Counter()
    left = list(candidates)
    taken: list[Candidate] = []

    def worth(candidate: Candidate) -> float:
        return sum(1 / (1 + shown[rule]) ** 2 for rule in candidate.rules if shown[rule] < ENOUGH) / candidate.size

    while left and len(taken) < most:
        best = max(left, key=worth)
        if not worth(best):
            break
        left.remove(best)
        taken.append(best)
        shown.update(best.rules)
    kept = set(map(id, taken))
    return [candidate for candidate in candidates if id(candidate) in kept]
