"""The releases there are."""

from __future__ import annotations

from kubelet_sim.errors import UsageError
from kubelet_sim.profiles.profile import V1_36, Profile

RELEASES = {profile.version: profile for profile in (V1_36,)}


def profile_of(version: str) -> Profile:
    """The profile of a release such as `1.36`; a leading `v` is fine.

    Raises:
        UsageError: for a release that we do not know.
    """
    try:
        return RELEASES[version.removeprefix("v")]
    except KeyError:
        known = ", ".join(RELEASES)
        raise UsageError(f"kubelet version {version!r} is not known; choose one of: {known}") from None
