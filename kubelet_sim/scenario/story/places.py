"""In which line of a file something stands. Nobody asks in good times, so the text is looked through only then."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, SequenceNode

Way = tuple[str | int, ...]
"""Keys and places in lists, from a document down to a value."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Places:
    """The places of one file: YAML, or JSON, which is YAML as far as places go.

    Args:
        text: the whole file.
        source: its name.
    """

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source

    @cached_property
    def documents(self) -> tuple[Node, ...]:
        """The root node of every document that is not empty; none for a text that is no YAML."""
        try:
            nodes = tuple(yaml.compose_all(self.text.removeprefix("\ufeff"), _LOADER))
        except (yaml.YAMLError, ValueError, RecursionError):
            return ()
        return tuple(node for node in nodes if node.value != "")

    def node(self, way: Way) -> Node | None:
        """What stands there; the first step of the way is the number of the document, from 0."""
        first, *rest = way
        if not isinstance(first, int) or first >= len(self.documents):
            return None
        node: Node | None = self.documents[first]
        for part in rest:
            node = None if node is None else _below(node, part)
        return node

    def line(self, way: Way) -> int | None:
        """Counts from 1; of the nearest thing around it that is there, and `None` for a text without places."""
        for end in range(len(way), 0, -1):
            if (node := self._beginning(way[:end])) is not None:
                return int(node.start_mark.line) + 1
        return None

    def _beginning(self, way: Way) -> Node | None:
        """Where it begins: the value of a key with the key, which may stand a line above it."""
        around = self.node(way[:-1]) if len(way) > 1 else None
        if isinstance(around, MappingNode):
            return next((key for key, _ in around.value if key.value == way[-1]), None)
        return self.node(way)


class Place:
    """The place in a file at which something stands."""

    def __init__(self, places: Places, way: Way) -> None:
        self.places = places
        self.way = way

    def below(self, *parts: str | int) -> Place:
        """Returns the place of what lies further in, by keys and positions in lists."""
        return Place(self.places, (*self.way, *parts))

    @property
    def line(self) -> int | None:
        """The line in which it begins, counted from 1."""
        return self.places.line(self.way)

    def __str__(self) -> str:
        return self.places.source if self.line is None else f"{self.places.source}:{self.line}"


def _below(node: Node, part: str | int) -> Node | None:
    match node, part:
        case SequenceNode(), int() if part < len(node.value):
            found: Node = node.value[part]
            return found
        case MappingNode(), str():
            return next((value for key, value in node.value if key.value == part), None)
    return None
