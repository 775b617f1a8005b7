"""The types of what a transcript holds: decisions of the core, records of all that happened, calls."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

Json = Any
"""A JSON value: text, number, truth, null, list, or object with text keys."""
NO_DETAILS: Mapping[str, Json] = MappingProxyType({})
"""One for all that have none: there are a hundred thousand records."""


class RecordLevel(Enum):
    """How much a record asks of its reader."""

    INFO = "info"
    WARNING = "warning"
    """Something a plugin author should look at; the node itself is fine."""


@frozen
class Decision:
    """What the core decided, at the line that decides it."""

    subject: str
    """What it is about: a resource name, or `namespace/name` of a pod."""
    text: str
    """One sentence for people. Foreign text in it is not escaped: whoever shows it does that for its medium."""
    rules: tuple[str, ...] = ()
    level: RecordLevel = RecordLevel.INFO
    details: Mapping[str, Json] = field(default=NO_DETAILS, hash=False)


@frozen
class Record:
    """One thing that happened on a node."""

    number: int
    """Counts from 1 through the life of the node."""
    at_s: float
    """The node's clock, in seconds since the node started."""
    kind: str
    """`fact`, `effect`, `answer`, `decision`, `rpc` (a call that belongs to no walk), `fault` or `node`."""
    subject: str
    text: str
    rules: tuple[str, ...] = ()
    level: RecordLevel = RecordLevel.INFO
    walk: int | None = None
    """The walk it belongs to (a registration, an admission, a preparation), if any."""
    incarnation: int = 1
    """Which kubelet process of this node, counted from 1."""
    details: Mapping[str, Json] = field(default=NO_DETAILS, hash=False)


@frozen
class Rpc:
    """A call that the core has no part in, for recorders: of the plugin watcher, of the pod resources API."""

    method: str
    """As it is called: `/pluginregistration.Registration/GetInfo`."""
    request: Json = field(hash=False)
    answer: Json = field(hash=False)
    """Both under the names of the protos; `None`: there is none."""
    status: str
    """gRPC's code, as the kubelet's library names it."""
    took_s: float
    """On the node's clock."""
