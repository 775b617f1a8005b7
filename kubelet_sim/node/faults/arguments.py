"""Arguments of faults: their types and defaults, and how they are read from a command line or from a scenario file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from attrs import field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.model.durations import parse_duration

Read = Callable[[object], Any]


@frozen
class Argument:
    """An argument that a kind of fault takes: its name, how it is read, what it means."""

    name: str
    default: Any
    help: str
    type_name: str
    """What people write: `TEXT`, `NUMBER`, `SECONDS`, `IDS`, or the choices."""
    read: Read = field(repr=False, eq=False)
    """From text or from a plain value. Raises `UsageError`."""
    choices: tuple[str, ...] = ()

    @property
    def default_text(self) -> str:
        """The default for people, empty for none."""
        match self.default:
            case None | "" | ():
                return ""
            case tuple():
                return ",".join(self.default)
            case float() | int():
                return f"{self.default:g}"
        return str(self.default)


def text(name: str, default: str, help: str) -> Argument:  # noqa: A002 - it is one
    """An argument that is any text."""

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise UsageError(f"expected text, not {value!r}")
        return value

    return Argument(name, default, help, "TEXT", read)


def number(name: str, default: int | None, help: str, *, least: int = 0) -> Argument:  # noqa: A002 - it is one
    """An argument that is an integer, at least so much."""

    def read(value: object) -> int:
        try:
            found = int(value) if isinstance(value, str) else value
        except ValueError:
            found = None
        if not isinstance(found, int) or isinstance(found, bool) or found < least:
            raise UsageError(f"expected an integer of at least {least}, not {value!r}")
        return found

    return Argument(name, default, help, "NUMBER", read)


def seconds(name: str, default: float | None, help: str) -> Argument:  # noqa: A002 - it is one
    """Seconds, zero or more: a number, or a text such as `500ms` or `2m`."""

    def read(value: object) -> float:
        try:
            found = parse_duration(value) if isinstance(value, str) else value
        except ValueError:
            found = None
        if not isinstance(found, int | float) or isinstance(found, bool) or not 0 <= found < inf:
            raise UsageError(f"expected seconds, not {value!r}; 5s and 2m are fine, too")
        return float(found)

    return Argument(name, default, help, "SECONDS", read)


def choice(name: str, choices: tuple[str, ...], default: str, help: str) -> Argument:  # noqa: A002 - it is one
    """An argument that is one of these words."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise UsageError(f"expected one of {', '.join(choices)}, not {value!r}")
        return value

    return Argument(name, default, help, "|".join(choices), read, choices)


def ids(name: str, help: str) -> Argument:  # noqa: A002 - it is one
    """Device ids: a list, or a text with commas between them; none by default."""

    def read(value: object) -> tuple[str, ...]:
        parts = [part for part in value.split(",") if part] if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise UsageError(f"expected device ids, not {value!r}")
        return tuple(parts)

    return Argument(name, (), help, "IDS", read)


def bound(arguments: tuple[Argument, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every argument: what was given, read, or the default. Raises `UsageError` that names the argument."""
    known = {argument.name: argument for argument in arguments}
    for name in given:
        if name not in known:
            raise UsageError(f"it has no argument {name!r}; it may have: {', '.join(known) or 'none'}")
    values = {}
    for name, argument in known.items():
        if name not in given:
            values[name] = argument.default
            continue
        try:
            values[name] = argument.read(given[name])
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from error
    return values
