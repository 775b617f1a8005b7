"""A Pod as an API server holds it once somebody has created it."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.api_objects.new_pod import new_pod, quality_of_service


def made(container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """The Pod that a server makes of one with this container."""
    metadata = {"name": "p", "labels": {"empty": ""}, "annotations": None, "resourceVersion": "7", "generation": 3}
    spec = {"containers": [{"name": "main", **container}], **spec}
    return new_pod(pod_from_mapping({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}), "n")


def test_the_spec_has_the_defaults_of_the_api() -> None:
    """Those that need no admission plugin; what the server owns is not taken from the manifest."""
    pod = made({"image": "repo/image:1"}, dnsPolicy="", restartPolicy="Never")
    assert pod["metadata"].keys() == {"name", "namespace", "uid", "labels"}
    assert pod["metadata"]["labels"] == {"empty": ""}
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert pod["spec"] == {
        "containers": [
            {
                "name": "main",
                "image": "repo/image:1",
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "nodeName": "n",
        "restartPolicy": "Never",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


def test_amounts_are_canonical_and_requested() -> None:
    """A limit without a request is requested, and 1000m is 1."""
    resources = {"limits": {"cpu": "1000m", "example.com/dev": 2}, "requests": {"cpu": 0.5}}
    pod = made({"resources": resources}, overhead={"memory": "1024Ki"})
    assert pod["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "1", "example.com/dev": "2"},
        "requests": {"cpu": "500m", "example.com/dev": "2"},
    }
    assert pod["spec"]["overhead"] == {"memory": "1Mi"}


@pytest.mark.parametrize(
    "image, policy",
    [
        ("a", "Always"),
        ("host:5000/a", "Always"),
        ("a:latest@sha256:0", "Always"),
        ("a@sha256:0", "IfNotPresent"),
        ("a:1", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_the_tag_decides_on_pulling(image: str, policy: str) -> None:
    """The tag latest, or none, is always pulled."""
    assert made({"image": image})["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_parts_have_their_defaults() -> None:
    """Ports, probes, references to fields, volumes: by the name of the part."""
    container = {
        "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 2},
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "B", "value": ""}],
    }
    volumes = [
        {"name": "a"},
        {"name": "b", "secret": {"secretName": "s", "items": None}},
        {"name": "c", "projected": {"sources": [{"secret": {"name": "s"}}, {"serviceAccountToken": {"path": "t"}}]}},
        {"name": "d", "emptyDir": {"sizeLimit": "1024Mi"}},
        {"name": "e", "hostPath": {"path": "/dev"}},
    ]
    spec = made(container, hostNetwork=True, serviceAccountName="x", volumes=volumes)["spec"]
    (main,) = spec["containers"]
    assert main["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    assert main["livenessProbe"] == {
        "failureThreshold": 3,
        "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
        "periodSeconds": 2,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    }
    assert main["env"][0]["valueFrom"]["fieldRef"] == {"apiVersion": "v1", "fieldPath": "metadata.name"}
    assert main["env"][1] == {"name": "B", "value": ""}
    assert spec["serviceAccount"] == "x"
    assert spec["volumes"] == [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "secret": {"secretName": "s", "defaultMode": 420}},
        {
            "name": "c",
            "projected": {
                "defaultMode": 420,
                "sources": [
                    {"secret": {"name": "s"}},
                    {"serviceAccountToken": {"expirationSeconds": 3600, "path": "t"}},
                ],
            },
        },
        {"name": "d", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "e", "hostPath": {"path": "/dev", "type": ""}},
    ]


def test_what_nobody_has_checked_stays_as_it_is() -> None:
    """Below the levels that a manifest's reader looks into there may be anything."""
    spec = made({"ports": 5}, volumes=["odd", {"name": "a", "emptyDir": {"sizeLimit": "much"}}])["spec"]
    assert spec["containers"][0]["ports"] == 5
    assert spec["volumes"] == ["odd", {"name": "a", "emptyDir": {"sizeLimit": "much"}}]


def test_a_pod_without_a_manifest_has_no_spec() -> None:
    """There is nothing to show but its name."""
    pod = Pod("p", "default", PodUID("u"))
    assert new_pod(pod, "n").keys() == {"apiVersion", "kind", "metadata", "status"}


@pytest.mark.parametrize(
    "limits, requests, quality",
    [
        ({"cpu": 1, "memory": "1Gi"}, {}, "Guaranteed"),
        ({"cpu": 1, "memory": "1Gi"}, {"cpu": "500m"}, "Burstable"),
        ({}, {"memory": 1}, "Burstable"),
        ({"example.com/dev": 1, "cpu": 0}, {}, "BestEffort"),
    ],
)
def test_the_class_follows_from_amounts(limits: dict[str, Any], requests: dict[str, Any], quality: str) -> None:
    """Only cpu and memory count."""
    containers = [{"name": "main", "resources": {"limits": limits, "requests": requests}}]
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    assert quality_of_service(pod_from_mapping(document)) == quality
