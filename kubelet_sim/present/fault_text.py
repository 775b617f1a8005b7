"""Faults that there are, and faults that are active: for eyes and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kubelet_sim.foreign import escape_terminal
from kubelet_sim.node.faults import FAMILIES
from kubelet_sim.node.faults.kinds import NOTHING_TO_UNDO, FaultKind

if TYPE_CHECKING:
    from kubelet_sim.model.faults import FaultView

_LONGEST = 90
FILTERS = {
    "resource": "Only the plugin of this resource.",
    "socket": "Only the plugin on this socket: its file name, or its path.",
    "pod": "Only this pod, NAME or NAMESPACE/NAME.",
}
"""What each filter of a fault does."""


def kind_document(kind: FaultKind) -> dict[str, Any]:
    """A kind of fault as plain values, for programs."""
    arguments = [
        {"name": each.name, "type": each.type_name, "default": each.default, "help": each.help}
        for each in kind.arguments
    ]
    return {
        "name": kind.name,
        "family": kind.family,
        "does": kind.does,
        "undo": kind.undo,
        "arguments": arguments,
        "filters": list(kind.filters),
        "counts": kind.counts,
        "rules": list(kind.rules),
        "beyond_a_kubelet": kind.is_beyond,
    }


def kinds_text(kinds: Sequence[FaultKind]) -> str:
    """A line for each kind, by family."""
    return "\n".join(_kinds_lines(kinds))


def _kinds_lines(kinds: Sequence[FaultKind]) -> Iterator[str]:
    width = max(len(kind.name) for kind in kinds)
    for family, heading in FAMILIES.items():
        yield heading
        yield from (f"  {kind.name:<{width}}  {_short(kind.does)}" for kind in kinds if kind.family == family)


def kind_text(kind: FaultKind) -> str:
    """All that there is to say of a kind, its arguments with it."""
    lines = [kind.name, f"  {kind.does}", f"  {_undo(kind)}"]
    lines += [f"  {each}" for each in (*_beyond(kind), _rules(kind)) if each]
    for argument in kind.arguments:
        default = f" (default: {argument.default_text})" if argument.default_text else ""
        lines.append(f"  --{argument.name} {argument.type_name}: {argument.help}{default}")
    lines += [f"  --{name}: {FILTERS[name]}" for name in kind.filters]
    lines += ["  --count NUMBER: After how many times it ends by itself."] if kind.counts else []
    return "\n".join(lines)


def help_text(kind: FaultKind) -> str:
    """What the help of a fault's command says, without its arguments."""
    example = f"\b\nExample: kubelet-sim fault {kind.name}"
    return "\n\n".join([kind.does, f"{_undo(kind)} {_rules(kind)}".strip(), *_beyond(kind), example])


def _undo(kind: FaultKind) -> str:
    if kind.undo == NOTHING_TO_UNDO:
        return "It happens once: there is nothing to undo."
    return f"Undo it with `fault undo ID`, {kind.undo}."


def _beyond(kind: FaultKind) -> list[str]:
    return ["No kubelet does this: a plugin need not stand it."] if kind.is_beyond else []


def _rules(kind: FaultKind) -> str:
    return f"Rules: {', '.join(kind.rules)}." if kind.rules else ""


def active_text(faults: Sequence[FaultView]) -> str:
    """A table of active faults; of none, that."""
    if not faults:
        return "no faults are active"
    rows = [("ID", "NAME", "APPLIED", "WHAT")]
    rows += [(str(view.id), view.name, times_text(view.applied), view.did) for view in faults]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        escape_terminal("  ".join([*(row[column].ljust(widths[column]) for column in range(3)), row[3]]))
        for row in rows
    )


def times_text(count: int) -> str:
    """How often a fault applied, in a word or two."""
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _short(does: str) -> str:
    """The first sentence, or its beginning up to a colon or a comma if it is long."""
    found = does.split(". ", maxsplit=1)[0].rstrip(".")
    for mark in (": ", "; ", ", "):
        found = found if len(found) <= _LONGEST else found.partition(mark)[0]
    return found
