"""Reading plain values of a story, each with an error that says what was expected. Whoever asks adds where it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from attrs import frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests import ManifestError
from kubelet_sim.model.durations import WITH_UNITS, parse_duration

T = TypeVar("T")
Way = tuple[str | int, ...]
Reader = Callable[[Any], Any]
_MISSING: Any = object()


def text(value: object) -> str:
    """Raises `UsageError`."""
    if isinstance(value, str):
        return value
    # YAML takes y, no, on and 1.30 for something else.
    hint = "" if value is None or isinstance(value, Mapping | list | tuple) else ": put it in quotes"
    raise UsageError(f"expected text, not {value!r}{hint}")


def truth(value: object) -> bool:
    """Raises `UsageError`."""
    if not isinstance(value, bool):
        raise UsageError(f"expected true or false, not {value!r}")
    return value


def integer(value: object) -> int:
    """Raises `UsageError`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"expected an integer, not {value!r}")
    return value


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


def items(value: object) -> list[Any]:
    """A list of anything. Raises `UsageError`."""
    if not isinstance(value, list | tuple):
        raise UsageError(f"expected a list, not {value!r}")
    return list(value)


def each(read: Callable[[Any], T], value: object) -> tuple[T, ...]:
    """Every item of a list, read. Raises `UsageError` that knows which item is wrong."""
    found = []
    for at, item in enumerate(items(value)):
        try:
            found.append(read(item))
        except UsageError as error:
            raise inside(error, at) from error
    return tuple(found)


def texts(value: object) -> tuple[str, ...]:
    """Raises `UsageError`."""
    return each(text, value)


def mapping(value: object) -> Mapping[str, Any]:
    """A mapping with text keys. Raises `UsageError`."""
    if not isinstance(value, Mapping):
        raise UsageError(f"expected a mapping, not {value!r}")
    for key in value:
        text(key)
    return value


@frozen
class OneOf:
    """A reader for one of these words. Raises `UsageError`."""

    words: tuple[str, ...]

    def __call__(self, value: object) -> str:
        """The word."""
        if not isinstance(value, str) or value not in self.words:
            raise UsageError(f"expected one of {', '.join(self.words)}, not {value!r}")
        return value


def one_of(known: tuple[str, ...]) -> OneOf:
    """A reader for one of these words."""
    return OneOf(known)


def text_or_texts(value: object) -> tuple[str, ...]:
    """One text, or several. Raises `UsageError`."""
    return (value,) if isinstance(value, str) else texts(value)


def anything(value: Any) -> Any:
    """Whatever it is."""
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
