"""The faults of a node: injected by name, listed, undone; all of them end with it."""

from __future__ import annotations

from typing import Any

from attrs import define, field

from kubelet_sim.errors import UsageError
from kubelet_sim.model.faults import Fault
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.arguments import bound
from kubelet_sim.node.faults.kinds import NOTHING_TO_UNDO, FaultKind, find
from kubelet_sim.node.faults.reach import FaultyNode, Reach


@define(eq=False)
class FaultBook:
    """The faults of one node that are not over."""

    _node: FaultyNode
    _active: dict[int, ActiveFault] = field(factory=dict)
    _next: int = 1
    _reach: Reach = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._reach = Reach(self._node)

    async def inject(self, fault: Fault) -> ActiveFault:
        """Let something go wrong: `Fault("refuse-register", {"reason": "dial"}, count=2)`. All end with the node.

        Raises:
            UsageError: there is no such fault, or it cannot happen here and now; nothing was done.
        """
        _ = self._node.root  # raises if the node is not started
        kind, arguments = check(fault)
        reach = self._reach
        count = fault.count or kind.usual_count
        at_s = reach.transcript.now()
        active = ActiveFault(self._next, kind, fault, arguments, reach, at_s, count, self._forget)
        self._next += 1
        active.undo_text = _undo_text(active)
        self._active[active.id] = active
        try:
            active.did = await kind.begin(active)
        except UsageError as error:
            active.end(f"it could not be: {error}")
            raise UsageError(f"fault {kind.name}: {error}") from error
        except BaseException:
            active.end("it could not be")
            raise
        active.note(fault.resource or "node", f"is injected: {active.did} ({active.undo_text})")
        if kind.is_one_shot:
            active.applied = max(1, active.applied)
            active.end("it has happened")
        return active

    def active(self) -> tuple[ActiveFault, ...]:
        """The faults that are not over, oldest first."""
        return tuple(self._active.values())

    async def undo(self, number: int) -> ActiveFault:
        """End an active fault by its id. Raises `UsageError` if none of that id is active."""
        if (active := self._active.get(number)) is None:
            known = ", ".join(map(str, self._active)) or "none"
            raise UsageError(f"no fault {number} is active; active are: {known}")
        await active.undo()
        return active

    async def settled(self) -> None:
        """Return when what faults have set going is done: restarts, lists that count again."""
        await self._reach.tasks.over()

    async def close(self) -> None:
        """End all faults, as the node ends."""
        for active in reversed(self.active()):
            active.end("the node ends")
        await self._reach.tasks.cancel()

    def _forget(self, active: ActiveFault) -> None:
        self._active.pop(active.id, None)


def check(fault: Fault) -> tuple[FaultKind, dict[str, Any]]:
    """The kind of a fault, and all of its arguments. Raises `UsageError` for a fault that there is not."""
    kind = find(fault.name)
    try:
        arguments = bound(kind.arguments, fault.arguments)
        _check_common(kind, fault)
    except UsageError as error:
        raise UsageError(f"fault {kind.name}: {error}") from error
    return kind, arguments


def _check_common(kind: FaultKind, fault: Fault) -> None:
    for name in ("resource", "socket", "pod"):
        if getattr(fault, name) and name not in kind.filters:
            raise UsageError(f"it cannot be narrowed down by {name}")
    if fault.count is not None and not kind.counts:
        raise UsageError("it has no count")
    if fault.count is not None and fault.count < 1:
        raise UsageError(f"a count is 1 or more, not {fault.count}")


def _undo_text(active: ActiveFault) -> str:
    if active.kind.undo == NOTHING_TO_UNDO:
        return NOTHING_TO_UNDO
    ends = f"; it ends by itself after {active.count}" if active.count else ""
    return f"undo: fault undo {active.id}, {active.kind.undo}{ends}"
