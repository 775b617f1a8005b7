"""Write docs/reference/endpoint.md: an endpoint's life, drawn from the transition table that the code follows.

    python tools/generate_endpoint_diagram.py            write the page
    python tools/generate_endpoint_diagram.py --check    say whether it is what would be written

What states and events mean is told in their enums; their texts are taken from there.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kubelet_sim.core.devices import endpoint  # noqa: E402 - found by the line above, installed or not
from kubelet_sim.core.devices.endpoint import TRANSITIONS, EndpointEvent, EndpointState  # noqa: E402
from tools import generated  # noqa: E402 (likewise)

PAGE = ROOT / "docs" / "reference" / "endpoint.md"


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# The life of an endpoint"
    yield ""
    yield "<!-- Made by tools/generate_endpoint_diagram.py; do not edit. -->"
    yield ""
    yield "An endpoint is the kubelet's handle on the plugin that serves a resource. Every resource has one of these states:"
    yield ""
    yield "```mermaid"
    yield from diagram()
    yield "```"
    yield ""
    yield "The same as a table. Where there is a dash the event cannot happen, and the code takes it for a fault of its own."
    yield ""
    yield f"| | {' | '.join(f'`{event.value}`' for event in EndpointEvent)} |"
    yield "|---" * (len(EndpointEvent) + 1) + "|"
    for state in EndpointState:
        after = [TRANSITIONS.get((state, event)) for event in EndpointEvent]
        yield f"| `{state.value}` | {' | '.join(f'`{each.value}`' if each else '–' for each in after)} |"
    for title, members in (("States", EndpointState), ("Events", EndpointEvent)):
        yield ""
        yield f"## {title}"
        yield ""
        told = texts(members)
        for member in members:
            yield f"- `{member.value}`{f': {told[member.name]}' if member.name in told else ''}"


def diagram() -> Iterator[str]:
    """The lines of a Mermaid state diagram; events that lead the same way share an arrow."""
    yield "stateDiagram-v2"
    yield f"    [*] --> {EndpointState.ABSENT.value}"
    arrows: dict[tuple[EndpointState, EndpointState], list[str]] = {}
    for (before, event), after in TRANSITIONS.items():
        arrows.setdefault((before, after), []).append(event.value)
    for (before, after), events in arrows.items():
        yield f"    {before.value} --> {after.value}: {', '.join(events)}"


def texts(members: type[Enum]) -> dict[str, str]:
    """What stands below the members of an enum, by the member's name; rules link to their page."""
    tree = ast.parse(Path(endpoint.__file__).read_text(encoding="utf-8"))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == members.__name__)
    found = {}
    for member, below in pairwise(body):
        if not (isinstance(member, ast.Assign) and isinstance(below, ast.Expr)):
            continue
        if isinstance(member.targets[0], ast.Name) and isinstance(below.value, ast.Constant):
            text = " ".join(str(below.value.value).split())
            found[member.targets[0].id] = re.sub(r"\b([DCT][MP]-\d+)\b", _link, text)
    return found


def _link(match: re.Match[str]) -> str:
    return f"[{match[1]}](rules.md#{match[1].lower()})"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 written or fresh, 1 stale."""
    return generated.run("generate_endpoint_diagram.py", __doc__, lambda: {PAGE: page()}, arguments)


if __name__ == "__main__":
    sys.exit(main())
