"""What `describe` tells, as plain values: gathered from a running node, rendered elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kubelet_sim.errors import UsageError, there_are
from kubelet_sim.model.ids import split_pod_name
from kubelet_sim.model.plain import plain
from kubelet_sim.model.plugin import GRACE_PERIOD_S
from kubelet_sim.model.views import NodeSnapshot, PluginView, PodView, ResourceView
from kubelet_sim.present.documents import spec_document
from kubelet_sim.present.pod_columns import status_text
from kubelet_sim.present.view_tables import document as view_document

if TYPE_CHECKING:
    from kubelet_sim.transcript import Record
    from kubelet_sim.wire.control_client import ControlClient


def pod_document(node: ControlClient, name: str, namespace: str) -> dict[str, Any]:
    """A pod. Raises `UsageError` if there is none of that name."""
    namespace, name = split_pod_name(name, namespace)
    manifest = node.pod(name, namespace)
    snapshot = node.status()
    key = f"{namespace}/{name}"
    view = next((view for view in snapshot.pods if (view.namespace, view.name) == (namespace, name)), None)
    if view is None:
        raise UsageError(f"pod {key} has gone meanwhile")
    limits = _limits(manifest)
    return {
        "name": name,
        "namespace": namespace,
        "uid": view.uid,
        "status": status_text(view),
        "phase": view.phase,
        "reason": view.reason,
        "message": view.message,
        "missing": list(view.missing),
        "is_active": view.is_active,
        "created_at_s": view.created_at_s,
        "now_s": snapshot.now_s,
        "containers": [
            {
                **plain(each),
                "limits": limits.get(each.name, {}),
                "devices": _devices_of(snapshot, view.uid, each.name),
                "spec": _spec(node, view, each.name),
            }
            for each in view.containers
        ],
        "events": [plain(event) for event in node.events() if event.object == f"pod/{key}"],
        "why": [plain(record) for record in node.trace(about=key)],
    }


def _limits(manifest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    spec = manifest.get("spec") or {}
    listed = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return {each["name"]: dict((each.get("resources") or {}).get("limits") or {}) for each in listed}


def _devices_of(snapshot: NodeSnapshot, uid: str, container: str) -> list[dict[str, Any]]:
    """An entry for each resource of a container: its ids with their NUMA nodes at allocation, and their health."""
    found = []
    for view in snapshot.allocations:
        if (view.pod_uid, view.container) == (uid, container):
            nodes: dict[str, list[int]] = {device: [] for device, _ in view.health}
            for numa, ids in view.devices:
                for device in ids:
                    nodes.setdefault(device, []).extend([numa] if numa >= 0 else [])
            health = dict(view.health)
            devices = [{"id": id_, "numa_nodes": at, "health": health.get(id_, "")} for id_, at in nodes.items()]
            found.append({"resource": view.resource, "devices": devices})
    return found


def _spec(node: ControlClient, pod: PodView, container: str) -> dict[str, Any] | None:
    """What a container got; `None` if it was never created."""
    with contextlib.suppress(UsageError):
        return spec_document(node.container_spec(pod.name, container, pod.namespace))
    return None


def plugin_document(node: ControlClient, name: str) -> dict[str, Any]:
    """The connections that the name means: one by its number, or all of a resource or a socket.

    Raises `UsageError` if there is none.
    """
    snapshot = node.status()
    views = [view for view in snapshot.plugins if name in {str(view.client), view.resource, view.socket_name}]
    if not views:
        known = sorted({word for view in snapshot.plugins for word in (view.resource, view.socket_name)})
        raise UsageError(f"no plugin {name} has registered with this kubelet; {there_are(known)}")
    clients = {view.client for view in views}
    asked = {
        record.number: record
        for resource in sorted({view.resource for view in views})
        for record in node.trace(about=resource)
        if record.incarnation == snapshot.incarnation and record.details.get("client") in clients
    }
    return {
        "connections": [_connection(snapshot, view) for view in views],
        "devices": [_listed(snapshot, resource) for resource in sorted({view.resource for view in views})],
        "asked": [plain(record) for _, record in sorted(asked.items())],
    }


def _connection(snapshot: NodeSnapshot, view: PluginView) -> dict[str, Any]:
    return {**plain(view), "path": view.socket_path, "age_s": snapshot.now_s - view.registered_at_s}


def _listed(snapshot: NodeSnapshot, name: str) -> dict[str, Any]:
    """The devices of a resource, as its last plugin listed them."""
    found = next((view for view in snapshot.resources if view.name == name), None)
    return {"resource": name, "endpoint": found.endpoint if found else "none", "devices": _devices(found)}


def _devices(view: ResourceView | None) -> list[Any]:
    return [plain(device) for device in view.devices] if view else []


def resource_document(node: ControlClient, name: str) -> dict[str, Any]:
    """A resource. Raises `UsageError` if nobody knows it."""
    snapshot = node.status()
    view = next((view for view in snapshot.resources if view.name == name), None)
    if view is None:
        known = there_are([each.name for each in snapshot.resources])
        raise UsageError(f"no resource {name} on this node; {known}")
    left_s = None if view.stopped_at_s is None else GRACE_PERIOD_S - (snapshot.now_s - view.stopped_at_s)
    return {
        **plain(view),
        "capacity": view.healthy + view.unhealthy,
        "allocatable": view.healthy,
        "grace_period_left_s": left_s,
        "allocations": [view_document(each) for each in snapshot.allocations if each.resource == name],
        "plugins": [_connection(snapshot, each) for each in snapshot.plugins if each.resource == name],
        "why": [plain(each) for each in _about_alone(node.trace(about=name), name)],
    }


def _about_alone(records: Iterable[Record], subject: str) -> Iterable[Record]:
    """Without the rest of the walks: those of pods are told of the pods."""
    return (record for record in records if record.subject == subject)
