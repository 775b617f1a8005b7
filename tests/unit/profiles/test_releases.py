"""The table of releases, held against section 12 of the specification, rule by rule."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.profiles import (
    RELEASES,
    V1_36,
    Cdi,
    ClientKey,
    HealthNotices,
    Offer,
    Profile,
    Sidecars,
    Sweep,
    profile_of,
)
from kubelet_sim.profiles.switch_texts import SWITCHES

LATEST = "next"
CHANGES: dict[str, dict[str, object]] = {
    # By DM-163(a), DM-168(a)
    "register_waits_for_plugin": {"1.20": False, "1.25.0": True},
    # By DM-163(b), DM-168(b)
    "options_from_request": {"1.20": True, "1.25.0": False},
    # By DM-30, DM-178
    "register_context_reaches_plugin": {"1.20": False, "1.35": True},
    # By DM-163(c), DM-168(c), DM-180
    "clients_by": {"1.20": ClientKey.ENDPOINT, "1.25.0": ClientKey.RESOURCE, "next": ClientKey.SOCKET},
    # By DM-163(f), DM-169
    "authority_is_localhost": {"1.20": False, "1.26": True},
    # By DM-168(g), DM-172
    "disconnect_without_endpoint_crashes": {"1.20": False, "1.25.0": True, "1.29": False},
    # By DM-163(d), DM-164, DM-174, DM-176
    "sweep": {
        "1.20": Sweep.NOT_DIRECTORIES,
        "1.21": Sweep.NOT_DIRECTORIES_UNFOLLOWED,
        "1.31.0": Sweep.SOCKETS,
        "1.31": Sweep.NOT_DIRECTORIES_UNFOLLOWED,
        "1.33": Sweep.SOCKETS,
    },
    # By DM-163(d), DM-168(e)
    "failed_sweep_is_fatal": {"1.20": False, "1.25.0": True},
    # By DM-163(e), DM-168(d)
    "makes_deprecation_file": {"1.20": True, "1.25.0": False},
    # By DM-77, DM-163(j), DM-169
    "rejection_prefix": {"1.20": "Pod ", "1.26": "Pod was rejected: "},
    # By DM-163(g), DM-168(f)
    "spares_running_containers": {"1.20": False, "1.25": True},
    "checks_device_health": {"1.20": False, "1.25.10": True},
    "unregistered_text": {
        "1.20": "can't allocate unregistered device",
        "1.25.10": "cannot allocate unregistered device",
    },
    # By DM-110, DM-177, DM-178
    "any_running_container_counts": {"1.20": False, "1.34": True},
    # By DM-163(h), DM-164
    "zero_limit_matters_at_creation": {"1.20": True, "1.21": False},
    # By DM-167
    "late_allocation_for_active_only": {"1.20": False, "1.24": True},
    # By DM-174
    "unlisted_resources_dropped_for_init": {"1.20": False, "1.31.0": True},
    # By DM-114, DM-178
    "resizes_in_place": {"1.20": False, "1.33": True},
    "refused_resizes_are_deferred": {"1.20": False, "1.33": True, "1.36": False},
    "pinned_pods_resize_memory": {"1.20": False, "1.35": True},
    # By DM-99, DM-177
    "no_response_text_is_empty": {"1.20": False, "1.34": True},
    # By DM-59, DM-177
    "vanished_device_crashes": {"1.20": False, "1.34": True},
    # By DM-173
    "recount_while_asked_crashes": {"1.20": True, "1.30": False},
    # By DM-171, DM-172: alpha and off in 1.28
    "sidecars": {"1.20": Sidecars.UNKNOWN, "1.29": Sidecars.KEEP},
    # By DM-85, DM-178, DM-179: the gate is off before 1.36
    "skips_claimed_limits": {"1.20": False, "1.36": True},
    "predicates_skip_claimed": {"1.20": False, "1.36": True},
    # By DM-163(i), DM-166
    "numa_node_of_no_topology": {"1.20": 0, "1.23": -1},
    # By DM-56, DM-169
    "empty_topology_is_impossible": {"1.20": True, "1.26": False},
    # By DM-166
    "any_matching_node_aligns": {"1.20": False, "1.23": True},
    # By DM-120, DM-178
    "hints_on_device_nodes_only": {"1.20": False, "1.35": True},
    # By DM-144, DM-163(k), DM-165, DM-174
    "reads_checkpoint_before_1_20": {"1.20": False, "1.22": True, "1.31.0": False},
    # By DM-163(l), DM-166
    "node_status_stretch": {"1.20": 0.0, "1.23": 0.04},
    # By DM-171, DM-172, DM-175: alpha and off in 1.28
    "cdi": {"1.20": Cdi.NEVER, "1.29": Cdi.FIELD_AND_ANNOTATION, "1.32": Cdi.FIELD},
    # By DM-154: alpha and off from 1.31 to 1.35
    "health_notices": {"1.20": HealthNotices.NEVER, "1.36": HealthNotices.QUEUE},
    # By DM-151, DM-179
    "watcher_retries": {"1.20": False, "1.36": True},
    # By DM-175
    "has_device_plugin_check": {"1.20": False, "1.32": True},
    "counts_rejections": {"1.20": False, "1.32": True},
    # By PR-6
    "pod_resources_rate_limited": {"1.20": False, "1.27": True},
    # By PR-7 and the table of gates
    "pod_resources_get": {"1.20": Offer.ABSENT, "1.27": Offer.OFF, "1.34": Offer.ON},
    "pod_resources_allocatable": {"1.20": Offer.ABSENT, "1.21": Offer.OFF, "1.23": Offer.ON},
    "list_shows_active_pods_only": {"1.20": False, "1.34": True},
    # By DM-164, DM-166
    "allocatable_lists_unhealthy": {"1.20": True, "1.23": False},
}
"""By switch, from which release on it has which value."""


@pytest.mark.parametrize("name", SWITCHES)
def test_every_switch_changes_where_the_rules_say(name: str) -> None:
    """Each release has the value of the last change up to it.

    Rules: DM-163, DM-164, DM-165, DM-166, DM-167, DM-168, DM-169, DM-170, DM-171, DM-172, DM-173, DM-174, DM-175, DM-176,
    DM-177, DM-178, DM-179, DM-180
    """
    expected, value = {}, None
    for version in RELEASES:
        value = CHANGES[name].get(version, value)
        expected[version] = value
    assert {version: getattr(profile, name) for version, profile in RELEASES.items()} == expected


def test_the_releases_stand_in_order_under_their_own_names() -> None:
    """From 1.20 to what comes after 1.36, each minor release among them."""
    assert list(RELEASES) == [profile.version for profile in RELEASES.values()]
    assert {f"1.{minor}" for minor in range(20, 37)} <= RELEASES.keys()
    assert next(iter(RELEASES)) == "1.20"
    assert list(RELEASES)[-1] == LATEST


def test_the_latest_release_is_the_default() -> None:
    """Its switches are the defaults of a profile, and it stands for the release that was run."""
    assert RELEASES["1.36"] is V1_36
    assert Profile() == V1_36
    assert V1_36.stands_for == "v1.36.2"


def test_what_was_not_read_says_so() -> None:
    """Only 1.22 is known from its neighbours and from threads. Rules: DM-165"""
    assert [version for version, profile in RELEASES.items() if not profile.was_read] == ["1.22"]


def test_no_two_releases_stand_for_the_same() -> None:
    """Every profile names a patch release of its own."""
    names = [profile.stands_for for profile in RELEASES.values()]
    assert len(set(names)) == len(names)
    assert all(before != after for before, after in pairwise(RELEASES.values()))


@pytest.mark.parametrize(
    "asked, found",
    [
        ("1.36", "1.36"),
        ("v1.24", "1.24"),
        ("next", "next"),
        ("v1.30.4", "1.30"),
        ("v1.36.2+k3s1", "1.36"),
        ("1.29.3-gke.1282000", "1.29"),
        ("1.25.9", "1.25.0"),
        ("1.25.10", "1.25.10"),
        ("1.25.13", "1.25.10"),
        ("1.25.14", "1.25"),
        ("1.31.0", "1.31.0"),
        ("1.31.1", "1.31"),
    ],
)
def test_a_patch_release_gets_the_nearest_profile(asked: str, found: str) -> None:
    """What a node says of itself can be asked for; of 1.25 and 1.31 the patch decides. Rules: DM-168, DM-174"""
    assert profile_of(asked).version == found


@pytest.mark.parametrize("asked", ["", "1", "1.19", "1.37", "2.20", "1.36 ", "1.25.x", "latest"])
def test_an_unknown_release_is_refused(asked: str) -> None:
    """The error names those that there are."""
    with pytest.raises(UsageError, match=r"is not known; choose one of: 1\.20, .*, next"):
        profile_of(asked)
