"""What differs between kubelet releases, as data. Code asks a switch of the profile, never a version number."""

from __future__ import annotations

from kubelet_sim.profiles.gates import with_gates
from kubelet_sim.profiles.profile import V1_36, Cdi, ClientKey, HealthNotices, Offer, Profile, Sidecars, Sweep
from kubelet_sim.profiles.releases import RELEASES, profile_of

__all__ = [
    "RELEASES",
    "V1_36",
    "Cdi",
    "ClientKey",
    "HealthNotices",
    "Offer",
    "Profile",
    "Sidecars",
    "Sweep",
    "profile_of",
    "with_gates",
]
