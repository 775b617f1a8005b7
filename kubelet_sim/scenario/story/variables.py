"""Variables of a story: what `vars` says and steps save, put in where `${name}` stands.

A story that has neither has no variables: `${name}` is text in it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from kubelet_sim.errors import UsageError, there_are

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_REFERENCE = re.compile(r"\$(\$)\{|\$\{([^{}]*)\}")
_WAY = re.compile(r"\.([^.\[\]]+)|\[([0-9]+|\"[^\"]*\")\]")
Variables = Mapping[str, Any]


def name(value: object) -> str:
    """The name of a variable. Raises `UsageError`."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise UsageError(f"expected a name of letters, digits, - and _, not {value!r}")
    return value


def filled(value: Any, known: Variables, later: Container[str] = ()) -> Any:
    """The value with every reference replaced; keys of mappings stay. `$${` is `${` when nothing is left for later.

    A text that is one reference and nothing else becomes what it refers to, whatever that is.

    Args:
        value: plain JSON.
        known: the variables.
        later: names whose values are not known yet; what refers to one stays as it is.

    Raises:
        UsageError: there is no such variable, or nothing at that place of it.
    """
    match value:
        case str():
            return _filled_text(value, known, later)
        case Mapping():
            return {key: filled(item, known, later) for key, item in value.items()}
        case list() | tuple():
            return [filled(item, known, later) for item in value]
    return value


def references(value: Any) -> Iterator[str]:
    """The names of the variables that a value refers to."""
    match value:
        case str():
            for found in _REFERENCE.finditer(value):
                if not found[1]:
                    yield _head(found[2])[0]
        case Mapping():
            for item in value.values():
                yield from references(item)
        case list() | tuple():
            for item in value:
                yield from references(item)


def _filled_text(text: str, known: Variables, later: Container[str]) -> Any:
    if any(each in later for each in references(text)):
        return text
    if (whole := _REFERENCE.fullmatch(text)) and not whole[1]:
        return _value(whole[2], known)

    def put_in(found: re.Match[str]) -> str:
        if found[1]:
            return "${"
        value = _value(found[2], known)
        if isinstance(value, Mapping | list):
            raise UsageError(f"${{{found[2]}}} is no text that could stand in {text!r}")
        return {True: "true", False: "false", None: ""}.get(value, str(value))

    return _REFERENCE.sub(put_in, text)


def _head(reference: str) -> tuple[str, str]:
    found = NAME.match(reference)
    if not found:
        raise UsageError(f"${{{reference}}} does not begin with the name of a variable; write $${{ for the text itself")
    return found[0], reference[found.end() :]


def _value(reference: str, known: Variables) -> Any:
    first, rest = _head(reference)
    if first not in known:
        raise UsageError(f"there is no variable {first!r}; {there_are(list(known))}")
    value = known[first]
    while rest:
        found = _WAY.match(rest)
        if not found:
            raise UsageError(f"${{{reference}}}: expected .key or [number], not {rest!r}")
        value = _part(value, found, reference)
        rest = rest[found.end() :]
    return value


def _part(value: Any, found: re.Match[str], reference: str) -> Any:
    key: str | int = found[1] if found[1] is not None else found[2]
    if found[1] is None and isinstance(key, str):
        key = key[1:-1] if key.startswith('"') else int(key)
    if isinstance(value, Mapping) and key in value:
        return value[key]
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    raise UsageError(f"${{{reference}}}: there is no {key!r} in {value!r}")
