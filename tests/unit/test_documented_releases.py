"""What `docs/how-to/try-another-release.md` types and claims is so."""

from __future__ import annotations

import re
from pathlib import Path

from kubelet_sim.profiles import RELEASES, Cdi, ClientKey, Sweep, profile_of, with_gates

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "try-another-release.md").read_text(encoding="utf-8")


def test_releases_and_gates_of_the_page_are_there() -> None:
    """Each command can be typed as it stands."""
    commands = re.findall(r"run --kubelet-version (\S+)(?: --feature-gates (\w+)=true)?", PAGE)
    assert len(commands) == 4
    for version, gate in commands:
        assert with_gates(profile_of(version), {gate: True} if gate else {}) is not None


def test_the_claims_of_the_page_hold() -> None:
    """Its table is what the profiles say. Rules: DM-163, DM-168, DM-171, DM-174, DM-176, DM-180"""
    assert not profile_of("1.24").register_waits_for_plugin
    assert profile_of("1.24").makes_deprecation_file
    assert profile_of("1.25.10").checks_device_health
    assert not profile_of("1.25.10").spares_running_containers
    annotated = [version for version, profile in RELEASES.items() if profile.cdi is Cdi.FIELD_AND_ANNOTATION]
    assert annotated == ["1.29", "1.30", "1.31.0", "1.31"]
    spares = [version for version, profile in RELEASES.items() if profile.sweep is Sweep.SOCKETS]
    assert spares == ["1.31.0", "1.33", "1.34", "1.35", "1.36", "next"]
    assert (profile_of("1.36").clients_by, profile_of("next").clients_by) == (ClientKey.RESOURCE, ClientKey.SOCKET)
