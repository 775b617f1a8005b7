"""What a check is, and the table of all of them. A check is one small coroutine; what it says to people stands beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from attrs import frozen

from kubelet_sim.profiles import Profile
from kubelet_sim.rules import RULES

if TYPE_CHECKING:
    from kubelet_sim.conformance.bench import Bench


class Level(Enum):
    """How bad a finding is."""

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
    """The chapters of the catalogue."""

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


Run = Callable[["Bench"], Awaitable[None]]
LIMIT_S = 120.0
"""How long a check may take, unless it says more."""


@frozen
class Check:
    """One check. `run` reports through its bench; to return without a word is to pass."""

    id: str
    group: Group
    title: str
    """What holds when it passes, in one line."""
    level: Level
    """The worst finding it can make."""
    needs: frozenset[Need]
    stage: Stage
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
    applies: Callable[[Profile], bool]
    """To which kubelets it applies at all."""
    is_beyond: bool
    """Whether it does what no kubelet does: only on request, never above a warning."""
    is_quick: bool
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


def check(  # noqa: PLR0913 - as many as there is to say of a check
    id_: str,
    group: Group,
    title: str,
    *,
    level: Level,
    what: str,
    why: str,
    fix: str,
    source: str,
    needs: str = "B",
    stage: Stage = Stage.SHARED,
    rules: str = "",
    applies: Callable[[Profile], bool] = lambda _: True,
    is_beyond: bool = False,
    is_quick: bool = False,
    hooks: str = "",
    observes: bool = False,
    leads: bool = False,
    needs_ready: bool = True,
    optional: str = "",
    limit_s: float = LIMIT_S,
) -> Callable[[Run], Run]:
    """Put the decorated coroutine into the table. `needs` and `optional` are letters of `Need`, `rules` and `hooks` are parted by spaces.

    Raises:
        ValueError: at import, for an id that is taken, a rule that there is not, or what does not go together.
    """

    def enter(run: Run) -> Run:
        if id_ in _CHECKS:
            raise ValueError(f"there are two checks of the id {id_}")
        if unknown := [rule for rule in rules.split() if rule not in RULES]:
            raise ValueError(f"{id_}: there is no rule {unknown[0]}")
        if is_beyond and (level is Level.ERROR or stage is not Stage.OWN):
            raise ValueError(
                f"{id_}: what no kubelet does is never worse than a warning, and has an instance of its own"
            )
        _CHECKS[id_] = Check(
            id_,
            group,
            title,
            level,
            frozenset(map(Need, needs)),
            stage,
            what,
            why,
            fix,
            tuple(rules.split()),
            source,
            run,
            applies,
            is_beyond,
            is_quick,
            tuple(hooks.split()),
            observes,
            leads,
            needs_ready,
            frozenset(map(Need, optional)),
            limit_s,
        )
        return run

    return enter


def in_order() -> Iterator[Check]:
    """Group by group, in each in the order of its module."""
    for group in Group:
        yield from (each for each in _CHECKS.values() if each.group is group)
