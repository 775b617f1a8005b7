"""Lists of what is on a node: which views are meant, a view as JSON has it, and tables of them, as `get` shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubelet_sim.errors import UsageError, there_are
from kubelet_sim.model.durations import age_text
from kubelet_sim.model.ids import split_pod_name
from kubelet_sim.model.plain import plain
from kubelet_sim.model.plugin import GRACE_PERIOD_S
from kubelet_sim.model.views import AllocationView
from kubelet_sim.present.pod_columns import ready_text, restarts_text, status_text
from kubelet_sim.present.tables import table_text

if TYPE_CHECKING:
    from kubelet_sim.model.views import EventView, NodeSnapshot, PluginView, PodView


def select(
    snapshot: NodeSnapshot, kind: str, name: str | None, namespace: str = "default", events: Sequence[EventView] = ()
) -> list[Any]:
    """The views of a kind, those of one resource or pod if it is named. Raises `UsageError` for a name there is not.

    Events outlive the pod that they are about, so those of a name that nobody knows are none.
    """
    if kind == "events":
        wanted = None if name is None else f"pod/{'/'.join(split_pod_name(name, namespace))}"
        return [event for event in events if wanted in {None, event.object}]
    views, owner = _views(snapshot, kind)
    if name is None:
        return views
    wanted = "/".join(split_pod_name(name, namespace)) if kind in {"pods", "allocations"} else name
    found = [view for view in views if owner(view) == wanted]
    # A resource without devices and a pod without allocations exist all the same.
    known = {"devices": "resources", "allocations": "pods"}.get(kind, kind)
    others, owner = _views(snapshot, known)
    names = sorted({owner(view) for view in others})
    if not found and wanted not in names:
        raise UsageError(f"no {known[:-1]} {wanted} on this node; {there_are(names)}")
    return found


def _views(snapshot: NodeSnapshot, kind: str) -> tuple[list[Any], Callable[[Any], str]]:
    """The views of a kind, and what each belongs to."""
    match kind:
        case "resources":
            return list(snapshot.resources), lambda view: view.name
        case "devices":
            pairs = [(each.name, device) for each in snapshot.resources for device in each.devices]
            return pairs, lambda pair: pair[0]
        case "plugins":
            return list(snapshot.plugins), lambda view: view.resource
        case "pods":
            return list(snapshot.pods), lambda view: f"{view.namespace}/{view.name}"
    return list(snapshot.allocations), lambda view: view.pod


def document(view: Any) -> Any:
    """A view of a list as JSON and YAML have it."""
    if isinstance(view, tuple):
        return {"resource": view[0]} | plain(view[1])
    if isinstance(view, AllocationView):
        return plain(view) | {"devices": [{"numa_node": node, "ids": list(ids)} for node, ids in view.devices]}
    return plain(view)


def whole_status_text(view: PodView) -> str:
    """The status, and the resources without which the pod has to run. Rules: DM-81"""
    text = status_text(view)
    return f"{text} (without {', '.join(view.missing)})" if view.missing else text


def came_by(view: PluginView) -> str:
    """How a plugin came to be registered."""
    return "watcher" if view.registration_socket else "Register"


NAMES: Mapping[str, Callable[[Any], str]] = {
    "resources": lambda view: view.name,
    "devices": lambda pair: f"{pair[0]}/{pair[1].id}",
    "plugins": lambda view: str(view.client),
    "pods": lambda view: f"{view.namespace}/{view.name}",
    "allocations": lambda view: f"{view.pod}/{view.container}/{view.resource}",
    "events": lambda view: f"{view.object}/{view.reason}",
}

Columns = Sequence[tuple[str, Callable[[Any], Any]]]
WideColumns = Sequence[tuple[str, Callable[[Any, "NodeSnapshot"], Any]]]

COLUMNS: Mapping[str, Columns] = {
    "resources": (
        ("NAME", lambda view: view.name),
        ("HEALTHY", lambda view: view.healthy),
        ("UNHEALTHY", lambda view: view.unhealthy),
        ("ALLOCATED", lambda view: view.allocated),
        ("CAPACITY", lambda view: view.node_capacity),
        ("ALLOCATABLE", lambda view: view.node_allocatable),
        ("ENDPOINT", lambda view: view.endpoint),
    ),
    "devices": (
        ("RESOURCE", lambda pair: pair[0]),
        ("DEVICE", lambda pair: pair[1].id),
        ("HEALTHY", lambda pair: pair[1].is_healthy),
        ("SENT AS", lambda pair: pair[1].health),
        ("NUMA", lambda pair: ",".join(map(str, pair[1].numa_nodes))),
        ("ALLOCATED", lambda pair: pair[1].is_allocated),
        ("HELD BY", lambda pair: ", ".join(pair[1].holders)),
    ),
    "plugins": (
        ("CLIENT", lambda view: view.client),
        ("RESOURCE", lambda view: view.resource),
        ("SOCKET", lambda view: view.socket_name),
        ("CAME BY", came_by),
        ("STATE", lambda view: view.state),
        ("LISTS", lambda view: view.has_stream),
        ("PRE-START", lambda view: view.pre_start_required),
        ("PREFERRED", lambda view: view.get_preferred_allocation_available),
        ("REGISTERED", lambda view: f"{view.registered_at_s:.3f}s"),
    ),
    "pods": (
        ("NAMESPACE", lambda view: view.namespace),
        ("NAME", lambda view: view.name),
        ("READY", ready_text),
        ("STATUS", whole_status_text),
        ("MESSAGE", lambda view: view.message or next((c.message for c in view.containers if c.message), "")),
    ),
    "allocations": (
        ("POD", lambda view: view.pod),
        ("CONTAINER", lambda view: view.container),
        ("RESOURCE", lambda view: view.resource),
        ("DEVICES", lambda view: ", ".join(device for _, ids in view.devices for device in ids)),
        ("NUMA", lambda view: ",".join(str(node) for node, _ in view.devices if node >= 0)),
    ),
    "events": (
        ("TYPE", lambda view: view.type),
        ("REASON", lambda view: view.reason),
        ("OBJECT", lambda view: view.object),
        ("SUBOBJECT", lambda view: view.field_path),
        ("MESSAGE", lambda view: view.message),
    ),
}

WIDE: Mapping[str, WideColumns] = {
    "resources": (
        ("NUMA", lambda view, _: ",".join(map(str, sorted({n for each in view.devices for n in each.numa_nodes})))),
        ("GRACE PERIOD", lambda view, now: grace_text(view.stopped_at_s, now.now_s)),
    ),
    "devices": (("HOLDER UIDS", lambda pair, now: ", ".join(_uids(pair[0], pair[1].id, now))),),
    "plugins": (
        ("AGE", lambda view, now: age_text(now.now_s - view.registered_at_s)),
        ("PATH", lambda view, _: view.socket_path),
        ("FOUND BY", lambda view, _: view.registration_socket),
    ),
    "pods": (
        ("PHASE", lambda view, _: view.phase),
        ("CONTAINERS", lambda view, _: ", ".join(f"{each.name}: {each.state}" for each in view.containers)),
        ("ACTIVE", lambda view, _: view.is_active),
        ("UID", lambda view, _: view.uid),
    ),
    "allocations": (
        ("HEALTH", lambda view, _: health_text(view.health)),
        ("POD UID", lambda view, _: view.pod_uid),
    ),
    "events": (
        ("FIRST SEEN", lambda view, now: age_text(now.now_s - view.first_at_s)),
        ("COUNT", lambda view, _: view.count),
    ),
}


def list_table(kind: str, views: Sequence[Any], wide: NodeSnapshot | None = None, now_s: float = 0.0) -> str:
    """The table of a kind, with further columns if a snapshot says what they need. Ages are those at `now_s`."""
    columns = [*COLUMNS[kind]]
    if kind == "events":
        columns.insert(0, ("LAST SEEN", lambda view: age_text(now_s - view.at_s)))
    if kind == "pods":
        columns.insert(4, ("RESTARTS", lambda view: restarts_text(view, now_s)))
        columns.insert(5, ("AGE", lambda view: age_text(now_s - view.created_at_s)))
    titles = [title for title, _ in columns]
    rows = [[_cell(of(view)) for _, of in columns] for view in views]
    if wide is not None:
        titles += [title for title, _ in WIDE[kind]]
        for row, view in zip(rows, views, strict=True):
            row += [_cell(of(view, wide)) for _, of in WIDE[kind]]
    return table_text(titles, rows)


def grace_text(stopped_at_s: float | None, now_s: float) -> str:
    """How long until the next node status forgets a resource whose plugin is gone; empty while it is there."""
    if stopped_at_s is None:
        return ""
    left = GRACE_PERIOD_S - (now_s - stopped_at_s)
    return f"{age_text(left)} left" if left >= 0 else "over"


def health_text(health: Sequence[tuple[str, str]]) -> str:
    """One word if all devices are of the same health, else each with its own."""
    words = {word for _, word in health}
    return words.pop() if len(words) == 1 else ", ".join(f"{device}: {word}" for device, word in health)


def _uids(resource: str, device: str, snapshot: NodeSnapshot) -> list[str]:
    return [
        view.pod_uid
        for view in snapshot.allocations
        if view.resource == resource and any(device in ids for _, ids in view.devices)
    ]


def node_table(snapshot: NodeSnapshot) -> str:
    """The node, and what the node object says of its resources."""
    about = table_text(
        ["KUBELET", "RESTARTS", "CLOCK", "TIME", "ROOT"],
        [
            [
                snapshot.kubelet_version if snapshot.has_kubelet else f"{snapshot.kubelet_version} (none runs)",
                str(snapshot.incarnation - 1 - (not snapshot.has_kubelet)),
                snapshot.clock,
                f"{snapshot.now_s:.3f}s",
                snapshot.root,
            ]
        ],
    )
    allocatable = dict(snapshot.allocatable)
    rows = [[name, capacity, allocatable.get(name, "-")] for name, capacity in snapshot.capacity]
    return f"{about}\n\n{table_text(['RESOURCE', 'CAPACITY', 'ALLOCATABLE'], rows)}"


def _cell(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case None | "":
            return "-"
    return str(value)
