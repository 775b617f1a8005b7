from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.cli.helpers.container_on_node import own_variables, profile_on
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.profiles import Cdi, profile_of, with_gates

MANIFEST = {
    "spec": {
        "containers": [{"name": "main", "env": [{"name": "A", "value": "1"}, {"name": "B"}]}, {"name": "bare"}],
        "initContainers": [{"name": "first", "env": [{"name": "C"}]}],
    }
}


@pytest.mark.parametrize(
    "container, names", [(None, {"A", "B"}), ("main", {"A", "B"}), ("bare", set()), ("first", {"C"})]
)
def test_variables_of_the_pod_itself(container: str | None, names: set[str]) -> None:
    """Those of the container that is meant, of whatever kind it is."""
    assert own_variables(MANIFEST, container) == names


def test_a_pod_without_a_manifest_sets_nothing() -> None:
    """A program may have made it from values."""
    assert own_variables({"metadata": {"name": "p"}}, None) == set()


@pytest.mark.parametrize("env", [{"A": "b"}, "A", 5, ["A"], [{"value": "x"}], [{"name": ["A"]}], [None]])
def test_what_is_no_variable(env: object) -> None:
    """A manifest may hold anything there: the node does not look at it."""
    spec = {"containers": [{"name": "main", "env": env}]}
    assert own_variables({"spec": spec}, "main") == set()


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
