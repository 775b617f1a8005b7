"""The amounts of a container, as the API server validates them."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.manifests import ManifestError, pod_from_mapping
from kubelet_sim.model.pod import Container

DEV = "example.com/dev"


def container(limits: Any = None, requests: Any = None, *, api_checks: bool = True) -> Container:
    """The container of a pod with these resources."""
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "resources": {"limits": limits, "requests": requests}}]},
    }
    return pod_from_mapping(document, api_checks=api_checks).containers[0]


def refused(limits: Any = None, requests: Any = None, *, api_checks: bool = True) -> ManifestError:
    """The error of a container with these resources."""
    with pytest.raises(ManifestError) as caught:
        container(limits, requests, api_checks=api_checks)
    return caught.value


def test_a_limit_is_requested() -> None:
    """A limit without a request becomes the request; another request stays."""
    found = container({DEV: 2, "cpu": 4}, {"cpu": 1, "memory": "1Gi"})
    assert {name: str(amount) for name, amount in found.requests.items()} == {DEV: "2", "cpu": "1", "memory": "1Gi"}
    assert {name: str(amount) for name, amount in found.limits.items()} == {DEV: "2", "cpu": "4"}


@pytest.mark.parametrize("amount", [2, 2.0, "2", "2000m", " 2 ", "2e0", 0, "1k"])
def test_reads_amounts_as_yaml_gives_them(amount: Any) -> None:
    """Numbers and texts are amounts; space around a text is stripped, as the API server does."""
    assert container({DEV: amount}).limits[DEV].is_integer


@pytest.mark.parametrize("amount", [None, True, "", "two", "1 Gi", [], {}, "1ki", float(10**22) * 1e300])
def test_refuses_what_is_no_amount(amount: Any) -> None:
    """A bad amount has a path down to the resource, with and without the API server's checks."""
    for api_checks in (True, False):
        assert refused({DEV: amount}, api_checks=api_checks).path == f'spec.containers[0].resources.limits["{DEV}"]'


@pytest.mark.parametrize("amount", ["1500m", 0.5, "1u", "1000000001n"])
def test_devices_are_whole(amount: Any) -> None:
    """An extended resource is counted in integers; cpu is not."""
    assert "whole" in refused({DEV: amount}).problem
    assert not container({"cpu": amount}).limits["cpu"].is_integer


def test_past_the_api_server_devices_need_not_be_whole() -> None:
    """Without the API server's checks, the kubelet sees what was written. Rules: DM-82"""
    found = container({DEV: "1500m"}, {DEV: "1500m"}, api_checks=False)
    assert (str(found.limits[DEV]), found.limits[DEV].value) == ("1500m", 2)


@pytest.mark.parametrize(
    "limits, requests",
    [({DEV: 1}, {DEV: 2}), (None, {DEV: 1}), ({DEV: -1}, None), ({"no name": 1}, None), ({"dev": 1}, None)],
)
def test_past_the_api_server_nothing_is_compared(limits: Any, requests: Any) -> None:
    """What only the API server refuses passes without its checks, and is refused with them."""
    refused(limits, requests)
    container(limits, requests, api_checks=False)


@pytest.mark.parametrize("name", ["cpu", "memory", DEV, "ephemeral-storage"])
def test_refuses_negative_amounts(name: str) -> None:
    """No resource can be less than nothing."""
    assert "negative" in refused({name: -1}).problem
    assert "negative" in refused(None, {name: "-1m"}).problem


@pytest.mark.parametrize("name", [DEV, "hugepages-2Mi"])
def test_devices_and_huge_pages_cannot_be_overcommitted(name: str) -> None:
    """Devices and huge pages are requested exactly as they are limited."""
    assert container({name: 2}, {name: "2000m"}).requests[name].value == 2
    assert refused({name: 2}, {name: 1}).path.startswith("spec.containers[0].resources.requests")
    assert refused({name: 1}, {name: 2}).path.startswith("spec.containers[0].resources.requests")
    assert "Limit must be set" in refused(None, {name: 1}).expected


def test_cpu_may_be_overcommitted() -> None:
    """A request for cpu or memory is at most the limit, and needs none."""
    assert container({"cpu": 2}, {"cpu": "500m", "memory": "1Gi"}).requests["cpu"].milli_value == 500
    assert "exceeds" in refused({"cpu": 1}, {"cpu": "1001m"}).problem


@pytest.mark.parametrize(
    "name",
    ["dev", "pods", "", "a b/c", "a/b/c", "Example.com/dev", "requests.foo/bar", "a" * 245 + "/x", "x/" + "a" * 64],
)
def test_refuses_names_that_no_container_can_ask_for(name: str) -> None:
    """A resource is one of Kubernetes' own, or an extended one. Rules: DM-24"""
    assert refused({name: 1}).path.startswith("spec.containers[0].resources.limits")


def test_accepts_native_names_with_a_domain() -> None:
    """Names under kubernetes.io are not ours to judge, and may be overcommitted."""
    name = "example.kubernetes.io/x"
    assert container({name: "1500m"}, {name: 1}).requests[name].value == 1


@pytest.mark.parametrize("limits", [[], "x", 3])
def test_refuses_amounts_without_names(limits: Any) -> None:
    """Limits are a mapping."""
    assert refused(limits).path == "spec.containers[0].resources.limits"


def test_overhead_is_checked_as_well() -> None:
    """A pod's overhead is read as a container's amounts are."""
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"overhead": {"cpu": "x"}, "containers": [{"name": "c"}]},
    }
    with pytest.raises(ManifestError) as caught:
        pod_from_mapping(document)
    assert caught.value.path == "spec.overhead.cpu"
