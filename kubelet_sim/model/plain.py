"""Values of the model as what JSON and YAML have: what is shown to programs, and what stories compare."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from attrs import fields, has


def plain(value: Any) -> Any:
    """The value in mappings, lists, text and numbers. Frozen values become mappings, fields in their order; a word of an enum is its value."""
    if has(type(value)):
        return {each.name: plain(getattr(value, each.name)) for each in fields(type(value))}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value
