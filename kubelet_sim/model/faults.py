"""A fault that somebody wants, and what is told of one that was injected. What each does is the node's business."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@frozen
class Fault:
    """Something that is to go wrong, by the name under which the node knows it.

    The filters narrow down whom it meets; empty: everybody. Which of them a fault has is in its description.
    """

    name: str
    arguments: Mapping[str, Any] = field(default=_NOTHING, hash=False)
    """By name; those left out are as usual."""
    count: int | None = None
    """After how many times it ends by itself; `None`: as is usual for it, mostly never."""
    resource: str = ""
    socket: str = ""
    """A plugin's socket: its file name, or its whole path."""
    pod: str = ""
    """`NAME` or `NAMESPACE/NAME`."""


@frozen
class FaultView:
    """A fault that was injected, at this moment."""

    id: int
    """Counts from 1 through the life of the node."""
    name: str
    arguments: Mapping[str, Any] = field(hash=False)
    """All of them, and the filters that were given."""
    did: str
    """One line on what it did. It may hold foreign text."""
    undo: str
    """One line on how to undo it, or that there is nothing to undo."""
    at_s: float
    """When, in seconds since the node started."""
    applied: int
    """How often it has applied so far."""
    is_active: bool
