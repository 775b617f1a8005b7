"""Hints: candidate sets of NUMA nodes, and who gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from attrs import frozen

from kubelet_sim.core.effects import Walk
from kubelet_sim.core.topology.masks import Mask, narrowness
from kubelet_sim.model.pod import Container, Pod


@frozen
class Hint:
    """A candidate, and whether it is preferred. `Hint()` is the zero hint: no mask, not preferred.

    Rules: TM-6, TM-7
    """

    mask: Mask | None = None
    is_preferred: bool = False


def rank(hint: Hint) -> tuple[bool, tuple[int, int]]:
    """A key: preferred hints come first, then narrower ones. Rules: TM-8"""
    return not hint.is_preferred, narrowness(hint.mask or 0)


HintsByResource = Mapping[str, Sequence[Hint] | None]
"""`None` for a resource: no preference; an empty list: nothing can satisfy it. Rules: TM-9"""

NO_PREFERENCE = (Hint(None, is_preferred=True),)
IMPOSSIBLE = (Hint(None, is_preferred=False),)


class HintProvider(Protocol):
    """Somebody whose resources lie on NUMA nodes. Asked in order of registration. Rules: TM-10"""

    def hints(self, pod: Pod, container: Container) -> HintsByResource:
        """For one container; empty: no opinion at all."""

    def pod_hints(self, pod: Pod) -> HintsByResource:
        """For the pod as a whole."""

    def allocating(self, pod: Pod, container: Container) -> Walk[None]:
        """Allocate to one container. Raises `AllocationFailed` or `TopologyRefused`."""


def flattened(answers: Sequence[HintsByResource]) -> list[Sequence[Hint]]:
    """One list of hints for each resource of each provider, and for each provider without opinion. Rules: TM-9, TM-17"""
    lists: list[Sequence[Hint]] = []
    for answer in answers:
        if not answer:
            lists.append(NO_PREFERENCE)
        lists.extend(NO_PREFERENCE if hints is None else hints or IMPOSSIBLE for hints in answer.values())
    return lists
