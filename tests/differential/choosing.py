"""Which stories are worth keeping: those that show what few others show, short ones first.

What a story shows are the rules of its transcript, each with the step in which it came, and what kinds of answers there were.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

ENOUGH = 4
"""How often something is shown until more of it adds nothing."""


@frozen(eq=False)
class Candidate:
    """A story that both sides play alike."""

    story: dict[str, Any]
    shows: frozenset[str]
    size: int


def chosen(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """At most so many, in the order of the candidates: each time the one that adds most for its size."""
    shown: Counter[str] = Counter()
    left = list(candidates)
    taken: list[Candidate] = []

    def worth(candidate: Candidate) -> float:
        return sum(1 / (1 + shown[each]) ** 2 for each in candidate.shows if shown[each] < ENOUGH) / candidate.size

    while left and len(taken) < most:
        best = max(left, key=worth)
        if not worth(best):
            break
        left.remove(best)
        taken.append(best)
        shown.update(best.shows)
    kept = set(map(id, taken))
    return [candidate for candidate in candidates if id(candidate) in kept]


_NAMES = re.compile(r"\S*/\S+|\d+|\b[ipcu]\d\b")


def kinds(story: Mapping[str, Any], journals: Iterable[tuple[str, Iterable[str]]]) -> frozenset[str]:
    """What a story shows.

    Args:
        story: with what the real side answered.
        journals: of each step its word, and the rules in the transcript.
    """
    node = story["node"]
    found = {f"{node['policy']} {node['scope']} {len(node['numa'])}"}
    for do, rules in journals:
        for rule in rules:
            found |= {rule, f"{do} {rule}"}
    for step in story["steps"]:
        answer = step.get("expect")
        if isinstance(answer, Mapping):
            text = str(answer.get("message") or answer.get("error") or sorted(answer) if step["do"] != "state" else "")
            found.add(f"{step['do']}: {_NAMES.sub('N', text)}")
        calls = [call[0] for call in step.get("choices", {}).get("calls", ())]
        found.add(f"{step['do']} calls {calls}")
    return frozenset(found)
