from __future__ import annotations

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.profiles import RELEASES, Cdi, HealthNotices, Offer, Sidecars, profile_of, with_gates
from kubelet_sim.profiles.gates import GATES, GateStage, gates_of, known_gates, without_effect
from kubelet_sim.rules import RULES

ROWS = {
    # The table of section 12.1, from 1.20 to 1.36: a, b, g for alpha, beta, GA; "-" gone, "." not there yet.
    "DevicePlugins": "bbbbbbgg---------",
    "TopologyManager": "bbbbbbbgg--------",
    "KubeletPodResources": "bbbbbbbbgg-------",
    "KubeletPodResourcesGetAllocatable": ".a?bbbbbg--------",
    "KubeletPodResourcesGet": ".......aaaaaaabbg",
    "KubeletPodResourcesDynamicResources": ".......aaaaaaabbg",
    "SidecarContainers": "........abbbbgggg",
    "DevicePluginCDIDevices": "........abbggg---",
    "ResourceHealthStatus": "...........aaaaab",
    "DRAExtendedResource": "..............aab",
    "PodLevelResourceManagers": "................a",
}
WORDS = {"a": "alpha", "b": "beta", "g": "GA"}


@pytest.mark.parametrize("name", ROWS)
def test_stages_are_those_of_the_table(name: str) -> None:
    """Alpha is off, beta is on, GA is on and locked. Rules: DM-154, DM-171, DM-172, PR-7"""
    for minor, letter in enumerate(ROWS[name], start=20):
        if letter == "?":
            continue
        found = gates_of(RELEASES[f"1.{minor}"]).get(name)
        expected = WORDS.get(letter)
        assert (found.word if found else None) == expected, f"1.{minor}"
        if found:
            assert (found.default, found.is_locked) == (letter != "a", letter == "g"), f"1.{minor}"


@pytest.mark.parametrize("version", RELEASES)
def test_gates_at_their_defaults_change_nothing(version: str) -> None:
    """A profile has its release's gates at their defaults, so naming those is no change."""
    profile = RELEASES[version]
    defaults = {name: stage.default for name, stage in gates_of(profile).items()}
    assert with_gates(profile, defaults) == profile
    assert with_gates(profile, {}) == profile


@pytest.mark.parametrize("version", RELEASES)
def test_a_profile_agrees_with_the_defaults_of_its_gates(version: str) -> None:
    """What a gate moves stands in the profile as its default has it."""
    profile = RELEASES[version]
    for name, stage in gates_of(profile).items():
        moves = GATES[name].moves
        if moves is not None:
            minor = 37 if version == "next" else int(version.split(".")[1])
            for switch, value in moves(minor, stage.default).items():
                assert getattr(profile, switch) == value, (name, switch)


@pytest.mark.parametrize(
    "version, gates, switch, value",
    [
        ("1.31", {"ResourceHealthStatus": True}, "health_notices", HealthNotices.BLOCK),
        ("1.32", {"ResourceHealthStatus": True}, "health_notices", HealthNotices.QUEUE),
        ("1.28", {"DevicePluginCDIDevices": True}, "cdi", Cdi.FIELD_AND_ANNOTATION),
        ("1.29", {"DevicePluginCDIDevices": False}, "cdi", Cdi.NEVER),
        ("1.28", {"SidecarContainers": True}, "sidecars", Sidecars.GIVE_AWAY),
        ("1.32", {"SidecarContainers": False}, "sidecars", Sidecars.UNKNOWN),
        ("1.27", {"KubeletPodResourcesGet": True}, "pod_resources_get", Offer.ON),
        ("1.35", {"KubeletPodResourcesGet": False}, "pod_resources_get", Offer.OFF),
        ("1.21", {"KubeletPodResourcesGetAllocatable": True}, "pod_resources_allocatable", Offer.ON),
        ("1.36", {"KubeletPodResourcesListUseActivePods": False}, "list_shows_active_pods_only", False),
        ("1.36", {"DRAExtendedResource": False}, "skips_claimed_limits", False),
        ("1.36", {"DRAExtendedResource": False}, "predicates_skip_claimed", False),
        ("1.35", {"DRAExtendedResource": True}, "skips_claimed_limits", True),
        ("1.35", {"DRAExtendedResource": True}, "predicates_skip_claimed", False),
        ("1.34", {"DRAExtendedResource": True}, "skips_claimed_limits", False),
        (
            "1.36",
            {"ResourceHealthStatus": False, "ResourceHealthStatusMessage": False},
            "health_notices",
            HealthNotices.NEVER,
        ),
        ("1.35", {"AllAlpha": True}, "health_notices", HealthNotices.QUEUE),
        ("1.35", {"AllAlpha": True, "ResourceHealthStatus": False}, "health_notices", HealthNotices.NEVER),
        ("1.32", {"AllBeta": False}, "sidecars", Sidecars.UNKNOWN),
    ],
)
def test_a_gate_moves_its_switches(version: str, gates: dict[str, bool], switch: str, value: object) -> None:
    """Turning a gate moves what the release makes of it. Rules: DM-85, DM-154, DM-164, DM-171, DM-172, DM-174, PR-7"""
    turned = with_gates(profile_of(version), gates)
    assert getattr(turned, switch) == value
    assert turned.version == version


@pytest.mark.parametrize(
    "version, gates, text",
    [
        ("1.36", {"NodeSwap": True}, "unrecognized feature gate: NodeSwap"),
        (
            "1.34",
            {"DevicePluginCDIDevices": False},
            r"unrecognized feature gate: DevicePluginCDIDevices \(kubelet 1\.34 does not .* releases 1\.28 to 1\.33 do\)",
        ),
        ("1.30", {"ResourceHealthStatus": False}, "unrecognized feature gate: ResourceHealthStatus"),
        ("1.26", {"DevicePlugins": False}, "cannot set feature gate DevicePlugins to false, feature is locked to true"),
        (
            "1.36",
            {"ResourceHealthStatus": False},
            r"ResourceHealthStatusMessage is enabled, but depends on .* that are disabled: \[ResourceHealthStatus\]",
        ),
    ],
)
def test_a_kubelet_refuses_what_it_would(version: str, gates: dict[str, bool], text: str) -> None:
    """Gates that are not there, are locked or are needed by others are refused in its words. Rules: DM-154"""
    with pytest.raises(UsageError, match=text):
        with_gates(profile_of(version), gates)


def test_a_locked_gate_may_be_named_as_it_is() -> None:
    """Saying what is so is no mistake."""
    assert with_gates(profile_of("1.33"), {"SidecarContainers": True}) == profile_of("1.33")


def test_gates_that_change_nothing_are_told() -> None:
    """Those of other parts of a kubelet, and those that kubelet-sim does not follow."""
    gates = {"NodeSwap": True, "TopologyManager": True, "SidecarContainers": True, "AllBeta": True}
    assert without_effect(gates) == ("NodeSwap", "TopologyManager")
    assert known_gates(gates) == {"TopologyManager": True, "SidecarContainers": True, "AllBeta": True}


def test_every_gate_names_its_rules() -> None:
    """A gate is followed, or not, for a reason that can be looked up."""
    assert all(gate.rules and set(gate.rules) <= RULES.keys() for gate in GATES.values())
    assert all(isinstance(stage, GateStage) for stage in gates_of(RELEASES["1.28"]).values())
