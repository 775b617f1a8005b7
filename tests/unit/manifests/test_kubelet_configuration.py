"""Reading a KubeletConfiguration."""

from __future__ import annotations

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests.errors import ManifestError
from kubelet_sim.manifests.kubelet_configuration import KubeletConfiguration, read_kubelet_configuration

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def read(text: str) -> KubeletConfiguration:
    """The rest of a file below the usual head."""
    return read_kubelet_configuration(HEAD + text, "kubelet.yaml")


def test_what_matters_for_devices_is_read() -> None:
    """Policy, scope, options, static pods; what else is there is named as having no effect."""
    found = read(
        "topologyManagerPolicy: single-numa-node\n"
        "topologyManagerScope: pod\n"
        "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}\n"
        "cpuManagerPolicy: static\n"
        "staticPodPath: /etc/kubernetes/manifests\n"
        "featureGates: {Some: true}\n"
        "maxPods: 200\n"
        "clusterDNS: [10.0.0.10]\n"
    )
    assert found == KubeletConfiguration(
        "single-numa-node",
        "pod",
        {"prefer-closest-numa-nodes": "true"},
        "static",
        "/etc/kubernetes/manifests",
        {"Some": True},
        ("clusterDNS", "maxPods", "featureGates.Some"),
    )


def test_an_empty_configuration_leaves_everything_to_flags() -> None:
    """An empty configuration leaves everything to flags and defaults."""
    assert read("") == KubeletConfiguration()


NO_POLICY = (
    'invalid configuration: topologyManagerPolicy (--topology-manager-policy) "strict" must be one of: '
    '["none" "best-effort" "restricted" "single-numa-node"]'
)
NO_SCOPE = (
    'invalid configuration: topologyManagerScope (--topology-manager-scope) "node" must be one of: '
    '"container", or "pod"'
)


@pytest.mark.parametrize(
    "text, error", [("topologyManagerPolicy: strict", NO_POLICY), ("topologyManagerScope: node", NO_SCOPE)]
)
def test_a_wrong_word_is_refused_as_the_kubelet_refuses_it(text: str, error: str) -> None:
    """The kubelet's configuration check has words of its own. Rules: TM-11"""
    with pytest.raises(UsageError) as refusal:
        read(text)
    assert str(refusal.value) == error


@pytest.mark.parametrize(
    "text, where",
    [
        ("apiVersion: v1\nkind: Pod\n", "apiVersion"),
        (HEAD + "featureGates: {Some: 'yes'}\n", "featureGates.Some"),
        (HEAD + "staticPodPath: 3\n", "staticPodPath"),
        (HEAD + "topologyManagerPolicyOptions: [a]\n", "topologyManagerPolicyOptions"),
    ],
)
def test_a_wrong_document_says_where(text: str, where: str) -> None:
    """File and place are in the one line."""
    with pytest.raises(ManifestError) as refusal:
        read_kubelet_configuration(text, "kubelet.yaml")
    assert "kubelet.yaml" in str(refusal.value)
    assert where in str(refusal.value)


def test_several_documents_are_too_many() -> None:
    """A kubelet reads one."""
    with pytest.raises(UsageError, match="2 documents"):
        read_kubelet_configuration(HEAD + "---\n" + HEAD, "kubelet.yaml")
