"""Mappings of a story that become values of an attrs class, whose fields say under which key they are read, and how.

The reader of such a mapping and its JSON Schema both follow from the class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from attrs import NOTHING, AttrsInstance, fields

from kubelet_sim.scenario.story.values import Keys, ValueKind, closed, kind, or_variable

R = TypeVar("R", bound=AttrsInstance)
_LEFT_OUT = object()


def read_by(value: ValueKind[Any], key: str = "") -> Mapping[str, Any]:
    """The metadata of a field that is read from a key: that of its own name, unless another is given."""
    return {"value": value, "key": key}


def spread(cls: type[AttrsInstance]) -> Mapping[str, Any]:
    """The metadata of a field that is a record itself, whose keys stand among the others."""
    return {"spread": cls}


def taken(given: Keys, cls: type[R], **more: Any) -> R:
    """The record that some keys describe; `more` are fields that stand in no key. Raises `UsageError`."""
    for each in fields(cls):
        match each.metadata:
            case {"spread": inner}:
                more[each.name] = taken(given, inner)
            case {"value": read, "key": key} if each.default is NOTHING:
                more[each.name] = given.take(key or each.name, read)
            case {"value": read, "key": key}:
                if (value := given.take(key or each.name, read, _LEFT_OUT)) is not _LEFT_OUT:
                    more[each.name] = value
    return cls(**more)


def record(cls: type[R], what: str, about: str = "") -> ValueKind[R]:
    """The kind of a mapping that describes a record; `what` it is called in errors."""

    @kind(closed(dict(_properties(cls)), _required(cls), about))
    def read(source: object) -> R:
        given = Keys(source, what)
        found = taken(given, cls)
        given.end()
        return found

    return read


def _properties(cls: type[AttrsInstance]) -> Iterator[tuple[str, Any]]:
    for each in fields(cls):
        match each.metadata:
            case {"spread": inner}:
                yield from _properties(inner)
            case {"value": read, "key": key}:
                yield key or each.name, or_variable(read.schema)


def _required(cls: type[AttrsInstance]) -> list[str]:
    needed = (each for each in fields(cls) if each.default is NOTHING and "value" in each.metadata)
    return [each.metadata["key"] or each.name for each in needed]
