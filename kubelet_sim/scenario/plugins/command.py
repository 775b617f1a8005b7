"""A plugin of a story that is a real command, as values."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.records import read_by, record

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@values.kind(values.list_of(values.text, minItems=1).schema)
def _words(value: object) -> tuple[str, ...]:
    words = values.texts(value)
    if not words:
        raise UsageError("expected a command and its arguments, not an empty list")
    return words


@frozen
class Readiness:
    """When the process of a plugin counts as ready."""

    registered: tuple[str, ...] = field(metadata=read_by(values.text_or_texts))
    """The resources with which it has registered then."""
    within_s: float = field(default=30.0, metadata=read_by(values.seconds, "within"))
    """How long it may take until then, in real time."""


@frozen
class CommandScript:
    """How a plugin's process is started, and when it counts as ready."""

    command: tuple[str, ...] = field(metadata=read_by(_words))
    """Its words; `{dir}`, `{socket}` and `{python}` in them are replaced."""
    env: Mapping[str, str] = field(default=_NOTHING, hash=False, metadata=read_by(values.mapping_of(values.text)))
    cwd: str | None = field(default=None, metadata=read_by(values.text))
    """Relative to the story's folder; `None`: where we were started."""
    isolate: str = field(default="auto", metadata=read_by(values.one_of(("auto", "namespace", "none"))))
    """`namespace`: it sees the node at `/var/lib/kubelet`; `none`: it has to be told; `auto`: as its placeholders say."""
    ready: Readiness = field(default=Readiness(()), metadata=read_by(record(Readiness, "ready")))


read_command = record(CommandScript, "the plugin", "A plugin that is a real command.")
"""Reads the command that a mapping describes. Raises `UsageError` naming the key that is wrong."""


@values.kind({"type": ["string", "integer"]})
def signal_number(value: object) -> int:
    """A signal by its name, with or without `SIG`, or by its number. Raises `UsageError`."""
    name = str(value).upper()
    name = name if name.startswith("SIG") else f"SIG{name}"
    known = {each.name: each for each in signal.Signals}
    if isinstance(value, str) and name in known:
        return int(known[name])
    if isinstance(value, int) and value in set(known.values()):
        return value
    raise UsageError(f"expected a signal such as SIGSTOP, not {value!r}")
