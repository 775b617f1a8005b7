"""Looking into the parts of a manifest that were kept as they are: everything below a container and a pod's spec.

A field that is missing or null reads as empty; a field of another kind is a `UsageError` that says where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

from kubelet_sim.errors import UsageError

_SHOWN = 60


@frozen
class ManifestPart:
    """One mapping of a manifest, and the way to it."""

    value: Mapping[str, Any] = field(factory=dict)
    path: str = ""

    def __contains__(self, name: object) -> bool:
        return self.value.get(str(name)) is not None

    def text(self, name: str, default: str = "") -> str:
        """The text of the field of that name, or the default."""
        value = self._of(name, str, "text")
        return default if value is None else str(value)

    def number(self, name: str) -> int | None:
        """The whole number of a field; `None` if it is not there."""
        value = self._of(name, int, "a whole number")
        return None if value is None else int(value)

    def flag(self, name: str) -> bool:
        """The truth of a field; no if it is not there."""
        value = self.value.get(name)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(name, value, "true or false")
        return bool(value)

    def part(self, name: str) -> ManifestPart:
        """The mapping of a field; empty if it is not there."""
        return ManifestPart(self._of(name, Mapping, "a mapping") or {}, self._at(name))

    def parts(self, name: str) -> Iterator[ManifestPart]:
        """The mappings in the list of that name, each with its place."""
        for number, value in enumerate(self._of(name, list, "a list") or ()):
            where = f"{self._at(name)}[{number}]"
            if not isinstance(value, Mapping):
                raise UsageError(f"{where}: found {_shown(value)}; expected a mapping")
            yield ManifestPart(value, where)

    def texts(self, name: str) -> tuple[str, ...]:
        """The texts in the list of that name."""
        values = self._of(name, list, "a list") or []
        for value in values:
            if not isinstance(value, str):
                raise self._wrong(name, value, "text")
        return tuple(values)

    def numbers(self, name: str) -> tuple[int, ...]:
        """The whole numbers of a list."""
        values = self._of(name, list, "a list") or []
        for value in values:
            if not isinstance(value, int) or isinstance(value, bool):
                raise self._wrong(name, value, "a whole number")
        return tuple(values)

    def _of(self, name: str, kind: type[Any], expected: str) -> Any:
        value = self.value.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise self._wrong(name, value, expected)
        return value

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _wrong(self, name: str, value: object, expected: str) -> UsageError:
        return UsageError(f"{self._at(name)}: found {_shown(value)}; expected {expected}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
