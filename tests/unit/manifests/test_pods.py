"""Pod manifests to pods."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from kubelet_sim.manifests import ManifestError, pod_from_mapping, read_pods
from kubelet_sim.model.pod import ContainerKind

REAL_WORLD = """\
# as kubectl get -o yaml and people's repositories have it
apiVersion: v1
kind: Pod
metadata:
  name: trainer.v1
  namespace: ml
  uid: 6f1c0d0e-0000-4000-8000-000000000000
  labels: {app: trainer}
  annotations:
    note: "yes"
  creationTimestamp: 2024-05-01T10:00:00Z
  managedFields:
  - manager: kubectl
spec:
  restartPolicy: OnFailure
  overhead: {cpu: 250m}
  nodeName: n1
  volumes:
  - name: data
    emptyDir: {}
  securityContext: {runAsUser: 1000}
  resources: {limits: {cpu: 4}}
  initContainers:
  - name: fetch
    image: busybox
    command: [sh, -c, "true"]
  - name: proxy
    image: envoy
    restartPolicy: Always
    resources: {limits: {example.com/nic: 1}}
  - name: once
    image: busybox
    restartPolicy: Never
  containers:
  - name: train
    image: pytorch
    env:
    - name: MODE
      value: fast
    livenessProbe: {httpGet: {path: /, port: 80}}
    volumeMounts: [{name: data, mountPath: /data}]
    resources:
      limits: {example.com/gpu: 2, memory: 8Gi}
      requests: {memory: 4Gi}
      claims: []
status:
  phase: Running
"""


def manifest(**spec: Any) -> dict[str, Any]:
    """A small pod, its spec changed by `spec`."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c"}], **spec},
    }


def refused(document: Any, **options: Any) -> ManifestError:
    """The error of a document."""
    with pytest.raises(ManifestError) as caught:
        pod_from_mapping(document, **options)
    assert str(caught.value).isprintable()
    return caught.value


def test_reads_a_pod_as_people_have_it() -> None:
    """What matters for devices is understood, the rest is kept in the manifest."""
    [pod] = read_pods(REAL_WORLD, "pod.yaml")
    assert (pod.key, pod.uid) == ("ml/trainer.v1", "6f1c0d0e-0000-4000-8000-000000000000")
    assert [(c.name, c.kind) for c in pod.all_containers()] == [
        ("fetch", ContainerKind.INIT),
        ("proxy", ContainerKind.SIDECAR),
        ("once", ContainerKind.INIT),
        ("train", ContainerKind.APP),
    ]
    assert pod.restart_policy == "OnFailure"
    assert {name: str(amount) for name, amount in pod.overhead.items()} == {"cpu": "250m"}
    train = pod.containers[0]
    assert {name: str(amount) for name, amount in train.requests.items()} == {"example.com/gpu": "2", "memory": "4Gi"}
    assert pod.manifest["spec"]["volumes"] == [{"name": "data", "emptyDir": {}}]
    assert pod.manifest["status"] == {"phase": "Running"}


def test_gives_defaults() -> None:
    """A pod without namespace, UID and restart policy gets those of the API server."""
    pod = pod_from_mapping(manifest(), new_uid=lambda: "u-1")
    assert (pod.namespace, pod.uid, pod.restart_policy) == ("default", "u-1", "Always")
    assert (pod.init_containers, dict(pod.overhead)) == ((), {})


def test_makes_a_random_uid() -> None:
    """Two pods without UID are two pods."""
    uids = {pod_from_mapping(manifest()).uid for _ in range(2)}
    assert len(uids) == 2
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", uid) for uid in uids)


def test_makes_a_name_from_a_prefix() -> None:
    """A generateName gets five letters; a long one is cut so that the name fits a label."""
    document = manifest()
    document["metadata"] = {"generateName": "p-"}
    assert re.fullmatch(r"p-[bcdfghjklmnpqrstvwxz2456789]{5}", pod_from_mapping(document).name)
    document["metadata"] = {"generateName": "p" * 70}
    assert pod_from_mapping(document, new_suffix=lambda: "bcdfg").name == "p" * 58 + "bcdfg"
    document["metadata"] = {"generateName": "P_"}
    assert refused(document).path == "metadata.generateName"


def test_a_field_that_is_null_counts_as_absent() -> None:
    """A field without a value counts as absent, as in the API."""
    document = manifest(initContainers=None, overhead=None, restartPolicy=None)
    document["metadata"].update(namespace=None, uid=None)
    document["spec"]["containers"][0].update(resources=None, image=None)
    assert pod_from_mapping(document).namespace == "default"


def test_the_document_stays_the_callers() -> None:
    """A pod keeps a copy: later changes of the caller do not reach it."""
    document = manifest()
    before = copy.deepcopy(document)
    pod = pod_from_mapping(document)
    document["spec"]["containers"].clear()
    assert pod.manifest == before


@pytest.mark.parametrize(
    "kind, hint",
    [("Deployment", "template"), ("Job", "template"), ("Service", "Expected Pod"), ("pod", "Expected Pod"), (None, "Expected Pod"), (3, "text")],
)  # fmt: skip
def test_refuses_other_kinds(kind: Any, hint: str) -> None:
    """What is no Pod is named; a workload holds a template that one can take."""
    error = refused({**manifest(), "kind": kind})
    assert error.path == "kind"
    assert hint in error.expected


def test_looks_at_the_kind_before_the_fields() -> None:
    """A ConfigMap is no Pod with an unknown field `data`."""
    assert refused({"apiVersion": "v1", "kind": "ConfigMap", "data": {}}).path == "kind"


@pytest.mark.parametrize("version", ["v2", "apps/v1", None, 1])
def test_refuses_other_versions(version: Any) -> None:
    """The Pod API has one version."""
    assert refused({**manifest(), "apiVersion": version}).path == "apiVersion"


@pytest.mark.parametrize("name", ["", None, "A", "a_b", "-a", "a-", "a..b", "a" * 254, "a\n", 7, True])
def test_refuses_a_bad_pod_name(name: Any) -> None:
    """A pod's name is a DNS subdomain."""
    assert refused({**manifest(), "metadata": {"name": name}}).path == "metadata.name"


@pytest.mark.parametrize("namespace", ["a.b", "A", "a" * 64, 1])
def test_refuses_a_bad_namespace(namespace: Any) -> None:
    """A namespace is a DNS label."""
    assert refused({**manifest(), "metadata": {"name": "p", "namespace": namespace}}).path == "metadata.namespace"


@pytest.mark.parametrize("name", ["", None, "C", "a.b", "a" * 64, False])
def test_refuses_a_bad_container_name(name: Any) -> None:
    """A container's name is a DNS label."""
    assert refused(manifest(containers=[{"name": name}])).path == "spec.containers[0].name"


def test_refuses_a_container_name_twice() -> None:
    """Init containers and app containers share their names."""
    error = refused(manifest(initContainers=[{"name": "c"}]))
    assert error.path == "spec.containers[0].name"
    assert "two containers" in error.problem


@pytest.mark.parametrize("containers", [None, [], {}, "c", 3])
def test_refuses_a_pod_without_containers(containers: Any) -> None:
    """At least one app container has to be there."""
    assert refused(manifest(containers=containers)).path == "spec.containers"


def test_refuses_a_pod_without_spec() -> None:
    """No spec, no pod."""
    document = manifest()
    del document["spec"]
    assert refused(document).path == "spec"


def test_refuses_ephemeral_containers() -> None:
    """They join running pods only; an empty list is no request for any."""
    assert refused(manifest(ephemeralContainers=[{"name": "e"}])).path == "spec.ephemeralContainers[0]"
    assert pod_from_mapping(manifest(ephemeralContainers=[])).containers


@pytest.mark.parametrize("policy", ["always", "Sometimes", True])
def test_refuses_unknown_restart_policies(policy: Any) -> None:
    """Pods and containers know three restart policies."""
    assert refused(manifest(restartPolicy=policy)).path == "spec.restartPolicy"
    error = refused(manifest(containers=[{"name": "c", "restartPolicy": policy}]))
    assert error.path == "spec.containers[0].restartPolicy"


@pytest.mark.parametrize(
    "change, path, hint",
    [
        ({"Spec": {}}, "Spec", "spec?"),
        ({"metadata": {"name": "p", "lables": {}}}, "metadata.lables", "labels?"),
        ({"spec": {"container": []}}, "spec.container", "containers?"),
        ({"spec": {"containers": [{"name": "c", "IMAGE": "x"}]}}, "spec.containers[0].IMAGE", "image?"),
        ({"spec": {"containers": [{"name": "c", "resources": {"limit": {}}}]}}, "spec.containers[0].resources.limit", "limits?"),
        ({"spec": {"containers": [{"name": "c", "zzz": 1}]}}, "spec.containers[0].zzz", "Kubernetes 1.36"),
    ],
)  # fmt: skip
def test_refuses_unknown_fields(change: dict[str, Any], path: str, hint: str) -> None:
    """A field that the API does not have is a typing error, and the nearest field is named."""
    error = refused({**manifest(), **change})
    assert error.path == path
    assert hint in error.expected


@pytest.mark.parametrize("document", [None, [], "x", 1])
def test_refuses_what_is_no_mapping(document: Any) -> None:
    """A document is a mapping."""
    with pytest.raises(ManifestError):
        pod_from_mapping(document)


def test_says_where_the_document_came_from() -> None:
    """Errors of one document carry the names that the caller gives."""
    error = refused({**manifest(), "kind": "X"}, source="story", document_number=3)
    assert (error.source, error.document) == ("story", 3)


def test_reads_several_documents() -> None:
    """Empty documents are skipped, yet counted."""
    one = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c}]}\n"
    assert [pod.name for pod in read_pods("---\n" + one % "a" + "---\n---\n" + one % "b", "f")] == ["a", "b"]
    with pytest.raises(ManifestError) as caught:
        read_pods(one % "a" + "---\n---\n" + one % "B", "f")
    assert caught.value.document == 3
    assert read_pods("# nothing\n", "f") == ()


@pytest.mark.parametrize("kind", ["List", "PodList"])
def test_the_items_of_a_list_are_pods_in_order(kind: str) -> None:
    """The items of a List are pods in order; errors name the item."""
    text = f"apiVersion: v1\nkind: {kind}\nmetadata: {{resourceVersion: ''}}\nitems: "
    item = "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: c}]}}"
    assert [pod.name for pod in read_pods(f"{text}[{item % 'a'}, {item % 'b'}]", "f")] == ["a", "b"]
    with pytest.raises(ManifestError) as caught:
        read_pods(f"{text}[{item % 'a'}, {item % 'B'}]", "f")
    assert caught.value.path == "items[1].metadata.name"


def test_refuses_the_same_pod_twice() -> None:
    """Neither a name nor a UID may come twice in one file."""
    one = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, uid: %s}\nspec: {containers: [{name: c}]}\n"
    for second, path in (("a, namespace: default", "metadata.name"), ("b", "metadata.uid")):
        uid = "v" if path == "metadata.name" else "u"
        with pytest.raises(ManifestError) as caught:
            read_pods(one % ("a", "u") + one % (second, uid), "f")
        assert (caught.value.path, caught.value.document) == (path, 2)


def test_a_pod_is_read_from_json_as_from_yaml() -> None:
    """JSON gives the same pod as YAML."""
    text = '{\n\t"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}'
    assert [pod.name for pod in read_pods(text, "-")] == ["p"]
