"""The frozen profile and the releases there are.

Only v1.36 for now; each switch is there because code asks it. Earlier releases come as further values, not as code.
"""

from __future__ import annotations

from attrs import frozen

from kubelet_sim.errors import UsageError


@frozen
class Profile:
    """The named switches of one kubelet release."""

    version: str
    """The minor release, as people write it: `1.36`."""
    stands_for: str
    """The patch release that was read or run."""
    rejection_prefix: str = "Pod was rejected: "
    """What precedes the message in the pod's status. Rules: DM-77"""
    register_context_reaches_plugin: bool = True
    """Whether the caller's deadline and departure end the dial and the options call. Rules: DM-30"""
    node_status_stretch: float = 0.04
    """Each node status period is stretched by a random part of itself, up to this. Rules: DM-65"""


V1_36 = Profile(version="1.36", stands_for="v1.36.2")
_ALL = {profile.version: profile for profile in (V1_36,)}


def profile_of(version: str) -> Profile:
    """The profile of a minor release such as `1.36`; a leading `v` is fine.

    Raises:
        UsageError: for a release that we do not know.
    """
    try:
        return _ALL[version.removeprefix("v")]
    except KeyError:
        known = ", ".join(_ALL)
        raise UsageError(f"kubelet version {version!r} is not known; choose one of: {known}") from None
