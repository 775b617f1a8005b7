"""What `describe node` tells: capacity, what pods ask of it, and events; as plain values, and for eyes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from kubelet_sim.foreign import escape_terminal
from kubelet_sim.model.durations import age_text
from kubelet_sim.model.plain import plain
from kubelet_sim.model.quantity import Quantity, amount_text
from kubelet_sim.present.documents import node_document
from kubelet_sim.present.tables import indented_table

if TYPE_CHECKING:
    from kubelet_sim.model.views import PodView
    from kubelet_sim.wire.control_client import ControlClient

_OVER = ("Succeeded", "Failed")
_SHOWN = ("cpu", "memory")
Pairs = Sequence[tuple[str, str]]


def described_node(node: ControlClient) -> dict[str, Any]:
    """The node: as the API server has it, with the pods that count and what they ask for together. Rules: DM-69, DM-80"""
    snapshot = node.status()
    (registered,) = node.objects("nodes")
    document = node_document(registered, snapshot)
    pods = [view for view in snapshot.pods if view.phase not in _OVER]
    allocatable = dict(snapshot.allocatable)
    requests, limits = _sum(view.requests for view in pods), _sum(view.limits for view in pods)
    names = [name for name in allocatable if name != "pods" and (name in _SHOWN or "/" in name or name in requests)]
    return {
        "name": document["metadata"]["name"],
        "kubelet_version": snapshot.kubelet_version,
        "has_kubelet": snapshot.has_kubelet,
        "kubelet_process": snapshot.incarnation,
        "root": snapshot.root,
        "clock": snapshot.clock,
        "now_s": snapshot.now_s,
        "conditions": document["status"]["conditions"],
        "capacity": dict(snapshot.capacity),
        "allocatable": allocatable,
        "pods": [_pod(view) for view in pods],
        "allocated": [
            {
                "resource": name,
                "requests": amount_text(name, requests.get(name, Fraction(0))),
                "limits": amount_text(name, limits.get(name, Fraction(0))),
                "requests_percent": _percent(requests.get(name, Fraction(0)), allocatable[name]),
                "limits_percent": _percent(limits.get(name, Fraction(0)), allocatable[name]),
            }
            for name in names
        ],
        "events": [plain(event) for event in node.events() if event.object == f"node/{document['metadata']['name']}"],
    }


def _pod(view: PodView) -> dict[str, Any]:
    return {
        "namespace": view.namespace,
        "name": view.name,
        "requests": dict(view.requests),
        "limits": dict(view.limits),
        "created_at_s": view.created_at_s,
    }


def _sum(parts: Iterable[Pairs]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for pairs in parts:
        for name, text in pairs:
            total[name] = total.get(name, Fraction(0)) + Quantity.parse(text).amount
    return total


def _percent(amount: Fraction, of: str) -> int:
    whole = Quantity.parse(of).amount
    return int(100 * amount / whole) if whole else 0


def node_text(node: Mapping[str, Any]) -> str:
    """The same for eyes, in the order of kubectl."""
    runs = f"process {node['kubelet_process']}" if node["has_kubelet"] else "none runs: kubelet-sim start"
    lines = [
        f"Name:            {node['name']}",
        f"Kubelet Version: {node['kubelet_version']} ({runs})",
        f"Root:            {escape_terminal(node['root'])}",
        f"Clock:           {node['clock']}, {age_text(node['now_s'])} since the start",
        "Conditions:",
        *indented_table(
            ["TYPE", "STATUS", "REASON", "MESSAGE"],
            [[each["type"], each["status"], each["reason"], each["message"]] for each in node["conditions"]],
        ),
    ]
    for title, key in (("Capacity", "capacity"), ("Allocatable", "allocatable")):
        lines += [
            f"{title}:",
            *indented_table(["RESOURCE", "AMOUNT"], [[*pair] for pair in node[key].items()], has_header=False),
        ]
    lines += [f"Non-terminated Pods: ({len(node['pods'])} in total)", *_pods(node)]
    rows = [
        [
            each["resource"],
            f"{each['requests']} ({each['requests_percent']}%)",
            f"{each['limits']} ({each['limits_percent']}%)",
        ]
        for each in node["allocated"]
    ]
    lines += ["Allocated resources:", *indented_table(["RESOURCE", "REQUESTS", "LIMITS"], rows)]
    events = [
        [each["type"], each["reason"], age_text(node["now_s"] - each["at_s"]), str(each["count"]), each["message"]]
        for each in node["events"]
    ]
    return "\n".join([*lines, "Events:", *indented_table(["TYPE", "REASON", "AGE", "COUNT", "MESSAGE"], events)])


def _pods(node: Mapping[str, Any]) -> list[str]:
    rows = [
        [
            each["namespace"],
            each["name"],
            *(each[part].get(name, "0") for name in _SHOWN for part in ("requests", "limits")),
            ", ".join(f"{name}={text}" for name, text in each["requests"].items() if "/" in name) or "-",
            age_text(node["now_s"] - each["created_at_s"]),
        ]
        for each in node["pods"]
    ]
    titles = ["NAMESPACE", "NAME", "CPU REQUESTS", "CPU LIMITS", "MEMORY REQUESTS", "MEMORY LIMITS", "DEVICES", "AGE"]
    return indented_table(titles, rows)
