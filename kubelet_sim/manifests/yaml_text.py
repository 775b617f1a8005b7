"""YAML text to plain values, as kubectl reads it: only what JSON can say comes out.

PyYAML parses; scalars are read by rules of our own because kubectl's YAML (a YAML 1.1 without dates and sexagesimal numbers)
is not quite PyYAML's. Aliases are copied out, within limits, so that a small file cannot become a huge value.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterator
from typing import Any

import yaml
from attrs import define, field
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from kubelet_sim.manifests.errors import ManifestError, Path, one_line, quoted

MOST_NODES = 200_000
"""Values in one document, with every alias copied out."""
DEEPEST = 100
"""Levels of mappings and lists in each other; the Pod API has some 20."""

_INTEGER = re.compile(r"[-+]?(?:0b[01]+|0o[0-7]+|0x[0-9a-fA-F]+|0[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LONGEST_NUMBER = 400
_LONGEST_PROBLEM = 200
_LARGEST_WRITTEN_OUT = 1e21
_BASES = {"0b": 2, "0o": 8, "0x": 16}

_TRUE = frozenset({"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
_FALSE = frozenset({"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
_NULL = frozenset({"", "~", "null", "Null", "NULL"})

_TAG = "tag:yaml.org,2002:"
_PLAIN = "plain"
"""Our mark, which no tag of a file can be: those are expanded to a URI or begin with `!`."""
_MERGE = "<<"


class _Loader(yaml.SafeLoader):
    """Marks plain scalars instead of typing them: `_plain_scalar` does that."""

    def resolve(self, kind: type[Node], value: str | None, implicit: Any) -> str:
        if kind is ScalarNode and implicit[0]:
            return _PLAIN
        return str(super().resolve(kind, value, implicit))  # type: ignore[no-untyped-call]


def read_yaml(text: str, source: str) -> Iterator[tuple[int, Any]]:
    """Every document of the text with its number from 1, empty ones as `None`.

    Raises `ManifestError` for bad syntax, a key twice in a mapping, an unknown tag, and what exceeds the limits.
    """
    loader = None
    number = 0
    while True:
        number += 1
        try:
            # A loader looks at every character when it is made.
            loader = loader or _Loader(text)
            node = loader.get_node() if loader.check_node() else None
        except yaml.MarkedYAMLError as error:
            raise _syntax_error(error, source, number) from error
        except RecursionError as error:
            raise _Conversion(source, number).too_deep(()) from error
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            # Characters that YAML forbids, and escapes that name none: PyYAML knows no place for either.
            problem = one_line(" ".join(str(error).split()), _LONGEST_PROBLEM)
            raise ManifestError(f"bad YAML: {problem}", expected=_NOT_YAML, source=source, document=number) from error
        if node is None:
            return
        yield number, _Conversion(source, number).value(node, (), 0)


_NOT_YAML = "Expected YAML or JSON text"


def _syntax_error(error: yaml.MarkedYAMLError, source: str, number: int) -> ManifestError:
    mark = error.problem_mark or error.context_mark
    problem = "; ".join(part for part in (error.context, error.problem) if part)
    return ManifestError(
        f"bad YAML: {one_line(problem, _LONGEST_PROBLEM)}",
        expected="Check indentation, quotes and brackets there",
        source=source,
        document=number,
        line=None if mark is None else mark.line + 1,
        column=None if mark is None else mark.column + 1,
    )


@define
class _Conversion:
    """One document on its way from nodes to values, and how much of it there is so far."""

    source: str
    number: int
    nodes: int = field(default=0, init=False)

    def value(self, node: Node, path: Path, depth: int) -> Any:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise self.error(
                f"over {MOST_NODES} values, aliases copied out", path, "Use fewer aliases or several files"
            )
        if depth > DEEPEST:
            raise self.too_deep(path)
        match node:
            case MappingNode():
                self.check_tag(node, {"map"}, path)
                return self.mapping(node, path, depth)
            case SequenceNode():
                self.check_tag(node, {"seq"}, path)
                return [self.value(item, (*path, i), depth + 1) for i, item in enumerate(node.value)]
            case ScalarNode():
                return self.scalar(node, path)
            case _:
                raise self.error("a node of no kind", path, at=node)

    def mapping(self, node: MappingNode, path: Path, depth: int) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                for key, value in self.merge(value_node, path, depth):
                    merged.setdefault(key, value)
                continue
            key = self.key(key_node, path)
            if key in own:
                problem = f"the key {quoted(key)} stands twice in one mapping"
                raise self.error(problem, (*path, key), "Keep one of the two", at=key_node)
            own[key] = self.value(value_node, (*path, key), depth + 1)
        return {**merged, **own}

    def merge(self, node: Node, path: Path, depth: int) -> Iterator[tuple[str, Any]]:
        """What `<<` takes over: from one mapping, or from several, of which the first counts."""
        sources = node.value if isinstance(node, SequenceNode) else [node]
        for source in sources:
            value = self.value(source, (*path, _MERGE), depth + 1)
            if not isinstance(value, dict):
                raise self.error(f"<< merges {quoted(value)}", path, "Expected an alias of a mapping", at=node)
            yield from value.items()

    def key(self, node: Node, path: Path) -> str:
        """A key as text; kubectl writes numbers and truths out as JSON does."""
        key = self.scalar(node, path) if isinstance(node, ScalarNode) else None
        match key:
            case str():
                return key
            case bool():
                return "true" if key else "false"
            case int() | float():
                return str(key)
            case _:
                raise self.error("a key that is no text", path, "Expected a word, in quotes if need be", at=node)

    def scalar(self, node: ScalarNode, path: Path) -> Any:
        if node.tag == _PLAIN:
            return _plain_scalar(node.value)
        kind = self.check_tag(node, {"str", "int", "float", "bool", "null", "binary"}, path)
        if kind == "str":
            return node.value
        value = _binary(node.value) if kind == "binary" else _plain_scalar(node.value)
        if kind not in _kinds(value):
            raise self.error(f"{quoted(node.value)} is not of the type !!{kind}", path, at=node)
        return value

    def check_tag(self, node: Node, known: set[str], path: Path) -> str:
        kind = node.tag.removeprefix(_TAG)
        if kind not in known:
            raise self.error(f"the tag {quoted(node.tag)} has no meaning in a manifest", path, "Leave it out", at=node)
        return kind

    def too_deep(self, path: Path) -> ManifestError:
        return self.error(
            "mappings and lists lie too deep in each other", path[:5], f"Expected at most {DEEPEST} levels"
        )

    def error(self, problem: str, path: Path, expected: str = "", *, at: Node | None = None) -> ManifestError:
        line = None if at is None else at.start_mark.line + 1
        return ManifestError(problem, expected=expected, source=self.source, document=self.number, path=path, line=line)


def _is_merge(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag == _PLAIN and node.value == _MERGE


def _plain_scalar(text: str) -> Any:
    """A scalar without quotes, in the type that kubectl gives it; what has no JSON (`.inf`) stays text."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if len(text) <= _LONGEST_NUMBER and text[0] in "+-.0123456789":
        return _number(text)
    return text


def _number(text: str) -> Any:
    plain = text.replace("_", "")
    if _INTEGER.fullmatch(plain):
        value = _integer(plain)
        if -(2**63) <= value < 2**64:
            return value
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        if math.isfinite(number):
            # A whole number loses its point on the way through JSON.
            return int(number) if number.is_integer() and abs(number) < _LARGEST_WRITTEN_OUT else number
    return text


def _integer(plain: str) -> int:
    digits = plain.lstrip("+-")
    base = _BASES.get(digits[:2]) or (8 if digits.startswith("0") else 10)
    value = int(digits.removeprefix("0o"), base)
    return -value if plain.startswith("-") else value


def _binary(text: str) -> str | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _kinds(value: Any) -> set[str]:
    """The names of the tags that one may write before a value."""
    match value:
        case None:
            return {"null"}
        case bool():
            return {"bool"}
        case int():
            return {"int", "float"}
        case float():
            return {"float"}
        case _:
            return {"binary"}
