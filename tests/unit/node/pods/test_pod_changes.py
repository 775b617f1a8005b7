from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.node.pods.pod_changes import sorted_out
from kubelet_sim.node.pods.pod_table import PodTable
from kubelet_sim.profiles import V1_36, profile_of


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
    pods, resized, answers = sorted_out([manifest("b"), manifest("a")], table(manifest("a")), V1_36)
    assert resized == []
    assert [pod.name for pod in pods] == ["b"]
    assert answers == (AppliedPod("b", "default", created=True), AppliedPod("a", "default", created=False))


def test_another_pod_of_that_name_is_not_passed_over() -> None:
    """It is to be added, which the table refuses."""
    known = table(manifest("a"))
    (pod,), _, _ = sorted_out([manifest("a", image="y")], known, V1_36)
    with pytest.raises(UsageError, match="already exists"):
        known.add(pod)


def test_one_name_in_two_namespaces_is_two_pods() -> None:
    """Names are unique within a namespace."""
    pods, _, _ = sorted_out([manifest("a"), manifest("a", namespace="n")], table(), V1_36)
    assert [pod.key for pod in pods] == ["default/a", "n/a"]


def test_a_pod_that_stands_there_twice_is_refused() -> None:
    """Whether it says the same or not, and whether it is there already or not."""
    with pytest.raises(UsageError, match="twice"):
        sorted_out([manifest("a"), manifest("a")], table(manifest("a")), V1_36)


def test_what_is_no_pod_is_refused() -> None:
    """Nothing is half returned."""
    with pytest.raises(UsageError, match="kind"):
        sorted_out([manifest("a"), {"kind": "Service"}], table(), V1_36)


def sized(cpu: int, *, sidecar: int = 1, **limits: int) -> dict[str, Any]:
    """A pod of one app container and a sidecar, with these requests of cpu and these limits."""
    side = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"memory": sidecar}}}
    app = {"name": "c", "resources": {"requests": {"cpu": cpu}, "limits": limits}}
    return {**manifest("a"), "spec": {"initContainers": [side], "containers": [app]}}


def test_other_amounts_are_a_resize() -> None:
    """Of cpu and memory, of app containers and sidecars; the pod stays the one that it is. Rules: DM-114"""
    known = table(sized(1))
    (uid,) = [each.pod.uid for each in known]
    new, (pod,), (answer,) = sorted_out([sized(2, sidecar=3, memory=5)], known, V1_36)
    assert (new, pod.uid, answer.word) == ([], uid, "configured")
    assert pod.containers[0].requests["cpu"].value == 2


@pytest.mark.parametrize(
    "version, wanted", [("1.36", sized(2, **{"example.com/dev": 1})), ("1.32", sized(2)), ("1.36", manifest("a"))]
)
def test_anything_else_is_another_pod(version: str, wanted: dict[str, Any]) -> None:
    """Devices cannot be changed, and before 1.33 nothing can. Rules: DM-114, DM-178"""
    (new,), resized, _ = sorted_out([wanted], table(sized(1)), profile_of(version))
    assert (new.name, resized) == ("a", [])


@pytest.mark.parametrize("is_deleting", [False, True])
def test_a_pod_that_ends_is_not_resized(is_deleting: bool) -> None:
    """Nor is one that has ended: the name is taken. Rules: DM-114"""
    known = table(sized(1))
    (only,) = known
    only.is_deleting, only.phase = is_deleting, "Running" if is_deleting else "Failed"
    (new,), resized, _ = sorted_out([sized(2)], known, V1_36)
    assert (new.name, resized) == ("a", [])


def test_no_resize_changes_the_quality_of_service() -> None:
    """As an API server has it. Rules: DM-114"""
    without = {**manifest("a"), "spec": {"containers": [{"name": "c"}]}}
    with_cpu = {**manifest("a"), "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": 1}}}]}}
    with pytest.raises(UsageError, match="would be Burstable instead of BestEffort"):
        sorted_out([with_cpu], table(without), V1_36)


def with_resources(resources: dict[str, Any] | None) -> dict[str, Any]:
    """A pod of one container."""
    return {**manifest("a"), "spec": {"containers": [{"name": "c", "resources": resources}]}}


@pytest.mark.parametrize(
    "before, after",
    [
        ({"requests": None}, {}),
        (None, {}),
        ({"requests": {"cpu": "1"}}, {"requests": {"cpu": "1000m"}, "limits": {}}),
        ({"limits": {"example.com/dev": 1}}, {"limits": {"example.com/dev": "1"}}),
    ],
)
def test_amounts_are_compared_not_their_texts(before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
    """Nothing has changed that an API server would see. Rules: DM-114"""
    new, resized, (answer,) = sorted_out([with_resources(after)], table(with_resources(before)), V1_36)
    assert (new, resized, answer.word) == ([], [], "unchanged")


def test_the_size_that_was_asked_for_last_is_compared() -> None:
    """Not the one that the pod has: it was refused the other, or waits for it. Rules: DM-114"""
    known = table(sized(1))
    (only,) = known
    _, (only.wanted,), _ = sorted_out([sized(2)], known, V1_36)
    assert sorted_out([sized(2)], known, V1_36)[2][0].word == "unchanged"
    assert sorted_out([sized(1)], known, V1_36)[2][0].word == "configured"


def test_an_amount_of_nothing_is_no_request() -> None:
    """A pod stays BestEffort with it, so both are a resize of each other. Rules: DM-114"""
    nothing, zero, some = ({"requests": each} for each in ({}, {"cpu": "0"}, {"cpu": "1"}))
    assert sorted_out([with_resources(zero)], table(with_resources(nothing)), V1_36)[2][0].word == "configured"
    with pytest.raises(UsageError, match="would be Burstable instead of BestEffort"):
        sorted_out([with_resources(some)], table(with_resources(zero)), V1_36)


@pytest.mark.parametrize(
    "before, after, text",
    [
        (
            {"limits": {"memory": 2}, "requests": {"cpu": 1}},
            {"requests": {"cpu": 1}},
            r"limits .* \(memory of container c",
        ),
        ({"requests": {"cpu": 1, "memory": 1}}, {"requests": {"memory": 1}}, r"requests .* \(cpu of container c\)"),
        ({"requests": {"cpu": 1, "memory": 1}}, {}, r"requests .* \(cpu and memory of container c\)"),
    ],
)
def test_no_amount_can_be_removed(before: dict[str, Any], after: dict[str, Any], text: str) -> None:
    """An API server refuses it, in one line. Rules: DM-114"""
    with pytest.raises(UsageError, match=text) as refused:
        sorted_out([with_resources(after)], table(with_resources(before)), V1_36)
    assert "cannot be removed" in str(refused.value)
    assert "\n" not in str(refused.value)
