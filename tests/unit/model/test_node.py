"""What a node may be called."""

from __future__ import annotations

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.model.node import checked_node_name


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a.", "a" * 254])
def test_a_name_that_no_node_can_have(name: str) -> None:
    """A node's name is one that DNS can have."""
    with pytest.raises(UsageError, match="is no node name: expected lower-case letters"):
        checked_node_name(name)


@pytest.mark.parametrize("name", ["a", "kubelet-sim", "a.b-1.c", "a" * 253])
def test_a_name_that_a_node_can_have(name: str) -> None:
    """Labels with dots in between."""
    assert checked_node_name(name) == name
