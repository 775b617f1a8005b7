"""The text of a manifest file to documents: plain values of which every part can be written as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from kubelet_sim.manifests.errors import ManifestError, Path, quoted
from kubelet_sim.manifests.yaml_text import DEEPEST, read_yaml

LONGEST_TEXT = 1_000_000
"""Characters of one file. PyYAML reads some 300 000 a second."""


@frozen
class DocumentOrigin:
    """The file, and the place in it, that a document comes from."""

    source: str = ""
    number: int = 1
    within: Path = ()
    """The way to an item of a List; empty for a document of its own."""

    def error(self, path: Path, problem: str, expected: str = "") -> ManifestError:
        """An error at a place of the document."""
        return ManifestError(
            problem, expected=expected, source=self.source, document=self.number, path=(*self.within, *path)
        )


def read_documents(text: str, source: str) -> tuple[tuple[DocumentOrigin, Any], ...]:
    """Every document that is not empty, in order, numbered as a reader counts them.

    A file that is JSON, with tabs and all, is read as JSON; anything else as YAML. Raises `ManifestError`.
    """
    if len(text) > LONGEST_TEXT:
        raise ManifestError(
            f"{len(text)} characters", expected=f"Expected at most {LONGEST_TEXT}: split the file", source=source
        )
    text = text.removeprefix("\ufeff")
    documents = _read_json(text, source) if text.lstrip().startswith("{") else None
    numbered = read_yaml(text, source) if documents is None else enumerate(documents, start=1)
    return tuple((DocumentOrigin(source, number), value) for number, value in numbered if value is not None)


def plain_copy(value: Any, origin: DocumentOrigin, path: Path = ()) -> Any:
    """The value again, of dicts, lists and JSON's scalars only; nobody else can change it.

    Raises `ManifestError` for anything JSON does not have: other types, keys that are no text, infinite numbers, half
    characters.
    """
    if len(path) > DEEPEST:
        raise origin.error(
            path[:5], "mappings and lists lie too deep in each other", f"Expected at most {DEEPEST} levels"
        )
    match value:
        case None | bool() | int():
            return value
        case str() if _is_text(value):
            return value
        case float() if math.isfinite(value):
            return value
        case Mapping():
            return {_key(key, origin, path): plain_copy(item, origin, (*path, str(key))) for key, item in value.items()}
        case Sequence() if not isinstance(value, str | bytes | bytearray):
            return [plain_copy(item, origin, (*path, i)) for i, item in enumerate(value)]
        case _:
            raise origin.error(path, f"found {quoted(value)}", "Expected what JSON can say")


def _key(key: Any, origin: DocumentOrigin, path: Path) -> str:
    if not (isinstance(key, str) and _is_text(key)):
        raise origin.error(path, f"found the key {quoted(key)}", "Expected text as key")
    return key


def _is_text(text: str) -> bool:
    """Whether the text can be written to a file: half a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _read_json(text: str, source: str) -> list[Any] | None:
    """JSON values one after the other as kubectl takes them; `None` if that is not what the text is."""
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs, parse_constant=_refuse_constant)
    documents: list[Any] = []
    rest = text.strip()
    try:
        while rest:
            value, end = decoder.raw_decode(rest)
            documents.append(_unique(value, DocumentOrigin(source, len(documents) + 1), ()))
            rest = rest[end:].lstrip()
    except (ValueError, RecursionError):
        return None
    return documents


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its keys as they stand, twice if they stand there twice."""


def _unique(value: Any, origin: DocumentOrigin, path: Path) -> Any:
    if isinstance(value, _Pairs):
        mapping: dict[str, Any] = {}
        for key, item in value:
            if key in mapping:
                problem = f"the key {quoted(key)} stands twice in one mapping"
                raise origin.error((*path, key), problem, "Keep one of the two")
            mapping[key] = _unique(item, origin, (*path, key))
        return mapping
    if isinstance(value, list):
        return [_unique(item, origin, (*path, i)) for i, item in enumerate(value)]
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)
