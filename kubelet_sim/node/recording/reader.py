"""Reads a transcript file back, for people and for the replay."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from attrs import field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.node.recording.header import Header, header_from_json
from kubelet_sim.transcript import Json, Record, RecordLevel

_MEMBERS: dict[str, type | tuple[type, ...]] = {
    "n": int,
    "at_s": (int, float),
    "kind": str,
    "subject": str,
    "text": str,
    "rules": list,
    "level": str,
    "walk": int,
    "process": int,
    "details": dict,
    "took_s": (int, float),
    "status": str,
}


@frozen
class Line:
    """One record of a transcript file, with what was recorded of it."""

    number: int
    """Of the line in the file, counted from 1."""
    record: Record
    value: Json = field(default=None, hash=False)
    """The value behind it, as `kubelet_sim.node.recording.codec` writes it."""
    has_value: bool = False
    took_s: float | None = None
    """How long the answer took, on the node's clock."""
    status: str = ""
    """How the call ended, if it is one: gRPC's code."""


def read_header(lines: Iterator[str]) -> Header:
    """Take the first line. Raises `UsageError`."""
    first = next(lines, None)
    if first is None:
        raise UsageError("the transcript is empty")
    return header_from_json(_object(1, first))


def read_lines(lines: Iterable[str]) -> Iterator[Line]:
    """The records after the header, each checked as it is read; a last line that is cut off is left out.

    Raises:
        UsageError: a line is none of a transcript; it says which.
    """
    number, pending = 1, None
    for number, text in enumerate(lines, start=2):
        if pending is not None:
            yield read_line(number - 1, pending)
        pending = text
    if pending is not None and (pending.endswith("\n") or _is_whole(pending)):
        yield read_line(number, pending)


def read_line(number: int, text: str) -> Line:
    """One record after the header; `number` is its line in the file. Raises `UsageError`."""
    value = _object(number, text)
    for name, type_ in _MEMBERS.items():
        if name in value and not isinstance(value[name], type_):
            raise UsageError(f"line {number}: {name} is no {getattr(type_, '__name__', 'number')}")
    if "kind" not in value or "at_s" not in value:
        raise UsageError(f"line {number}: a record has a kind and a time")
    try:
        level = RecordLevel(value.get("level", "info"))
    except ValueError:
        raise UsageError(f"line {number}: there is no level {value['level']!r}") from None
    record = Record(
        value.get("n", 0),
        float(value["at_s"]),
        value["kind"],
        value.get("subject", ""),
        value.get("text", ""),
        tuple(map(str, value.get("rules", ()))),
        level,
        value.get("walk"),
        value.get("process", 1),
        value.get("details", {}),
    )
    return Line(number, record, value.get("value"), "value" in value, value.get("took_s"), value.get("status", ""))


def _object(number: int, text: str) -> dict[str, Json]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"line {number} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"line {number} is no JSON object")
    return value


def _is_whole(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
