from __future__ import annotations

from kubelet_sim.present.trace.moves import PLUGIN, Lane


def test_a_plugin_that_gave_no_name_has_a_lane_with_one() -> None:
    """Register without a resource is refused, and drawn."""
    assert Lane(PLUGIN).label == "a plugin without a name"
