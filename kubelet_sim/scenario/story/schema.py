"""The JSON Schema of story files, for editors: it follows from the kinds of values and of steps that the reader reads.

It is more generous than the reader, which knows what fits together: everything that can be played is valid, and what a reader
would take for a slip of the pen (an unknown key, a wrong type) is not. Where a story has variables, `${name}` may stand for
anything.
"""

from __future__ import annotations

from kubelet_sim.scenario.plugins.command import read_command
from kubelet_sim.scenario.plugins.script import DEVICES_SCHEMA, read_script
from kubelet_sim.scenario.steps.registry import STEPS
from kubelet_sim.scenario.story.expectations import expectation_schema, matcher_schema
from kubelet_sim.scenario.story.node_spec import read_node
from kubelet_sim.scenario.story.values import Schema, closed, text, text_or_texts, texts

_ONE_OR_MORE = text_or_texts.schema


def schema() -> Schema:
    """The schema of a file, which holds one story or a list of them."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Stories of kubelet-sim",
        "anyOf": [{"$ref": "#/$defs/story"}, {"type": "array", "items": {"$ref": "#/$defs/story"}}],
        "$defs": {
            "story": _story(),
            "node": read_node.schema,
            "plugin": {"anyOf": [{"$ref": "#/$defs/command"}, {"$ref": "#/$defs/script"}]},
            "command": read_command.schema,
            "script": read_script.schema,
            "devices": DEVICES_SCHEMA,
            "step": {
                "anyOf": [*(kind.schema() for kind in STEPS.values()), closed({"include": _ONE_OR_MORE}, ("include",))]
            },
            "expect": expectation_schema(),
            "matcher": matcher_schema(),
        },
    }


def _story() -> Schema:
    return closed(
        {
            "name": text.schema,
            "rules": texts.schema,
            "vars": {"type": "object", "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_-]*$"}},
            "include": _ONE_OR_MORE,
            "node": {"$ref": "#/$defs/node"},
            "plugins": {"type": "object", "additionalProperties": {"$ref": "#/$defs/plugin"}},
            "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}},
        }
    )
