"""Values of the model as documents for programs, in JSON and in YAML: plain ASCII, foreign text whole, by the format's escapes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kubelet_sim.model.plain import plain

if TYPE_CHECKING:
    from kubelet_sim.model.response import ContainerSpec
    from kubelet_sim.model.views import NodeSnapshot
    from kubelet_sim.transcript import Record


def machine_text(value: Any, form: str) -> str:
    """The value as `json` or `yaml`, without line end."""
    if form == "json":
        return json.dumps(plain(value), indent=2)
    import yaml

    text: str = yaml.safe_dump(plain(value), sort_keys=False, allow_unicode=False, width=float("inf"))
    return text.removesuffix("\n").removesuffix("\n...")


def json_line(record: Record, **more: Any) -> str:
    """A record as one JSON object on one line, with what more there is to say."""
    return json.dumps(plain(record) | more)


def spec_document(spec: ContainerSpec) -> dict[str, Any]:
    """The container spec with its variables and annotations as mappings. Where entries came from is another matter."""
    document = {**plain(spec), "envs": dict(spec.envs), "annotations": dict(spec.annotations)}
    del document["provenance"]
    return document


def node_document(snapshot: NodeSnapshot) -> dict[str, Any]:
    """The node as `kubectl get node -o json` shows its status part; what is ours alone stands in annotations.

    Rules: DM-64, DM-69
    """
    ready = (
        {"status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
        if snapshot.has_kubelet
        else {"status": "Unknown", "reason": "NodeStatusUnknown", "message": "no kubelet runs on this node"}
    )
    ours = {
        "clock": snapshot.clock,
        "kubelet-process": str(snapshot.incarnation),
        "now-s": f"{snapshot.now_s:.3f}",
        "pod-sources-ready": str(snapshot.sources_ready).lower(),
        "root": snapshot.root,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "kubelet-sim",
            "annotations": {f"kubelet-sim/{name}": text for name, text in ours.items()},
            "labels": {"kubernetes.io/hostname": "kubelet-sim", "kubernetes.io/os": "linux"},
        },
        "status": {
            "allocatable": dict(snapshot.allocatable),
            "capacity": dict(snapshot.capacity),
            "conditions": [{"type": "Ready", **ready}],
            "nodeInfo": {"kubeletVersion": snapshot.kubelet_version},
        },
    }
