"""The JSON Schema of one line of a transcript file, made from the types whose values stand in it.

`tools/generate_transcript_schema.py` writes it into the package and into the documentation.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NewType, TypeVar, Union, get_args, get_origin

import attrs

from kubelet_sim.errors import KubeletSimError
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.node.recording.codec import ANSWERS, ASKED, EFFECTS, FACTS, FAILURES
from kubelet_sim.node.recording.header import SCHEMA_VERSION, Header
from kubelet_sim.transcript import Json, RecordLevel

FILE_NAME = "transcript.schema.json"
_TEXT: Mapping[str, Json] = {"type": "string"}
_PLAIN: Mapping[type, Json] = {
    str: _TEXT,
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Quantity: {"type": "string", "description": "a quantity, such as 2 or 500m"},
    bytes: {"type": "string", "contentEncoding": "base64"},
}
_DESCRIBED = {
    "n": "Counts the records that people are shown, from 1; a record that only a replay needs has none.",
    "at_s": "The node's clock: seconds since the node started.",
    "kind": "What kind of thing it is.",
    "subject": "A resource, a pod as namespace/name, node, kubelet, plugin watcher, pod resources, checkpoint.",
    "text": "One sentence for people. Foreign text in it is not escaped beyond JSON.",
    "rules": "Rules of the kubelet behind it.",
    "level": "Left out unless it is a warning.",
    "walk": "What belongs together: a registration, an admission, a preparation. Counts anew in every kubelet process.",
    "process": "Which kubelet process of the node, counted from 1.",
    "details": "More about a decision; the client of a call.",
    "took_s": "How long a call or a walk took, on the node's clock.",
    "status": "How a call ended: gRPC's code as the kubelet's library names it.",
}
_NO_VALUE: Json = {"not": {"required": ["value"]}}


def schema() -> dict[str, Json]:
    """The schema of every line: the header, which is the first, or a record."""
    made = _Definitions()
    header, record = made.of(Header), _record(made)
    header_line = {"allOf": [header], "required": ["transcript", "kubelet_sim", "profile"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of a kubelet-sim transcript, version {SCHEMA_VERSION}",
        "if": {"type": "object", "required": ["transcript"]},
        "then": header_line,
        "else": record,
        "$defs": dict(sorted(made.definitions.items())),
    }


def _record(made: _Definitions) -> Json:
    failure = made.failure()
    effects = made.tagged(name for name in EFFECTS.items() if name[0] != "WriteCheckpoint")
    effects["anyOf"].append(made.written())
    answers = made.tagged(ANSWERS.items())["anyOf"]
    ids = {"type": "array", "items": _TEXT}
    applied = _object({"answer": {"anyOf": [*answers, {"type": "null"}]}, "effects": _list(effects)})
    value_of: dict[str, Json] = {
        "process": made.tagged([("NodeObject", ANSWERS["NodeObject"])]),
        "fact": made.tagged(FACTS.items()),
        "applied": applied,
        "effect": effects,
        "answer": {"anyOf": [*answers, failure, ids, {"type": ["null", "boolean", "integer"]}]},
        "walk": made.tagged(ASKED.items()),
        "end": {"anyOf": [*answers, failure, {"type": ["null", "integer"]}]},
        "pick": {
            "type": "array",
            "prefixItems": [{**_TEXT, "description": "rule"}, {"type": "integer"}],
            "minItems": 2,
        },
        "rpc": {
            **_object({"type": {"const": "Rpc"}, "method": _TEXT, "request": {}, "answer": {}}),
        },
    }
    only_told = ("decision", "fault", "node")
    properties: dict[str, Json] = {
        "n": {"type": "integer", "minimum": 1},
        "at_s": {"type": "number"},
        "kind": {"enum": [*value_of, *only_told]},
        "subject": _TEXT,
        "text": _TEXT,
        "rules": _list({"type": "string", "pattern": "^(DM|CP|TM|PR)-[0-9]+$"}),
        "level": {"enum": [level.value for level in RecordLevel if level is not RecordLevel.INFO]},
        "walk": {"type": "integer", "minimum": 1},
        "process": {"type": "integer", "minimum": 1},
        "details": {"type": "object"},
        "took_s": {"type": "number", "minimum": 0},
        "status": _TEXT,
    }
    described = {name: {**value, "description": _DESCRIBED[name]} for name, value in properties.items()}
    return {
        "type": "object",
        "required": ["at_s", "kind"],
        "properties": {**described, "value": {}},
        "additionalProperties": False,
        "allOf": [
            *(_when(kind, {"properties": {"value": value}}) for kind, value in value_of.items()),
            *(_when(kind, _NO_VALUE) for kind in only_told),
        ],
    }


def _when(kind: str, then: Json) -> Json:
    return {"if": {"properties": {"kind": {"const": kind}}}, "then": then}


def _object(properties: Mapping[str, Json], required: Iterable[str] | None = None) -> dict[str, Json]:
    return {
        "type": "object",
        "required": list(properties if required is None else required),
        "properties": dict(properties),
        "additionalProperties": False,
    }


def _list(items: Json) -> dict[str, Json]:
    return {"type": "array", "items": items}


class _Definitions:
    """Types that were met, each defined once."""

    def __init__(self) -> None:
        self.definitions: dict[str, Json] = {}

    def tagged(self, named: Iterable[tuple[str, type]]) -> dict[str, Json]:
        """One of these, each with its name under `type`."""
        return {"anyOf": [self._class(type_, tag=name) for name, type_ in sorted(named)]}

    def failure(self) -> Json:
        """What a plugin or the kubelet failed with, by its facts."""
        error = {"enum": sorted(FAILURES)}
        self.definitions["failure"] = {"type": "object", "required": ["error"], "properties": {"error": error}}
        return {"$ref": "#/$defs/failure"}

    def written(self) -> Json:
        """The schema of a checkpoint that was written, told by its counts."""
        counts = {"type": "object", "additionalProperties": {"type": "integer"}}
        properties = {"type": {"const": "WriteCheckpoint"}, "records": {"type": "integer"}, "registered": counts}
        self.definitions["WriteCheckpoint"] = _object(properties)
        return {"$ref": "#/$defs/WriteCheckpoint"}

    def of(self, type_: Any) -> Json:
        """The schema of a type, made from its annotations."""
        if type_ in _PLAIN:
            return _PLAIN[type_]
        if isinstance(type_, NewType):
            return self.of(type_.__supertype__)
        if type_ is Any or isinstance(type_, TypeVar):
            return {}
        origin, arguments = get_origin(type_), get_args(type_)
        if origin in {Union, types.UnionType}:
            return {"anyOf": [self.of(each) for each in arguments]}
        if origin is tuple and arguments[-1] is not ...:
            items = [self.of(each) for each in arguments]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        if origin in {tuple, frozenset}:
            return _list(self.of(arguments[0]))
        if origin is not None and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if isinstance(type_, type) and issubclass(type_, KubeletSimError):
            return self.failure()
        if isinstance(type_, type) and issubclass(type_, Enum):
            return {"enum": [each.value for each in type_]}
        return self._class(origin or type_)

    def _class(self, type_: type, tag: str = "") -> Json:
        name = f"named.{tag}" if tag else type_.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # a type may hold itself
            attrs.resolve_types(type_)
            shown = [each for each in attrs.fields(type_) if each.init]
            properties = {each.name: self.of(each.type) for each in shown}
            required = [each.name for each in shown if each.default is attrs.NOTHING]
            if tag:
                properties, required = {"type": {"const": tag}, **properties}, ["type", *required]
            self.definitions[name] = _object(properties, required)
        return {"$ref": f"#/$defs/{name}"}
