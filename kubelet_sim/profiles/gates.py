"""The feature gates that concern devices: which release has which, in which stage, and what turning one does.

A gate of a release is at its default until somebody turns it; what turns is switches of a profile. Gates of other parts of
a kubelet are not known here: who reads a whole configuration looks at `GATES` first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import evolve, field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.profiles.profile import Cdi, HealthNotices, Offer, Profile, Sidecars
from kubelet_sim.profiles.releases import RELEASES, minor_number, minor_of

ALPHA, BETA, GA, DEPRECATED = "alpha", "beta", "GA", "deprecated"


@frozen
class GateStage:
    """What a gate is in one release."""

    word: str
    default: bool
    is_locked: bool = False
    """Whether a kubelet refuses to turn it."""

    @property
    def text(self) -> str:
        """`alpha, off` or `GA, on, locked`."""
        return f"{self.word}, {'on' if self.default else 'off'}{', locked' if self.is_locked else ''}"


_OFF, _ON, _LOCKED = (
    GateStage(ALPHA, default=False),
    GateStage(BETA, default=True),
    GateStage(GA, default=True, is_locked=True),
)
_Moves = Callable[[int, bool], Mapping[str, Any]]
"""From a minor release, and whether the gate is on, to switches and their values."""


@frozen
class Gate:
    """A feature gate of the kubelet that concerns devices."""

    name: str
    stages: Mapping[int, GateStage | None] = field(hash=False)
    """By the minor release from which on it is so; `None`: there is no such gate any more."""
    rules: tuple[str, ...] = ()
    moves: _Moves | None = None
    """`None`: nothing that kubelet-sim follows depends on it."""

    def stage(self, minor: int) -> GateStage | None:
        """What it is in that release; `None` if that release has no such gate."""
        known = [since for since in self.stages if since <= minor]
        return self.stages[max(known)] if known else None


def _health(minor: int, is_on: bool) -> Mapping[str, Any]:  # noqa: FBT001 - the signature of every move
    queue = HealthNotices.BLOCK if minor == 31 else HealthNotices.QUEUE  # noqa: PLR2004 - Rules: DM-174, DM-175
    return {"health_notices": queue if is_on else HealthNotices.NEVER}


def _cdi(minor: int, is_on: bool) -> Mapping[str, Any]:  # noqa: FBT001
    how = Cdi.FIELD_AND_ANNOTATION if minor <= 31 else Cdi.FIELD  # noqa: PLR2004 - Rules: DM-133, DM-175
    return {"cdi": how if is_on else Cdi.NEVER}


def _sidecars(minor: int, is_on: bool) -> Mapping[str, Any]:  # noqa: FBT001
    what = Sidecars.GIVE_AWAY if minor == 28 else Sidecars.KEEP  # noqa: PLR2004 - Rules: DM-171, DM-172
    return {"sidecars": what if is_on else Sidecars.UNKNOWN}


def _claims(minor: int, is_on: bool) -> Mapping[str, Any]:  # noqa: FBT001
    since_35, since_36 = minor >= 35, minor >= 36  # noqa: PLR2004 - Rules: DM-85, DM-178, DM-179
    return {"skips_claimed_limits": is_on and since_35, "predicates_skip_claimed": is_on and since_36}


def _switch(name: str) -> _Moves:
    return lambda _, is_on: {name: is_on}


def _offer(name: str) -> _Moves:
    return lambda _, is_on: {name: Offer.ON if is_on else Offer.OFF}


GATES: Mapping[str, Gate] = MappingProxyType(
    {
        gate.name: gate
        for gate in (
            Gate("DRAExtendedResource", {34: _OFF, 36: _ON}, ("DM-85", "DM-179"), _claims),
            Gate("DevicePluginCDIDevices", {28: _OFF, 29: _ON, 31: _LOCKED, 34: None}, ("DM-133", "DM-171"), _cdi),
            Gate("DevicePlugins", {20: _ON, 26: _LOCKED, 28: None}, ("DM-169",)),
            Gate(
                "DynamicResourceAllocation",
                {26: _OFF, 32: GateStage(BETA, default=False), 34: GateStage(GA, default=True), 35: _LOCKED},
                ("DM-154", "PR-29"),
            ),
            Gate("KubeletPodResources", {20: _ON, 28: _LOCKED, 30: None}, ("PR-7",)),
            Gate("KubeletPodResourcesDynamicResources", {27: _OFF, 34: _ON, 36: _LOCKED}, ("PR-7",)),
            Gate("KubeletPodResourcesGet", {27: _OFF, 34: _ON, 36: _LOCKED}, ("PR-7",), _offer("pod_resources_get")),
            Gate(
                "KubeletPodResourcesGetAllocatable",
                {21: _OFF, 23: _ON, 28: _LOCKED, 29: None},
                ("DM-164", "PR-20"),
                _offer("pod_resources_allocatable"),
            ),
            Gate(
                "KubeletPodResourcesListUseActivePods",
                {34: GateStage(DEPRECATED, default=True)},
                ("PR-7", "PR-11"),
                _switch("list_shows_active_pods_only"),
            ),
            Gate("PodLevelResourceManagers", {36: _OFF}, ("DM-76", "TM-47")),
            Gate("ResourceHealthStatus", {31: _OFF, 36: _ON}, ("DM-154", "DM-157"), _health),
            Gate("ResourceHealthStatusMessage", {36: _ON}, ("DM-154",)),
            Gate("SidecarContainers", {28: _OFF, 29: _ON, 33: _LOCKED}, ("DM-171", "DM-172"), _sidecars),
            Gate("TopologyManager", {20: _ON, 27: _LOCKED, 29: None}, ("DM-170",)),
        )
    }
)
"""By name. Rules: DM-154, DM-163…DM-179"""

_NEEDS: Mapping[str, str] = MappingProxyType(
    {
        "DRAExtendedResource": "DynamicResourceAllocation",
        "ResourceHealthStatus": "DynamicResourceAllocation",
        "ResourceHealthStatusMessage": "ResourceHealthStatus",
    }
)
_CHECKED_SINCE = 36
"""The release that was seen to refuse a gate whose need is off. Rules: DM-154"""
_ALL = {"AllAlpha": ALPHA, "AllBeta": BETA}


def gates_of(profile: Profile) -> dict[str, GateStage]:
    """The gates that a release has, by name, sorted."""
    found = {name: gate.stage(minor_of(profile)) for name, gate in sorted(GATES.items())}
    return {name: stage for name, stage in found.items() if stage is not None}


@frozen
class GateMoved:
    """A gate that two releases have in different stages; a release without it has `None`."""

    gate: Gate
    before: GateStage | None
    after: GateStage | None

    @property
    def text(self) -> str:
        """What became of the gate in the later release, as a sentence."""
        if self.after is None:
            return f"The feature gate `{self.gate.name}` is gone: whoever turns it keeps the kubelet from starting."
        if self.before is None:
            return f"The feature gate `{self.gate.name}` is there: {self.after.text}."
        return f"The feature gate `{self.gate.name}` is {self.after.text}; it was {self.before.text}."


def gates_moved(before: Profile, after: Profile) -> tuple[GateMoved, ...]:
    """The gates that differ between two releases, by name, sorted. Rules: DM-154, DM-163…DM-179"""
    older, newer = gates_of(before), gates_of(after)
    names = [name for name in sorted(older.keys() | newer.keys()) if older.get(name) != newer.get(name)]
    return tuple(GateMoved(GATES[name], older.get(name), newer.get(name)) for name in names)


def with_gates(profile: Profile, gates: Mapping[str, bool]) -> Profile:
    """The profile of a release, with some of its gates turned; `AllAlpha` and `AllBeta` turn those that are not named.

    Raises:
        UsageError: in the kubelet's words: a gate that it does not have, that is locked, or whose need is off.

    Rules: DM-85, DM-154, DM-164, DM-171, DM-172, PR-7
    """
    known = gates_of(profile)
    for name, is_on in sorted(gates.items()):
        if name not in _ALL:
            _check(profile, known, name, is_on=is_on)
    state = {name: _state(name, stage, gates) for name, stage in known.items()}
    if minor_of(profile) >= _CHECKED_SINCE:
        _check_needs(state)
    switches: dict[str, Any] = {}
    for name, is_on in state.items():
        moves = GATES[name].moves
        if moves is not None and is_on != known[name].default:
            switches.update(moves(minor_of(profile), is_on))
    return evolve(profile, **switches)


def known_gates(gates: Mapping[str, bool]) -> dict[str, bool]:
    """Those among them that some release has and that concern devices, in their order."""
    return {name: is_on for name, is_on in gates.items() if name in GATES or name in _ALL}


def without_effect(gates: Mapping[str, bool]) -> tuple[str, ...]:
    """The names among them that change nothing of what kubelet-sim follows, sorted; unknown ones included."""
    return tuple(sorted(name for name in gates if name not in _ALL and not _moves_something(name)))


def _moves_something(name: str) -> bool:
    return name in GATES and GATES[name].moves is not None


def _state(name: str, stage: GateStage, gates: Mapping[str, bool]) -> bool:
    if name in gates:
        return gates[name]
    for all_of, word in _ALL.items():
        if all_of in gates and stage.word == word:
            return gates[all_of]
    return stage.default


def _check(profile: Profile, known: Mapping[str, GateStage], name: str, *, is_on: bool) -> None:
    if name not in known:
        raise UsageError(f"unrecognized feature gate: {name}{_where(profile, name)}")
    if known[name].is_locked and is_on != known[name].default:
        wanted, locked = str(is_on).lower(), str(known[name].default).lower()
        raise UsageError(f"cannot set feature gate {name} to {wanted}, feature is locked to {locked}")


def _where(profile: Profile, name: str) -> str:
    """Our own words behind the kubelet's: which releases have it."""
    if name not in GATES:
        return f" (known here: {', '.join(gates_of(profile))})"
    having = [version for version in RELEASES if GATES[name].stage(minor_number(version)) is not None]
    return f" (kubelet {profile.version} does not have it; releases {having[0]} to {having[-1]} do)"


def _check_needs(state: Mapping[str, bool]) -> None:
    """Raises `UsageError` for a gate that is on while one that it depends on is off. Rules: DM-154"""
    for name, need in _NEEDS.items():
        if state.get(name) and not state.get(need, True):
            raise UsageError(f"{name} is enabled, but depends on features that are disabled: [{need}]")
