from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.node.applying import new_pods
from kubelet_sim.node.pods import PodTable


def manifest(name: str, image: str = "x", **metadata: str) -> dict[str, Any]:
    """A pod of one container."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }


def table(*manifests: dict[str, Any]) -> PodTable:
    """A node's pods."""
    made = PodTable()
    for each in manifests:
        made.add(pod_from_mapping(each))
    return made


def test_what_is_there_already_is_left_alone() -> None:
    """Answers come in the order of the manifests; the uid that each reading makes up does not count."""
    pods, answers = new_pods([manifest("b"), manifest("a")], table(manifest("a")))
    assert [pod.name for pod in pods] == ["b"]
    assert answers == (AppliedPod("b", "default", created=True), AppliedPod("a", "default", created=False))


def test_another_pod_of_that_name_is_not_passed_over() -> None:
    """It is to be added, which the table refuses."""
    known = table(manifest("a"))
    (pod,), _ = new_pods([manifest("a", image="y")], known)
    with pytest.raises(UsageError, match="already exists"):
        known.add(pod)


def test_one_name_in_two_namespaces_is_two_pods() -> None:
    """Names are unique within a namespace."""
    pods, _ = new_pods([manifest("a"), manifest("a", namespace="n")], table())
    assert [pod.key for pod in pods] == ["default/a", "n/a"]


def test_a_pod_that_stands_there_twice_is_refused() -> None:
    """Whether it says the same or not, and whether it is there already or not."""
    with pytest.raises(UsageError, match="twice"):
        new_pods([manifest("a"), manifest("a")], table(manifest("a")))


def test_what_is_no_pod_is_refused() -> None:
    """Nothing is half returned."""
    with pytest.raises(UsageError, match="kind"):
        new_pods([manifest("a"), {"kind": "Service"}], table())
