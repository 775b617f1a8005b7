"""Values of the model on a terminal, as JSON and as YAML.

Tables are for eyes: foreign text is escaped, markup in it is text. JSON and YAML are for programs: plain ASCII, foreign
text whole, by the escapes of the format.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kubelet_sim.foreign import escape_terminal

if TYPE_CHECKING:
    from kubelet_sim.model.response import ContainerSpec
    from kubelet_sim.model.views import NodeSnapshot
    from kubelet_sim.transcript import Record

Row = Sequence[str]
_UNBOUNDED = 1_000_000
"""Columns for a table: nothing is cut or wrapped in it."""
COLOURS = {
    "yes": "green",
    "Running": "green",
    "Warning": "yellow",
    "live": "green",
    "Failed": "red",
    "failed": "red",
    "stopped": "red",
    "Pending": "yellow",
    "placeholder": "yellow",
}


def machine_text(value: Any, form: str) -> str:
    """The value as `json` or `yaml`, without line end."""
    from kubelet_sim.model.plain import plain

    if form == "json":
        return json.dumps(plain(value), indent=2)
    import yaml

    text: str = yaml.safe_dump(plain(value), sort_keys=False, allow_unicode=False, width=float("inf"))
    return text.removesuffix("\n").removesuffix("\n...")


def json_line(record: Record) -> str:
    """A record as one JSON object on one line."""
    return json.dumps(record_document(record))


def record_document(record: Record) -> dict[str, Any]:
    """A record as a mapping; its level is a word."""
    from kubelet_sim.model.plain import plain

    return {**plain(record), "level": record.level.value}


def spec_document(spec: ContainerSpec) -> dict[str, Any]:
    """The container spec with its variables and annotations as mappings. Where entries came from is another matter."""
    from kubelet_sim.model.plain import plain

    document = {**plain(spec), "envs": dict(spec.envs), "annotations": dict(spec.annotations)}
    del document["provenance"]
    return document


def node_document(snapshot: NodeSnapshot) -> dict[str, Any]:
    """The node as `kubectl get node -o json` shows its status part; what is ours alone stands in annotations.

    Rules: DM-64, DM-69
    """
    from kubelet_sim.node.api_objects.events import NODE_NAME

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
            "name": NODE_NAME,
            "annotations": {f"kubelet-sim/{name}": text for name, text in ours.items()},
            "labels": {"kubernetes.io/hostname": NODE_NAME, "kubernetes.io/os": "linux"},
        },
        "status": {
            "allocatable": dict(snapshot.allocatable),
            "capacity": dict(snapshot.capacity),
            "conditions": [{"type": "Ready", **ready}],
            "nodeInfo": {"kubeletVersion": snapshot.kubelet_version},
        },
    }


def table_text(header: Row, rows: Sequence[Row]) -> str:
    """Columns side by side, as wide as they are, on a terminal too: a name that is in two pieces cannot be copied."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Without both, rich would ask terminal and environment, and cut.
    console = Console(width=_UNBOUNDED, height=_UNBOUNDED, markup=False, emoji=False, highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), collapse_padding=True)
    for title in header:
        table.add_column(Text(title, style="bold"), no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell := escape_terminal(each), style=COLOURS.get(cell, "")) for each in row))
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def spec_text(spec: ContainerSpec) -> str:
    """A container spec for eyes, a section for each of its parts that has anything."""
    sections = (
        ("Environment", [f"{name}={value}" for name, value in spec.envs]),
        ("Mounts", [_mapped(m.host_path, m.container_path, "ro" if m.read_only else "rw") for m in spec.mounts]),
        ("Devices", [_mapped(d.host_path, d.container_path, d.permissions) for d in spec.devices]),
        ("Annotations", [f"{name}: {value}" for name, value in spec.annotations]),
        ("CDI devices", list(spec.cdi_devices)),
    )
    lines = []
    for title, entries in sections:
        if entries:
            lines.append(f"{title}:")
            lines.extend(f"  {escape_terminal(entry)}" for entry in entries)
    return "\n".join(lines) or "Nothing: no device plugin had a say in this container."


def _mapped(host_path: str, container_path: str, mode: str) -> str:
    return f"{host_path} -> {container_path} ({mode or 'no permissions'})"
