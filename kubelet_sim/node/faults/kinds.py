"""What a kind of fault is, and the list of all of them by name: command line, scenario verb and reference page follow it.

A kind is entered where its function is defined, one module a family; a name that is taken fails at import.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.node.faults.arguments import Argument
from kubelet_sim.rules import RULES

if TYPE_CHECKING:
    from kubelet_sim.node.faults.active import ActiveFault

Begin = Callable[["ActiveFault"], Awaitable[str]]
"""Does it, or sees to it that it will be done; one line on what it did. Raises `UsageError` if that cannot be."""

RESOURCE, SOCKET, POD = "resource", "socket", "pod"
PLUGIN = (RESOURCE, SOCKET)
"""The filters of a fault that meets plugins."""
NOTHING_TO_UNDO = "nothing to undo: it has happened"
FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "register": "Register",
        "stream": "The ListAndWatch stream",
        "devices": "Devices",
        "calls": "Calls that the kubelet makes",
        "extra-calls": "Calls that nobody needs",
        "process": "The plugin's process",
        "files": "Sockets and directories",
        "checkpoint": "The checkpoint",
        "order": "Order",
        "pod-resources": "The pod resources API",
        "node-status": "The node status",
        "kubelet": "The kubelet's restarts",
    }
)
"""In the order in which they are told, with their headings."""


@frozen
class FaultKind:
    """A kind of fault: its name, what it takes, and how it begins."""

    name: str
    family: str
    does: str
    """What it is on a real node."""
    begin: Begin = field(repr=False, eq=False)
    undo: str = NOTHING_TO_UNDO
    """How to undo it; of a one-shot fault, that there is nothing to undo."""
    arguments: tuple[Argument, ...] = ()
    rules: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    counts: bool = False
    """Whether a `count` ends it."""
    usual_count: int | None = None
    """The count if none is given."""
    is_beyond: bool = False
    """Whether no kubelet does this: plugins need not stand it."""
    delays_lists: bool = False
    """Whether what plugins send may be dealt with late or never, or their streams are not as many as the kubelet's."""

    @property
    def is_one_shot(self) -> bool:
        """Whether it is over as soon as it has happened."""
        return self.undo == NOTHING_TO_UNDO and not self.counts


_KINDS: dict[str, FaultKind] = {}
KINDS: Mapping[str, FaultKind] = MappingProxyType(_KINDS)
"""Every kind there is; complete once `kubelet_sim.node.faults` is imported."""


def enter(kind: FaultKind) -> None:
    """Put a kind into the list. Raises `ValueError` if something about it is wrong: that is a bug of ours."""
    problems = (
        (kind.name in _KINDS, "is there already"),
        (kind.name in RESERVED, "is a command of its own"),
        (kind.family not in FAMILIES, f"is of no family: {kind.family}"),
        (not set(kind.rules) <= RULES.keys(), f"names rules that there are not: {kind.rules}"),
        (bool({each.name for each in kind.arguments} & _TAKEN), "has an argument with the name of an option of all"),
    )
    for is_wrong, what in problems:
        if is_wrong:
            raise ValueError(f"the fault {kind.name} {what}")
    _KINDS[kind.name] = kind


RESERVED = frozenset({"list", "undo", "show"})
_TAKEN = frozenset({"count", "resource", "socket", "pod", "root", "debug", "output"})


def kind(name: str, family: str, does: str, **more: Any) -> Callable[[Begin], Begin]:
    """Enter a kind that begins with the decorated function."""

    def decorated(begin: Begin) -> Begin:
        enter(FaultKind(name, family, does, begin, **more))
        return begin

    return decorated


def find(name: str) -> FaultKind:
    """The kind of that name. Raises `UsageError` that names similar ones."""
    if (kind := _KINDS.get(name)) is not None:
        return kind
    from difflib import get_close_matches

    close = get_close_matches(name, _KINDS, 3, 0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else "`fault show` has them all"
    raise UsageError(f"there is no fault {name!r}; {hint}")
