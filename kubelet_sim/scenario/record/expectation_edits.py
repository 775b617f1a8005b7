"""New expectations in the text of a YAML file, of which nothing else changes.

Steps may be blocks or in braces. What is written is one line in braces, or a few in the block's own style.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from yaml.nodes import MappingNode, Node

from kubelet_sim.scenario.story.places import Place

LONGEST_LINE = 120
_Change = tuple[int, int, str]


def with_expectations(text: str, changes: Iterable[tuple[Place, Any]], flow: Callable[[Any], str]) -> str:
    """The text with each of these steps expecting that value.

    Args:
        text: a YAML file; the places are of this text.
        changes: steps, and what they expect from now on.
        flow: writes a value on one line.
    """
    body = text.removeprefix("\ufeff")
    edits = []
    for place, value in changes:
        node = place.places.node(place.way)
        if isinstance(node, MappingNode):
            edits.append(_edit(body, node, value, flow))
    for begin, end, new in sorted(edits, reverse=True):
        body = body[:begin] + new + body[end:]
    return text[: len(text) - len(text.removeprefix("\ufeff"))] + body


def _edit(text: str, step: MappingNode, value: Any, flow: Callable[[Any], str]) -> _Change:
    key, old = next(((key, item) for key, item in step.value if key.value == "expect"), (None, None))
    if step.flow_style:
        if old is None:
            end = step.end_mark.index - 1
            before = text[:end].rstrip()
            return len(before), end, f"{'' if before.endswith((',', '{')) else ','} expect: {flow(value)}"
        return old.start_mark.index, old.end_mark.index, flow(value)
    column = step.start_mark.column
    new = _block(value, column, flow)
    if key is not None and old is not None:
        return key.start_mark.index, _end(text, old), new
    end = _end(text, step.value[-1][1])
    return end, end, "\n" + " " * column + new


def _block(value: Any, column: int, flow: Callable[[Any], str]) -> str:
    """`expect: …` that begins in that column."""
    line = f"expect: {flow(value)}"
    if column + len(line) <= LONGEST_LINE or not isinstance(value, dict | list) or not value:
        return line
    indent = " " * (column + 2)
    if isinstance(value, dict):
        parts = [f"{flow({key: item})[1:-1]}" for key, item in value.items()]
    else:
        parts = [f"- {flow(item)}" for item in value]
    return "expect:\n" + "\n".join(indent + part for part in parts)


def _end(text: str, node: Node) -> int:
    """Where the last thing of a value ends: marks of a block lie behind the empty lines and comments that follow it."""
    if isinstance(node, MappingNode) and not node.flow_style and node.value:
        return _end(text, node.value[-1][1])
    if not getattr(node, "flow_style", True) and node.value:
        return _end(text, node.value[-1])
    stretch = text[node.start_mark.index : node.end_mark.index]
    return int(node.start_mark.index) + len(re.sub(r"\s+\Z", "", stretch))
