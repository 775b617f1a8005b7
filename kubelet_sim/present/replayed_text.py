"""What came of a replay, for eyes."""

from __future__ import annotations

import json

from kubelet_sim.foreign import cut, escape_terminal
from kubelet_sim.node.recording.replay import Difference, Replayed

_SHOWN = 20


def replayed_text(came: Replayed, name: str) -> str:
    """How much was replayed, and the first differences with their lines in the file of that name."""
    processes = "1 kubelet process" if came.processes == 1 else f"{came.processes} kubelet processes"
    count = f"{processes}, {came.facts} facts, {came.walks} walks replayed"
    if not came.differences:
        return f"{count}: the same answers"
    found = len(came.differences)
    lines = [
        f"{count}: 1 difference"
        if found == 1
        else f"{count}: {found} differences; later ones may follow from the first"
    ]
    for each in came.differences[:_SHOWN]:
        lines += _difference_lines(each, name)
    left = len(came.differences) - _SHOWN
    return "\n".join(lines + ([f"… and {left} more"] if left > 0 else []))


def _difference_lines(difference: Difference, name: str) -> list[str]:
    def shown(value: object) -> str:
        return escape_terminal(cut(json.dumps(value)))

    return [
        f"{escape_terminal(name)}:{difference.line}: {escape_terminal(cut(difference.what))}",
        f"    recorded: {shown(difference.recorded)}",
        f"    today:    {shown(difference.today)}",
    ]
