"""The JSON Schema of story files, for editors; it follows the table of verbs.

It is more generous than the reader, which knows what fits together: everything that can be played is valid, and what a reader
would take for a slip of the pen (an unknown key, a wrong type) is not. Where a story has variables, `${name}` may stand for
anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubelet_sim.model.durations import WITH_UNITS
from kubelet_sim.profiles import RELEASES
from kubelet_sim.scenario.plugins.command import ISOLATE
from kubelet_sim.scenario.plugins.script import read_devices, read_status
from kubelet_sim.scenario.steps import verbs
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.expectations import CLOCKS, KINDS, MATCHERS
from kubelet_sim.scenario.story.story import POLICIES, SCOPES
from kubelet_sim.scenario.story.values import OneOf, Reader

Schema = dict[str, Any]

VARIABLE: Schema = {"type": "string", "pattern": r"\$\{"}
_TEXT: Schema = {"type": "string"}
_TRUTH: Schema = {"type": "boolean"}
_INTEGER: Schema = {"type": "integer"}
_LIST: Schema = {"type": "array"}
_MAPPING: Schema = {"type": "object"}
_SECONDS: Schema = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": f"^{WITH_UNITS}$"}]}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_ONE_OR_MORE: Schema = {"anyOf": [_TEXT, _TEXTS]}
_BY_NAME: Schema = {"type": "object", "additionalProperties": {"anyOf": [_TEXT, VARIABLE]}}

_READERS: Mapping[Reader, Schema] = {
    values.text: _TEXT,
    verbs.rule: _TEXT,
    values.truth: _TRUTH,
    values.integer: _INTEGER,
    values.seconds: _SECONDS,
    verbs.any_mapping: _MAPPING,
    verbs.any_list: _LIST,
    read_devices: {"$ref": "#/$defs/devices"},
    read_status: {"$ref": "#/$defs/status"},
    verbs.READERS["pod"]: _MAPPING,
    verbs.READERS["manifests"]: {"type": "array", "items": _MAPPING},
    verbs.READERS["two names"]: {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2},
    verbs.READERS["running"]: {
        "type": "array",
        "items": {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2},
    },
    verbs.READERS["text or truth"]: {"type": ["string", "boolean"]},
    verbs.READERS["signal"]: {"type": ["string", "integer"]},
}


def schema() -> Schema:
    """The schema of a file, which holds one story or a list of them."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Stories of kubelet-sim",
        "anyOf": [{"$ref": "#/$defs/story"}, {"type": "array", "items": {"$ref": "#/$defs/story"}}],
        "$defs": {
            "story": _story(),
            "node": _node(),
            "plugin": {"anyOf": [{"$ref": "#/$defs/command"}, {"$ref": "#/$defs/script"}]},
            "command": _command(),
            "script": _script(),
            "devices": _devices(),
            "status": {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2},
            "step": {"anyOf": [*_steps(), _closed({"include": _ONE_OR_MORE}, ("include",))]},
            "expect": _expect(),
            "matcher": _matcher(),
        },
    }


def _closed(properties: Mapping[str, Schema], required: tuple[str, ...] = (), about: str = "") -> Schema:
    found: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    found |= {"required": list(required)} if required else {}
    return found | ({"description": about} if about else {})


def _story() -> Schema:
    return _closed(
        {
            "name": _TEXT,
            "rules": _TEXTS,
            "vars": {"type": "object", "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_-]*$"}},
            "include": _ONE_OR_MORE,
            "node": {"$ref": "#/$defs/node"},
            "plugins": {"type": "object", "additionalProperties": {"$ref": "#/$defs/plugin"}},
            "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}},
        },
    )


def _node() -> Schema:
    return _closed(
        {
            "numa": _or_variable({"type": "array", "items": _or_variable(_INTEGER)}),
            "policy": _or_variable({"enum": list(POLICIES)}),
            "scope": _or_variable({"enum": list(SCOPES)}),
            "options": _MAPPING,
            "runs_containers": _or_variable(_TRUTH),
            "status_rounds": _or_variable(_TRUTH),
            "plugin_watcher": _or_variable(_TRUTH),
            "version": {"type": "string", "examples": list(RELEASES)},
            "gates": {"type": "object", "additionalProperties": _or_variable(_TRUTH)},
        }
    )


def _command() -> Schema:
    return _closed(
        {
            "command": {"type": "array", "items": _TEXT, "minItems": 1},
            "env": _BY_NAME,
            "cwd": _TEXT,
            "isolate": _or_variable({"enum": list(ISOLATE)}),
            "ready": _closed({"registered": _ONE_OR_MORE, "within": _or_variable(_SECONDS)}, ("registered",)),
        },
        ("command",),
        "A plugin that is a real command.",
    )


def _script() -> Schema:
    during: dict[str, Schema] = {"sleep": _SECONDS, "push": {"$ref": "#/$defs/devices"}, "drop": _TRUTH}
    status: Schema = {"$ref": "#/$defs/status"}
    options = _closed({"preStart": _or_variable(_TRUTH), "preferred": _or_variable(_TRUTH)})
    triple: Schema = {"type": "array", "items": {"type": "array", "minItems": 3, "maxItems": 3}}
    allocate = {
        "envs": _BY_NAME,
        "mounts": triple,
        "devices": triple,
        "device_per_id": _TRUTH,
        "annotations": _BY_NAME,
        "cdi": _TEXTS,
        "responses": _INTEGER,
        "no_response": _TRUTH,
        "error": status,
    }
    return _closed(
        {
            "resource": _TEXT,
            "socket": _TEXT,
            "devices": {"$ref": "#/$defs/devices"},
            "version": _TEXT,
            "endpoint": _TEXT,
            "options": options,
            "request_options": options,
            "options_error": status,
            "options_during": _closed(_each(during)),
            "list_error": status,
            "allocate": _closed(_each(allocate | during)),
            "preferred": _closed(_each({"ids": _TEXTS, "no_response": _TRUTH, "error": status} | during)),
            "prestart": _closed(_each({"error": status} | during)),
            "info": _closed({"type": _TEXT, "name": _TEXT, "endpoint": _TEXT, "versions": _TEXTS}),
            "registry_socket": _TEXT,
            "info_error": status,
            "notify_error": status,
        },
        ("resource", "socket"),
        "A plugin that follows a script.",
    )


def _devices() -> Schema:
    numa: Schema = {"type": "array", "items": _or_variable(_INTEGER)}
    device = _closed({"id": _TEXT, "health": _TEXT, "numa": _or_variable(numa)}, ("id",))
    return _or_variable({"type": "array", "items": _or_variable(device)})


def _steps() -> list[Schema]:
    always: Mapping[str, Schema] = {"expect": {"$ref": "#/$defs/expect"}, "save": _TEXT, "choices": _MAPPING}
    return [
        _closed(
            {
                "do": {"const": name},
                **{key: _or_variable(_of(read)) for key, read in (*verb.required.items(), *verb.optional.items())},
                **always,
            },
            ("do", *verb.required),
            verb.about,
        )
        for name, verb in verbs.VERBS.items()
    ]


def _expect() -> Schema:
    within: Schema = {
        "type": "object",
        "properties": {"within": _or_variable(_SECONDS), "clock": {"enum": list(CLOCKS)}},
        "required": ["within"],
    }
    return {"anyOf": [within, {"$ref": "#/$defs/matcher"}, {}]}


def _matcher() -> Schema:
    operands: Mapping[str, Schema] = {
        "contains": {"type": ["string", "object", "array"]},
        "unordered": _LIST,
        "ordered": _LIST,
        "one-of": _LIST,
        "matches": {"type": "string", "format": "regex"},
        "between": {"type": "array", "minItems": 2, "maxItems": 2},
        "at-least": {"type": "number"},
        "at-most": {"type": "number"},
        "absent": {"const": True},
        "any": {"enum": [True, *KINDS]},
    }
    return _closed(
        {word: _or_variable(operands.get(word, {})) | {"description": about} for word, about in MATCHERS.items()}
    ) | {"minProperties": 1}


def _of(read: Reader) -> Schema:
    return {"enum": list(read.words)} if isinstance(read, OneOf) else _READERS[read]


def _or_variable(found: Schema) -> Schema:
    return found if found in ({}, _TEXT, _MAPPING) else {"anyOf": [found, VARIABLE]}


def _each(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    return {key: _or_variable(value) for key, value in properties.items()}
