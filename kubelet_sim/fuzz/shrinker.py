"""Makes what goes wrong short: actions are left out, then made simpler, then steps are left out, with a real run each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from kubelet_sim.fuzz.actions import Action

T = TypeVar("T")
Plan = tuple[Action, ...]


def without_some(
    items: Sequence[T], fails: Callable[[tuple[T, ...]], bool], keep: Callable[[T], bool]
) -> tuple[T, ...]:
    """The items of which none can be left out without `fails` becoming false; large pieces are tried first.

    Args:
        items: which fail.
        fails: whether some of them, in order, still do.
        keep: whether an item must not be left out.
    """
    left = tuple(items)
    size = max(1, len(left) // 2)
    while True:
        begin = 0
        has_changed = False
        while begin < len(left):
            shorter = (
                left[:begin] + tuple(item for item in left[begin : begin + size] if keep(item)) + left[begin + size :]
            )
            if len(shorter) < len(left) and fails(shorter):
                left, has_changed = shorter, True
            else:
                begin += size
        if size == 1 and not has_changed:
            return left
        size = max(1, size // 2)


def simpler(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """The plan with each action in the simplest form in which it still fails."""
    for index, action in enumerate(plan):
        for given in _simpler(action.given):
            shorter = (*plan[:index], Action(action.kind, given), *plan[index + 1 :])
            if fails(shorter):
                plan = shorter
                break
    return plan


def _simpler(given: Any) -> Iterator[dict[str, Any]]:
    """Yields the arguments of an action with fewer keys; the name of a fault stays."""
    optional = [key for key in given if key != "fault"]
    if optional:
        yield {key: value for key, value in given.items() if key not in optional}
    if len(optional) > 1:
        for key in optional:
            yield {name: value for name, value in given.items() if name != key}
