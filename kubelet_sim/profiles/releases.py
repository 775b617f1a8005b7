"""The releases there are, as data: each is the one after it, less what that one brought.

What is said of a release holds for the copy that it stands for; `x` is a patch that nobody wrote down. Where two patches of
a minor release differ, each has a profile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import evolve

from kubelet_sim.errors import UsageError
from kubelet_sim.profiles.profile import V1_36, Cdi, ClientKey, HealthNotices, Offer, Profile, Sidecars, Sweep

NEXT = evolve(V1_36, version="next", stands_for="after v1.36", clients_by=ClientKey.SOCKET)
"""A later state of the plugin server. Rules: DM-180"""


def _before(later: Profile, version: str, stands_for: str, **switches: Any) -> Profile:
    return evolve(later, version=version, stands_for=stands_for, **switches)


# Health in the pod's status, and claims for extended resources, are behind gates. Rules: DM-114, DM-154, DM-179
V1_35 = _before(
    V1_36,
    "1.35",
    "v1.35.6",
    health_notices=HealthNotices.NEVER,
    watcher_retries=False,
    skips_claimed_limits=False,
    predicates_skip_claimed=False,
    refused_resizes_are_deferred=True,
)
# The Register caller reaches no further than the answer. Rules: DM-114, DM-178
V1_34 = _before(
    V1_35,
    "1.34",
    "v1.34.9",
    register_context_reaches_plugin=False,
    hints_on_device_nodes_only=False,
    pinned_pods_resize_memory=False,
)
# The older protobuf library, and the older `List`. Rules: DM-177, PR-7
V1_33 = _before(
    V1_34,
    "1.33",
    "v1.33.13",
    any_running_container_counts=False,
    no_response_text_is_empty=False,
    vanished_device_crashes=False,
    pod_resources_get=Offer.OFF,
    list_shows_active_pods_only=False,
)
# Regular files are swept, too; resizes in place are behind a gate that is off. Rules: DM-114, DM-176
V1_32 = _before(
    V1_33,
    "1.32",
    "v1.32.13",
    sweep=Sweep.NOT_DIRECTORIES_UNFOLLOWED,
    resizes_in_place=False,
    refused_resizes_are_deferred=False,
)
# CDI by annotation; no health check, no count of rejections. Rules: DM-175
V1_31 = _before(
    V1_32,
    "1.31",
    "v1.31.14",
    cdi=Cdi.FIELD_AND_ANNOTATION,
    has_device_plugin_check=False,
    counts_rejections=False,
)
# Its sweep was taken back one patch later. Rules: DM-174
V1_31_0 = _before(V1_31, "1.31.0", "v1.31.0", sweep=Sweep.SOCKETS)
# The last that reads the oldest checkpoints. Rules: DM-174
V1_30 = _before(V1_31, "1.30", "v1.30.x", reads_checkpoint_before_1_20=True, unlisted_resources_dropped_for_init=False)
# A recount at the wrong moment is its end. Rules: DM-173
V1_29 = _before(V1_30, "1.29", "v1.29.x", recount_while_asked_crashes=True)
# CDI and sidecars are there, behind gates that are off. Rules: DM-171, DM-172
V1_28 = _before(
    V1_29,
    "1.28",
    "v1.28.x",
    cdi=Cdi.NEVER,
    sidecars=Sidecars.UNKNOWN,
    disconnect_without_endpoint_crashes=True,
)
# With those gates off, 1.28 makes no difference. Rules: DM-171
V1_27 = _before(V1_28, "1.27", "v1.27.x")
# Pod resources: no rate limit, and no `Get`. Rules: DM-170, PR-6, PR-7
V1_26 = _before(V1_27, "1.26", "v1.26.x", pod_resources_rate_limited=False, pod_resources_get=Offer.ABSENT)
# The last patches of 1.25. Rules: DM-168, DM-169
V1_25 = _before(
    V1_26,
    "1.25",
    "v1.25.14",
    authority_is_localhost=False,
    rejection_prefix="Pod ",
    empty_topology_is_impossible=True,
)
# Between two back-ports: what runs is checked like everything else. Rules: DM-168
V1_25_10 = _before(V1_25, "1.25.10", "v1.25.10", spares_running_containers=False)
# Before them. Rules: DM-168
V1_25_0 = _before(
    V1_25_10,
    "1.25.0",
    "v1.25.0",
    checks_device_health=False,
    unregistered_text="can't allocate unregistered device",
)
# Before the rework: register first, serve later. Rules: DM-163, DM-168
V1_24 = _before(
    V1_25_0,
    "1.24",
    "v1.24.0",
    register_waits_for_plugin=False,
    options_from_request=True,
    clients_by=ClientKey.ENDPOINT,
    disconnect_without_endpoint_crashes=False,
    failed_sweep_is_fatal=False,
    makes_deprecation_file=True,
)
# Any pod is allocated to late. Rules: DM-167
V1_23 = _before(V1_24, "1.23", "v1.23.x", late_allocation_for_active_only=False)
# Not read: as 1.21, but for what threads say of it. Rules: DM-165
V1_22 = _before(
    V1_23,
    "1.22",
    "v1.22.x",
    was_read=False,
    numa_node_of_no_topology=0,
    any_matching_node_aligns=False,
    allocatable_lists_unhealthy=True,
    pod_resources_allocatable=Offer.OFF,
    node_status_stretch=0.0,
)
# No reader for older checkpoints. Rules: DM-165, DM-166
V1_21 = _before(V1_22, "1.21", "v1.21.1", was_read=True, reads_checkpoint_before_1_20=False)
# The oldest that there is here. Rules: DM-163, DM-164
V1_20 = _before(
    V1_21,
    "1.20",
    "v1.20.0",
    zero_limit_matters_at_creation=True,
    sweep=Sweep.NOT_DIRECTORIES,
    pod_resources_allocatable=Offer.ABSENT,
)

RELEASES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.version: profile
        for profile in (
            V1_20,
            V1_21,
            V1_22,
            V1_23,
            V1_24,
            V1_25_0,
            V1_25_10,
            V1_25,
            V1_26,
            V1_27,
            V1_28,
            V1_29,
            V1_30,
            V1_31_0,
            V1_31,
            V1_32,
            V1_33,
            V1_34,
            V1_35,
            V1_36,
            NEXT,
        )
    }
)
"""Oldest first."""

_VERSION = re.compile(r"1\.([0-9]{1,3})(?:\.([0-9]{1,4}))?(?:[-+].*)?")
_EARLIER_PATCHES = {25: ((9, V1_25_0), (13, V1_25_10)), 31: ((0, V1_31_0),)}
"""By minor release: up to which patch which profile holds; after the last of them the one of the minor release."""


def profile_of(version: str) -> Profile:
    """The profile of a release such as `1.36` or `next`; a leading `v` is fine.

    A patch release, such as `v1.30.4` or what a node of some distribution says of itself, gets the profile that is
    nearest to it. Of 1.25 and 1.31 that depends on the patch.

    Raises:
        UsageError: for a release that we do not know.

    Rules: DM-168, DM-174
    """
    wanted = version.removeprefix("v")
    if wanted in RELEASES:
        return RELEASES[wanted]
    if match := _VERSION.fullmatch(wanted):
        minor = int(match[1])
        for last_patch, profile in _EARLIER_PATCHES.get(minor, ()) if match[2] else ():
            if int(match[2]) <= last_patch:
                return profile
        if (release := f"1.{minor}") in RELEASES:
            return RELEASES[release]
    known = ", ".join(RELEASES)
    raise UsageError(f"kubelet version {version!r} is not known; choose one of: {known}")


def minor_of(profile: Profile) -> int:
    """The number of its minor release; for `next`, the one after the last. For tables only: code asks switches."""
    return minor_number(profile.version)


def minor_number(version: str) -> int:
    """The same for the version of a profile."""
    return minor_number(V1_36.version) + 1 if version == NEXT.version else int(version.split(".")[1])
