"""What the plugin watcher does next: sockets that are wanted, plugins that are registered, and the back-off between tries.

Pure: whoever holds the plan tells it the time and what happened, asks for the next steps, and says how each ended.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from attrs import define, field, frozen

from kubelet_sim.model.plugin import PluginInfo

PERIOD_S = 1.0
"""Rules: DM-147"""
FIRST_BACK_OFF_S = 0.5
LONGEST_BACK_OFF_S = 122.0
"""Rules: DM-147"""
_HARDLY_S = 1e-9
"""What the arithmetic of seconds may be wrong by."""
WANTED, REGISTERED = "desired_state_of_world", "actual_state_of_world"
"""The states of the gauge. Rules: DM-161"""


@frozen
class Register:
    """Try to register the plugin on that socket."""

    path: str
    appearance: int
    """Which file of that path it is: a socket that replaces another one is a new one."""


@frozen
class Deregister:
    """Deregister the plugin that was registered by that socket."""

    path: str
    info: PluginInfo
    """As it described itself then."""


Step = Register | Deregister


@frozen
class _Known:
    """A plugin that counts as registered."""

    appearance: int
    info: PluginInfo


@frozen
class _RetryPause:
    """After a failure, the next try comes when strictly more than the delay has passed."""

    failed_at_s: float
    delay_s: float

    @property
    def over_at_s(self) -> float:
        return self.failed_at_s + self.delay_s


@define
class RegistryPlan:
    """What the plugin watcher of one kubelet process wants, has and does.

    Args:
        began_at_s: when the first pass was made; later ones follow it by whole seconds.
    """

    _began_at_s: float = 0.0
    _wanted: dict[str, int] = field(factory=dict)
    _registered: dict[str, _Known] = field(factory=dict)
    _under_way: set[str] = field(factory=set)
    _back_off: dict[str, _RetryPause] = field(factory=dict)
    """By path: a file that replaces one which failed waits, too."""
    _appearances: int = 0

    # --- what happened

    def appeared(self, path: str) -> None:
        """There is a socket now, or another one. Rules: DM-147"""
        self._appearances += 1
        self._wanted[path] = self._appearances

    def vanished(self, path: str) -> bool:
        """There is no socket any more; whether there was one. Rules: DM-152"""
        return self._wanted.pop(path, None) is not None

    def registered(self, path: str, appearance: int, info: PluginInfo) -> None:
        """The plugin on that socket counts as registered from now on."""
        self._registered[path] = _Known(appearance, info)

    def deregistered(self, path: str) -> None:
        """The plugin on that socket does not count as registered any more."""
        self._registered.pop(path, None)

    def ended(self, path: str, now_s: float, *, failed: bool = False) -> float | None:
        """The operation on that socket is over; how long it is left alone, if it failed. Rules: DM-147"""
        self._under_way.discard(path)
        before = self._back_off.pop(path, None)
        if not failed:
            return None
        delay_s = FIRST_BACK_OFF_S if before is None else min(2 * before.delay_s, LONGEST_BACK_OFF_S)
        self._back_off[path] = _RetryPause(now_s, delay_s)
        return delay_s

    # --- what is to be done

    def next_steps(self, now_s: float) -> tuple[Step, ...]:
        """What one pass of the reconciler begins: deregistrations first, each in order of paths.

        Each counts as under way until `ended` is told, and nothing else is begun on its socket.

        Rules: DM-147
        """
        steps = tuple(step for step in self._open_steps() if not self._is_left_alone(step.path, now_s))
        first_of: dict[str, Step] = {}
        for step in steps:
            first_of.setdefault(step.path, step)
        self._under_way.update(first_of)
        return tuple(first_of.values())

    def next_pass_at_s(self, now_s: float) -> float | None:
        """When the next pass comes that can begin something; `None`: not before something happens. Rules: DM-147"""
        due = [
            max(now_s, self._back_off[step.path].over_at_s) if step.path in self._back_off else now_s
            for step in self._open_steps()
            if step.path not in self._under_way
        ]
        return self._pass_after(min(due)) if due else None

    def retried_at_s(self, path: str) -> float | None:
        """When a socket that failed is tried again, if nothing happens before."""
        back_off = self._back_off.get(path)
        return None if back_off is None else self._pass_after(back_off.over_at_s)

    def counts(self) -> Mapping[tuple[str, str], int]:
        """How many plugins there are by path and state, as `plugin_manager_total_plugins` has them. Rules: DM-161"""
        counted = {(path, REGISTERED): 1 for path in sorted(self._registered)}
        return counted | {(path, WANTED): 1 for path in sorted(self._wanted)}

    def _open_steps(self) -> Iterator[Step]:
        for path, known in sorted(self._registered.items()):
            if self._wanted.get(path) != known.appearance:
                yield Deregister(path, known.info)
        for path, appearance in sorted(self._wanted.items()):
            known_or_none = self._registered.get(path)
            if known_or_none is None or known_or_none.appearance != appearance:
                yield Register(path, appearance)

    def _is_left_alone(self, path: str, now_s: float) -> bool:
        back_off = self._back_off.get(path)
        return path in self._under_way or (back_off is not None and now_s <= back_off.over_at_s + _HARDLY_S)

    def _pass_after(self, at_s: float) -> float:
        """The first whole second since the beginning that comes after, never at, that time."""
        passed = math.floor((at_s - self._began_at_s) / PERIOD_S + _HARDLY_S)
        return self._began_at_s + (passed + 1) * PERIOD_S
