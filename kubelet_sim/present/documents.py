"""Values of the model as documents for programs, in JSON and in YAML: plain ASCII, foreign text whole, by the format's escapes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kubelet_sim.model.ids import split_pod_name
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


def node_document(node: Mapping[str, Any], snapshot: NodeSnapshot) -> dict[str, Any]:
    """The Node as `kubectl get node -o json` shows it; what is ours alone stands in annotations.

    Without a kubelet nobody knows whether the node is ready: so says a cluster's controller, which there is none of here.

    Rules: DM-64, DM-69
    """
    ours = {
        "clock": snapshot.clock,
        "kubelet-process": str(snapshot.incarnation),
        "now-s": f"{snapshot.now_s:.3f}",
        "pod-sources-ready": str(snapshot.sources_ready).lower(),
        "root": snapshot.root,
    }
    annotations = {f"kubelet-sim/{name}": text for name, text in ours.items()}
    metadata, status = node["metadata"], node["status"]
    conditions = status["conditions"]
    if not snapshot.has_kubelet:
        unknown = {"status": "Unknown", "reason": "NodeStatusUnknown", "message": "no kubelet runs on this node"}
        conditions = [each | unknown for each in conditions]
    return {
        **node,
        "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **annotations}},
        "status": {**status, "conditions": conditions},
    }


def events_about(events: Iterable[Mapping[str, Any]], pod: str | None, namespace: str) -> list[Mapping[str, Any]]:
    """The Events that are about a pod, or all if none is named; in the order in which they are given."""
    if pod is None:
        return list(events)
    wanted = ("Pod", *split_pod_name(pod, namespace))
    abouts = ((event, event["involvedObject"]) for event in events)
    return [each for each, about in abouts if (about["kind"], about.get("namespace"), about["name"]) == wanted]
