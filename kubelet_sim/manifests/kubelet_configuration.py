"""A KubeletConfiguration file as people have it: what matters for devices is read, the rest is told to have no effect."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests.cursor import Cursor
from kubelet_sim.manifests.documents import read_documents
from kubelet_sim.manifests.errors import quoted
from kubelet_sim.profiles.gates import without_effect as gates_without_effect

API_VERSION = "kubelet.config.k8s.io/v1beta1"
POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
SCOPES = ("container", "pod")
CPU_POLICIES = ("none", "static")
_READ = {
    "apiVersion",
    "kind",
    "topologyManagerPolicy",
    "topologyManagerScope",
    "topologyManagerPolicyOptions",
    "cpuManagerPolicy",
    "featureGates",
    "staticPodPath",
}
_NO_TEXTS: Mapping[str, str] = MappingProxyType({})
_NO_GATES: Mapping[str, bool] = MappingProxyType({})


@frozen
class KubeletConfiguration:
    """What a file says; empty texts where it says nothing."""

    topology_manager_policy: str = ""
    topology_manager_scope: str = ""
    topology_manager_policy_options: Mapping[str, str] = field(default=_NO_TEXTS, hash=False)
    cpu_manager_policy: str = ""
    static_pod_path: str = ""
    feature_gates: Mapping[str, bool] = field(default=_NO_GATES, hash=False)
    """As they stand there: whether a kubelet has them, and lets them be turned, is its release's business."""
    without_effect: tuple[str, ...] = ()
    """Fields of the file that change nothing here, sorted; such feature gates, behind them, as `featureGates.NAME`."""


def read_kubelet_configuration(text: str, source: str) -> KubeletConfiguration:
    """The configuration in a file of one document.

    Raises:
        ManifestError: it is no such document, or a field that is read has a wrong type.
        UsageError: a policy or scope that a kubelet would refuse, in its words (TM-11).

    Rules: TM-11
    """
    documents = read_documents(text, source)
    if len(documents) != 1:
        raise UsageError(f"{source}: {len(documents)} documents. Expected one KubeletConfiguration")
    origin, value = documents[0]
    fields = Cursor(value, origin).entries()
    top = {name: fields.get(name, Cursor(None, origin, (name,))) for name in _READ}
    for name, expected in (("apiVersion", API_VERSION), ("kind", "KubeletConfiguration")):
        if top[name].text() != expected:
            raise top[name].error(f"found {quoted(top[name].value)}", f"Expected {expected}")
    gates = {name: _truth(gate) for name, gate in top["featureGates"].entries().items()}
    unread = sorted(fields.keys() - _READ)
    return KubeletConfiguration(
        topology_manager_policy=_choice(top["topologyManagerPolicy"], "--topology-manager-policy", POLICIES),
        topology_manager_scope=_choice(top["topologyManagerScope"], "--topology-manager-scope", SCOPES),
        topology_manager_policy_options={
            name: option.text() for name, option in top["topologyManagerPolicyOptions"].entries().items()
        },
        cpu_manager_policy=_choice(top["cpuManagerPolicy"], "--cpu-manager-policy", CPU_POLICIES),
        static_pod_path=top["staticPodPath"].text(),
        feature_gates=gates,
        without_effect=(*unread, *(f"featureGates.{name}" for name in gates_without_effect(gates))),
    )


def _choice(cursor: Cursor, flag: str, known: tuple[str, ...]) -> str:
    word = cursor.text()
    if word and word not in known:
        name = cursor.path[0]
        listed = " ".join(f'"{each}"' for each in known) if flag != "--topology-manager-scope" else ""
        allowed = f"[{listed}]" if listed else ", or ".join(f'"{each}"' for each in known)
        raise UsageError(f"invalid configuration: {name} ({flag}) {quoted(word)} must be one of: {allowed}")
    return word


def _truth(cursor: Cursor) -> bool:
    if not isinstance(cursor.value, bool):
        raise cursor.error(f"found {quoted(cursor.value)}", "Expected true or false")
    return cursor.value
