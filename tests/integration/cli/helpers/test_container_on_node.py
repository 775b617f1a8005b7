from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.cli.helpers.container_on_node import profile_on
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.profiles import Cdi, profile_of, with_gates


@pytest.mark.parametrize(
    "version, gates, cdi",
    [
        ("1.28", {}, Cdi.NEVER),
        ("1.28", {"DevicePluginCDIDevices": True}, Cdi.FIELD_AND_ANNOTATION),
        ("1.30", {"DevicePluginCDIDevices": False}, Cdi.NEVER),
        ("next", {}, Cdi.FIELD),
    ],
)
def test_a_container_is_as_the_release_and_its_gates_make_it(
    short_root: Path, version: str, gates: dict[str, bool], cdi: Cdi
) -> None:
    """A command that shows one asks the node, whose gates nobody else knows. Rules: DM-132, DM-133, DM-171"""
    profile = with_gates(profile_of(version), gates)
    shown = profile_on(Node(NodeConfig(root=short_root, profile=profile)).status())
    assert (shown.cdi, shown.version) == (cdi, version)
