"""The kinds of plain values in a story: how each is read, with an error that says what was expected, and its JSON Schema.

Whoever asks for a value adds to the error where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from attrs import frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests import ManifestError
from kubelet_sim.model.durations import WITH_UNITS, parse_duration

T = TypeVar("T")
Way = tuple[str | int, ...]
Schema = dict[str, Any]
_MISSING: Any = object()
_VARIABLE: Schema = {"type": "string", "pattern": r"\$\{"}


@frozen(eq=False)
class ValueKind(Generic[T]):
    """A kind of value that a story may have: how one is read, and the JSON Schema of it."""

    read: Callable[[Any], T]
    """Raises `UsageError` for what is no such value."""
    schema: Schema

    def __call__(self, value: Any) -> T:
        """What the value says. Raises `UsageError`."""
        return self.read(value)


def kind(schema: Schema) -> Callable[[Callable[[Any], T]], ValueKind[T]]:
    """Makes a kind of value of the function that reads it."""
    return lambda read: ValueKind(read, schema)


def or_variable(schema: Schema) -> Schema:
    """The schema of a value in whose place a variable may stand."""
    may_be_text = schema in ({}, text.schema, mapping.schema)
    return schema if may_be_text else {"anyOf": [schema, _VARIABLE]}


def closed(properties: Mapping[str, Schema], required: Iterable[str] = (), about: str = "") -> Schema:
    """The schema of a mapping that has these keys and no others."""
    found: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    found |= {"required": list(required)} if required else {}
    return found | ({"description": about} if about else {})


@kind({"type": "string"})
def text(value: object) -> str:
    """A text. Raises `UsageError` that knows what YAML takes for something else."""
    if isinstance(value, str):
        return value
    # YAML takes y, no, on and 1.30 for something else.
    hint = "" if value is None or isinstance(value, Mapping | list | tuple) else ": put it in quotes"
    raise UsageError(f"expected text, not {value!r}{hint}")


@kind({"type": "boolean"})
def truth(value: object) -> bool:
    """Either true or false. Raises `UsageError`."""
    if not isinstance(value, bool):
        raise UsageError(f"expected true or false, not {value!r}")
    return value


@kind({"type": "integer"})
def integer(value: object) -> int:
    """A whole number. Raises `UsageError`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"expected an integer, not {value!r}")
    return value


@kind({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": f"^{WITH_UNITS}$"}]})
def seconds(value: object) -> float:
    """Zero or more: a number, or a text such as `5s`, `500ms`, `1h30m`. Raises `UsageError`."""
    if isinstance(value, str) and re.fullmatch(WITH_UNITS, value, re.ASCII):
        try:
            return parse_duration(value)
        except ValueError as error:
            raise UsageError(str(error)) from error
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise UsageError(f"expected seconds, not {value!r}; 5s and 2m are fine, too")
    return float(value)


@kind({"type": "array"})
def items(value: object) -> list[Any]:
    """A list of anything. Raises `UsageError`."""
    if not isinstance(value, list | tuple):
        raise UsageError(f"expected a list, not {value!r}")
    return list(value)


@kind({"type": "object"})
def mapping(value: object) -> Mapping[str, Any]:
    """A mapping of anything by texts. Raises `UsageError`."""
    if not isinstance(value, Mapping):
        raise UsageError(f"expected a mapping, not {value!r}")
    for key in value:
        text(key)
    return MappingProxyType(dict(value))


def list_of(each: ValueKind[T], **more: Any) -> ValueKind[tuple[T, ...]]:
    """A list of such values; an error knows which of them is wrong.

    Args:
        each: the kind of its items.
        more: keys of its schema, such as `minItems`.
    """

    @kind({"type": "array", "items": or_variable(each.schema), **more})
    def read(value: object) -> tuple[T, ...]:
        found = []
        for at, item in enumerate(items(value)):
            try:
                found.append(each(item))
            except UsageError as error:
                raise inside(error, at) from error
        return tuple(found)

    return read


def mapping_of(each: ValueKind[T]) -> ValueKind[Mapping[str, T]]:
    """A mapping of such values by texts."""

    @kind({"type": "object", "additionalProperties": or_variable(each.schema)})
    def read(value: object) -> Mapping[str, T]:
        return MappingProxyType({name: each(item) for name, item in mapping(value).items()})

    return read


texts = list_of(text)


def one_of(known: tuple[str, ...]) -> ValueKind[str]:
    """The kind of value that is one of these words."""

    @kind({"enum": list(known)})
    def read(value: object) -> str:
        if not isinstance(value, str) or value not in known:
            raise UsageError(f"expected one of {', '.join(known)}, not {value!r}")
        return value

    return read


@kind({"anyOf": [text.schema, texts.schema]})
def text_or_texts(value: object) -> tuple[str, ...]:
    """One text, or several. Raises `UsageError`."""
    return (value,) if isinstance(value, str) else texts(value)


@kind({})
def anything(value: Any) -> Any:
    """Any value, taken as it is."""
    return value


class Misplaced(UsageError):
    """An error about something inside a value."""

    def __init__(self, text: str, way: Way) -> None:
        super().__init__(text)
        self.way = way
        """Keys and places in lists that lead to it."""


def way_of(error: UsageError) -> Way:
    """The way to what is wrong, as far as the error knows it."""
    return error.way if isinstance(error, Misplaced | ManifestError) else ()


def inside(error: UsageError, part: str | int, text: str | None = None) -> Misplaced:
    """The error of a value, seen from the mapping or list that holds it."""
    return Misplaced(str(error) if text is None else text, (part, *way_of(error)))


class Keys:
    """A mapping from which keys are taken; in the end none may be left."""

    def __init__(self, value: object, what: str) -> None:
        if not isinstance(value, Mapping):
            raise UsageError(f"expected a mapping for {what}, not {value!r}")
        self.whole: Mapping[str, Any] = value
        self._what = what
        self._known: list[str] = []

    def take(self, key: str, read: Callable[[Any], T], default: Any = _MISSING) -> Any:
        """The value of the key, or the default if there is one. Raises `UsageError` that names the key."""
        self._known.append(key)
        if key not in self.whole:
            if default is _MISSING:
                raise self._without(key)
            return default
        try:
            return read(self.whole[key])
        except UsageError as error:
            raise inside(error, key, f"{key}: {error}") from error

    def _without(self, key: str) -> UsageError:
        near = get_close_matches(key, [each for each in self.whole if each not in self._known], 1)
        if not near:
            return UsageError(f"{self._what} has no {key}")
        return Misplaced(f"{self._what} has no {key}; is {near[0]!r} to be that?", (near[0],))

    def end(self) -> None:
        """Raises `UsageError` for a key that nobody took."""
        for key in self.whole:
            if key not in self._known:
                text = f"{self._what} has no key {key!r}; it may have: {', '.join(self._known) or 'none'}"
                raise Misplaced(text, (key,))
