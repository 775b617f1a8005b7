"""Which of the allowed orders a story is played in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from attrs import field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.records import read_by, record
from kubelet_sim.scenario.story.values import ValueKind

T = TypeVar("T")
_OF_LIMITS = ("DM-89", "DM-103", "DM-80")
_OF_IDS = ("DM-90", "DM-92")
CHOSEN = ("GetPreferredAllocation", "Allocate", "PreStartContainer")
"""The calls that show what a kubelet has chosen."""


@frozen
class Call:
    """A call that a kubelet made in a step: to which plugin, and the ids that it had chosen by then."""

    rpc: str
    resource: str
    ids: tuple[str, ...] = ()
    """Of GetPreferredAllocation: those that must be included."""


@values.kind({"type": "array"})
def _call(item: object) -> Call:
    match item:
        case [str(rpc), str(resource), list(ids)] if rpc in CHOSEN:
            return Call(rpc, resource, values.texts(ids))
    raise UsageError(f"expected [call, resource, [ids]] with one of {', '.join(CHOSEN)}, not {item!r}")


@frozen
class Choices:
    """What a kubelet chose in one step, where it was free to choose."""

    calls: tuple[Call, ...] = field(default=(), metadata=read_by(values.list_of(_call)))
    """In the order in which they were made."""
    resources: tuple[str, ...] = field(default=(), metadata=read_by(values.texts))
    """Those that came before the others where no call shows it: the one that failed, or whose response won."""


read_choices = ValueKind(record(Choices, "choices"), {"type": "object"})
"""Reads choices from `{"calls": [[rpc, resource, [ids]]], "resources": [names]}`. Raises `UsageError`."""


def plain_choices(choices: Choices) -> dict[str, Any]:
    """What `read_choices` reads; parts that are empty are left out."""
    plain: dict[str, Any] = {}
    if choices.calls:
        plain["calls"] = [[call.rpc, call.resource, list(call.ids)] for call in choices.calls]
    if choices.resources:
        plain["resources"] = list(choices.resources)
    return plain


class ManifestOrder:
    """The order of the manifest where something has one, as the limits of a container have; sorted where nothing has.

    The kubelet's own order is open there. Whoever writes a story thinks of the limits in the order in which they stand,
    and the recorded stories are told so. Rules: DM-89
    """

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        """Returns all items, as the manifest has them or sorted."""
        if rule == "DM-89" and not isinstance(items, AbstractSet):
            return tuple(items)
        comparable: Iterable[Any] = items
        ordered: list[T] = sorted(comparable)
        return ordered


class FollowedOrder(ManifestOrder):
    """The order that another kubelet took, step by step; as written where it is not known or was not one of ours.

    It never adds or removes anything. A choice that was not allowed is thus not followed, and shows as a difference.

    Rules: DM-80, DM-89, DM-90, DM-92, DM-103, DM-123
    """

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._resources: tuple[str, ...] = ()

    def follow(self, choices: Choices | None) -> None:
        """Follow these from now on; `None`: follow nothing."""
        known = choices or Choices()
        self._calls = list(known.calls)
        self._resources = known.resources

    def called(self, rpc: str) -> None:
        """Our side made that call: what was chosen for it is past."""
        if self._calls and self._calls[0].rpc == rpc:
            del self._calls[0]

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        """Returns all items, those first that the other kubelet chose next."""
        ordered = super().arrange(rule, items)
        if rule in _OF_IDS:
            return _first(ordered, self._next_ids())
        if rule in _OF_LIMITS:
            return _first(ordered, [*(call.resource for call in self._calls), *self._resources])
        if rule == "DM-123":
            return _first(ordered, self._resources)
        return ordered

    def _next_ids(self) -> list[str]:
        """What was taken by the next call, and what was taken after it for the same container."""
        ids: list[str] = []
        for call in self._calls:
            if call.rpc != "PreStartContainer":
                ids += call.ids
            if call.rpc == "Allocate":
                break
        return ids


def _first(ordered: Sequence[T], leading: Collection[Any]) -> Sequence[T]:
    """The leading ones in their order, then the others in theirs."""
    ranks: dict[Any, int] = {}
    for name in leading:
        ranks.setdefault(name, len(ranks))
    return sorted(ordered, key=lambda item: ranks.get(item, len(ranks)))
