"""A fault of order: wherever the kubelet's own is open, another one, the same for the same seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import TypeVar

from attrs import define, field

from kubelet_sim.node.faults.arguments import choice, number
from kubelet_sim.node.faults.through import FaultHook, lasting

T = TypeVar("T")
_OF: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "resources": frozenset({"DM-80", "DM-81", "DM-89", "DM-103", "DM-123", "PR-23"}),
        "pods": frozenset({"PR-11", "DM-157"}),
    }
)
"""Rules by what is arranged; everything else is devices."""


@lasting(
    "shuffle-order",
    "order",
    "Where the kubelet goes through a Go map, its order differs from run to run: of resources of a container, of devices to"
    " choose from, of pods in an answer. On a node of ours it is sorted, unless this shuffles it.",
    "the order of {what} is shuffled with the seed {seed}",
    undo="and the order is as before",
    arguments=(
        number("seed", 0, "The same seed gives the same orders."),
        choice("what", ("everything", "devices", "resources", "pods"), "everything", "What is shuffled."),
    ),
    rules=("DM-89", "DM-90", "DM-123", "PR-11", "PR-23"),
)
@define(eq=False)
class _Shuffling(FaultHook):
    _times: dict[str, int] = field(factory=dict)

    def arranged(self, rule: str, items: Sequence[T]) -> Sequence[T]:
        if len(items) < 2 or not self._is_meant(rule):  # noqa: PLR2004 - one item has one order
            return items
        time = self._times[rule] = self._times.get(rule, 0) + 1
        shuffled = list(items)
        Random(f"{self.active.arguments['seed']} {rule} {time}").shuffle(shuffled)  # noqa: S311 - keeps no secrets
        self.active.applied += 1
        if time == 1:
            self.active.note("node", f"applies: what {rule} leaves open is shuffled, each time in another way")
        return shuffled

    def _is_meant(self, rule: str) -> bool:
        what = self.active.arguments["what"]
        if what in _OF:
            return rule in _OF[what]
        return what == "everything" or not any(rule in rules for rules in _OF.values())
