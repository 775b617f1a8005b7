from __future__ import annotations

import pytest

from kubelet_sim.cli.helpers.container_on_node import own_variables

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
