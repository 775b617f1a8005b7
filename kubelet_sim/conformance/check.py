"""What a check is, and the table of all of them. A check is one small coroutine; what it says to people stands beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack

from attrs import frozen

from kubelet_sim.profiles import Profile
from kubelet_sim.rules import RULES

if TYPE_CHECKING:
    from kubelet_sim.conformance.check_context import CheckContext


class Level(Enum):
    """How bad a finding of a check is."""

    ERROR = "error"
    """Breaks on a real kubelet."""
    WARNING = "warning"
    """Works, but surprises."""
    INFO = "info"
    """Is reported only."""


class Need(Enum):
    """What a check cannot do without. A check whose need is not met is skipped, and says so."""

    BLACK_BOX = "B"
    """The plugin's sockets: always there."""
    HOOK = "H"
    """A command that breaks, mends, adds or removes a device, or does something else to the plugin's surroundings."""
    PROCESS = "P"
    """The plugin's process: its pid, its end, its output."""
    FILES = "F"
    """The files that the plugin sees."""
    SECOND = "M"
    """A second instance, or a second resource."""
    CONSUMER = "Z"
    """A consumer of the pod resources API instead of a plugin."""


class Stage(Enum):
    """How a check uses the plugin. The suite plays them side by side, or in this order if the plugin allows no second instance."""

    SHARED = "shared"
    """On the plugin that all such checks share: registered, idle. The check leaves it so."""
    RESTARTS = "restarts"
    """On another that all such checks share, with restarts of the kubelet and lost streams. It may have to be started again."""
    OWN = "own"
    """On an instance of its own, which the check starts, and may end."""


class Group(Enum):
    """A chapter of the catalogue of checks."""

    REGISTRATION = "Registration"
    LIFECYCLE = "Socket and process lifecycle"
    LISTING = "ListAndWatch"
    HEALTH = "Health and inventory"
    OPTIONS = "Options"
    PREFERRED = "Preferred allocation"
    ALLOCATE = "Allocate response"
    SPEC = "Container spec content"
    PRE_START = "PreStart"
    TOPOLOGY = "Topology"
    RESTART = "Restart and recovery"
    SCALE = "Concurrency and scale"
    SHUTDOWN = "Shutdown"
    NAMES = "Resource names"
    SECURITY = "Security"
    CONSUMERS = "Consumers of the pod resources API"

    def check(self, id_: str, title: str, **fields: Unpack[CheckFields]) -> Callable[[Run], Run]:
        """Put the decorated coroutine into the table as a check of this group; see the function of that name."""
        return check(id_, self, title, **fields)


Run = Callable[["CheckContext"], Awaitable[None]]
LIMIT_S = 120.0
"""How long a check may take, unless it says more."""


@frozen
class Check:
    """One check. `run` reports through its `CheckContext`; to return without a word is to pass."""

    id: str
    group: Group
    title: str
    """What holds when it passes, in one line."""
    level: Level
    """The worst finding it can make."""
    needs: frozenset[Need]
    what: str
    """What is done and looked at."""
    why: str
    """Why it matters, and how it fails on a real node."""
    fix: str
    """What to change in the plugin."""
    rules: tuple[str, ...]
    """Rules of the kubelet behind it; empty where the source is no kubelet."""
    source: str
    """The code of the kubelet, the API file, a document, or public reports."""
    run: Run
    stage: Stage = Stage.SHARED
    applies: Callable[[Profile], bool] = lambda _: True
    """To which kubelets it applies at all."""
    is_beyond: bool = False
    """Whether it does what no kubelet does: only on request, never above a warning."""
    is_quick: bool = False
    """Whether it is in the quick set: an error that can be seen from outside in a second."""
    hooks: tuple[str, ...] = ()
    """The commands that it cannot do without, of `kubelet_sim.conformance.config.HOOKS`."""
    observes: bool = False
    """Whether it looks at an idle plugin for a while. Those of the shared stage come first, and share the while."""
    leads: bool = False
    """Whether it comes before the others of its stage, since they cannot be judged where it fails."""
    needs_ready: bool = True
    """Whether a plugin that never got ready is no use to it; the others say why that is."""
    optional: frozenset[Need] = frozenset()
    """Of its needs those without which it makes one half of itself, and says so."""
    limit_s: float = LIMIT_S
    """How long it may take in real time, whatever the plugin does; beyond that it is broken off."""


_CHECKS: dict[str, Check] = {}
CHECKS = MappingProxyType(_CHECKS)
"""Every check by its id, in the order of the catalogue once `kubelet_sim.conformance.checks` is imported."""


class CheckFields(TypedDict, total=False):
    """What is said of a check where it is entered; the fields of `Check` by their names, sets and tuples as texts."""

    level: Required[Level]
    what: Required[str]
    why: Required[str]
    fix: Required[str]
    source: Required[str]
    needs: str
    """Letters of `Need`."""
    optional: str
    """Letters of `Need`, likewise."""
    stage: Stage
    rules: str
    """Parted by spaces."""
    hooks: str
    """Parted by spaces, likewise."""
    applies: Callable[[Profile], bool]
    is_beyond: bool
    is_quick: bool
    observes: bool
    leads: bool
    needs_ready: bool
    limit_s: float


def check(id_: str, group: Group, title: str, **fields: Unpack[CheckFields]) -> Callable[[Run], Run]:
    """Put the decorated coroutine into the table.

    Raises:
        ValueError: at import, for an id that is taken, a rule that there is not, or what does not go together.
    """
    given: dict[str, Any] = {"needs": "B", "optional": "", "rules": "", "hooks": "", **fields}
    for name in ("needs", "optional"):
        given[name] = frozenset(map(Need, given[name]))
    for name in ("rules", "hooks"):
        given[name] = tuple(given[name].split())

    def enter(run: Run) -> Run:
        if id_ in _CHECKS:
            raise ValueError(f"there are two checks of the id {id_}")
        entered = Check(id_, group, title, run=run, **given)
        if unknown := [rule for rule in entered.rules if rule not in RULES]:
            raise ValueError(f"{id_}: there is no rule {unknown[0]}")
        if entered.is_beyond and (entered.level is Level.ERROR or entered.stage is not Stage.OWN):
            raise ValueError(
                f"{id_}: what no kubelet does is never worse than a warning, and has an instance of its own"
            )
        _CHECKS[id_] = entered
        return run

    return enter


def in_order() -> Iterator[Check]:
    """Group by group, in each in the order of its module."""
    for group in Group:
        yield from (each for each in _CHECKS.values() if each.group is group)
