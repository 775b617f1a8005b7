"""A value of a document together with the way to it, so that every complaint can say where."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from typing import Any

from attrs import frozen

from kubelet_sim.manifests.documents import DocumentOrigin
from kubelet_sim.manifests.errors import ManifestError, Path, quoted

_MOST_NAMES = 6
"""Fields that an error lists before it becomes unreadable."""


@frozen
class Cursor:
    """One place of a document. As in the API, `null` is the same as a field that is not there."""

    value: Any
    origin: DocumentOrigin
    path: Path = ()

    @property
    def is_there(self) -> bool:
        """Whether the document says anything here."""
        return self.value is not None

    def error(self, problem: str, expected: str = "") -> ManifestError:
        """An error that names the place of this value."""
        return self.origin.error(self.path, problem, expected)

    def fields(self, known: Collection[str]) -> dict[str, Cursor]:
        """The place of every known field, those not written included; raises `ManifestError` for an unknown one."""
        entries = self.entries()
        for key, entry in entries.items():
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1) or _same_letters(key, known)
                hint = f"Did you mean {near[0]}?" if near else _names(known)
                raise entry.error(f"the field {quoted(key)} does not exist", hint)
        return {key: entries.get(key, Cursor(None, self.origin, (*self.path, key))) for key in known}

    def entries(self) -> dict[str, Cursor]:
        """A mapping's entries in order; none if it is not there."""
        value = {} if self.value is None else self.value
        if not isinstance(value, dict):
            raise self.error(f"found {quoted(value)}", "Expected a mapping")
        return {key: Cursor(item, self.origin, (*self.path, key)) for key, item in value.items()}

    def items(self) -> Iterator[Cursor]:
        """A list's items in order; none if it is not there."""
        value = [] if self.value is None else self.value
        if not isinstance(value, list):
            raise self.error(f"found {quoted(value)}", "Expected a list")
        return (Cursor(item, self.origin, (*self.path, i)) for i, item in enumerate(value))

    def text(self) -> str:
        """The text; empty if it is not there. A number or a truth is no text."""
        if self.value is None:
            return ""
        if not isinstance(self.value, str):
            hint = "Expected text" if isinstance(self.value, dict | list) else "Expected text: put it in quotes"
            raise self.error(f"found {quoted(self.value)}", hint)
        return self.value

    def choice(self, known: tuple[str, ...]) -> str:
        """One of the known words; empty if it is not there."""
        word = self.text()
        if word and word not in known:
            raise self.error(f"found {quoted(word)}", f"Expected {', '.join(known[:-1])} or {known[-1]}")
        return word


def _names(known: Collection[str]) -> str:
    if len(known) > _MOST_NAMES:
        return "Expected a field of the API of Kubernetes 1.36"
    return f"Expected one of {', '.join(sorted(known))}"


def _same_letters(key: str, known: Collection[str]) -> list[str]:
    return [name for name in known if name.lower() == key.lower()]
