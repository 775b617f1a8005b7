"""A plugin of a story that is a real command, as values."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.values import Keys

_NOTHING: Mapping[str, Any] = MappingProxyType({})
ISOLATE = ("auto", "namespace", "none")
READY_WITHIN_S = 30.0
VERBS_OF_COMMANDS = frozenset({"serve", "register", "start", "stop", "kill", "signal", "process", "output", "sound"})
"""What one can do with a plugin that is a command."""
VERBS_OF_COMMANDS_ALONE = frozenset({"signal", "process", "output", "sound"})


@frozen
class CommandScript:
    """How a plugin's process is started, and when it counts as ready."""

    command: tuple[str, ...]
    """Its words; `{dir}`, `{socket}` and `{python}` in them are replaced."""
    env: Mapping[str, str] = field(default=_NOTHING, hash=False)
    cwd: str | None = None
    """Relative to the story's folder; `None`: where we were started."""
    isolate: str = "auto"
    """`namespace`: it sees the node at `/var/lib/kubelet`; `none`: it has to be told; `auto`: as its placeholders say."""
    registered: tuple[str, ...] = ()
    """The resources with which it has registered when it is ready."""
    within_s: float = READY_WITHIN_S
    """How long it may take until then, in real time."""
    source: Mapping[str, Any] = field(default=_NOTHING, hash=False, repr=False, eq=False)


def read_command(source: object) -> CommandScript:
    """The command that a mapping describes. Raises `UsageError` naming the key that is wrong."""
    given = Keys(source, "the plugin")
    registered, within_s = given.take("ready", _ready, ((), READY_WITHIN_S))
    script = CommandScript(
        command=given.take("command", _words),
        env=given.take("env", _texts_by_name, _NOTHING),
        cwd=given.take("cwd", values.text, None),
        isolate=given.take("isolate", values.one_of(ISOLATE), "auto"),
        registered=registered,
        within_s=within_s,
        source=MappingProxyType(dict(given.whole)),
    )
    given.end()
    return script


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


def _ready(value: object) -> tuple[tuple[str, ...], float]:
    given = Keys(value, "ready")
    found = given.take("registered", values.text_or_texts), given.take("within", values.seconds, READY_WITHIN_S)
    given.end()
    return found


def _words(value: object) -> tuple[str, ...]:
    words = values.texts(value)
    if not words:
        raise UsageError("expected a command and its arguments, not an empty list")
    return words


def _texts_by_name(value: object) -> Mapping[str, str]:
    return MappingProxyType({name: values.text(item) for name, item in values.mapping(value).items()})
