"""What `describe` tells, for eyes: aligned lines as kubectl writes them, foreign text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubelet_sim.foreign import escape_terminal
from kubelet_sim.model.durations import age_text
from kubelet_sim.present.container_text import granted
from kubelet_sim.present.tables import indented_table, table_text
from kubelet_sim.present.view_tables import health_text

_MOST_DEVICES = 50
_MOST_RECORDS = 200
Document = Mapping[str, Any]


def pod_text(pod: Document) -> str:
    """What `describe` tells of a pod."""
    lines = _pairs(
        ("Name", pod["name"]),
        ("Namespace", pod["namespace"]),
        ("UID", pod["uid"]),
        ("Age", age_text(pod["now_s"] - pod["created_at_s"])),
        ("Status", pod["status"]),
        ("Phase", pod["phase"]),
        ("Reason", pod["reason"]),
        ("Message", pod["message"]),
        ("Without", ", ".join(f"{name} [DM-81]" for name in pod["missing"])),
        ("Active", "yes" if pod["is_active"] else "no, its devices are free for whoever asks for some"),
    )
    for title, kinds in (("Init Containers", {"init", "sidecar"}), ("Containers", {"app"})):
        containers = [each for each in pod["containers"] if each["kind"] in kinds]
        if containers:
            lines += [f"{title}:", *(_indented(line) for each in containers for line in _container(each))]
    lines += ["Events:", *_events(pod["events"], pod["now_s"])]
    return "\n".join([*lines, "Why:", *_records(pod["why"])])


def _container(container: Document) -> list[str]:
    state = f"{container['state']} (sidecar)" if container["kind"] == "sidecar" else container["state"]
    lines = _pairs(
        ("State", state),
        ("Reason", container["reason"]),
        ("Message", container["message"]),
        ("Exit Code", "" if container["exit_code"] is None else container["exit_code"]),
        ("Last State", _last_state(container)),
        ("Ready", "yes" if container["is_ready"] else "no"),
        ("Restarts", container["restart_count"]),
        ("Limits", ", ".join(f"{name}={amount}" for name, amount in container["limits"].items()) or "<none>"),
        width=12,
    )
    lines += ["Devices:", *(_indented(line) for line in _held(container["devices"]))]
    lines += ["From plugins:", *(_indented(line) for line in _spec(container["spec"]))]
    return [f"{escape_terminal(container['name'])}:", *map(_indented, lines)]


def _last_state(container: Document) -> str:
    """How the attempt before ended; empty if there was none."""
    if container["last_exit_code"] is None:
        return ""
    return f"exited: {container['last_reason']}, exit code {container['last_exit_code']}"


def _held(resources: Sequence[Document]) -> list[str]:
    lines = []
    for each in resources:
        lines.append(f"{escape_terminal(each['resource'])}:")
        lines += [f"  {_held_device(device)}" for device in each["devices"][:_MOST_DEVICES]]
        lines += _further(each["devices"], _MOST_DEVICES, "  ")
    return lines or ["<none>"]


def _held_device(device: Document) -> str:
    nodes = ",".join(map(str, device["numa_nodes"]))
    return escape_terminal(f"{device['id']} ({device['health']}{f', NUMA node {nodes}' if nodes else ''})")


def _spec(spec: Document | None) -> list[str]:
    if spec is None:
        return ["<not created yet>"]
    return [escape_terminal(f"{kind} {text}") for kind, text in granted(spec)] or ["<nothing>"]


def plugin_text(plugin: Document) -> str:
    """What `describe` tells of a plugin and its connections."""
    lines = []
    for each in plugin["connections"]:
        options = {"PreStartContainer": each["pre_start_required"]}
        options["GetPreferredAllocation"] = each["get_preferred_allocation_available"]
        lines += [f"Client {each['client']}:"]
        lines += map(
            _indented,
            _pairs(
                ("Resource", each["resource"]),
                ("Socket", each["socket_name"]),
                ("Path", each["path"]),
                ("Came by", _came_by(each["registration_socket"])),
                ("State", each["state"]),
                ("Registered", f"{age_text(each['age_s'])} ago"),
                ("Stream", "open" if each["has_stream"] else "closed"),
                ("Options", ", ".join(name for name, is_on in options.items() if is_on) or "none"),
            ),
        )
    for each in plugin["devices"]:
        lines += [f"Devices of {escape_terminal(each['resource'])} (endpoint {each['endpoint']}):"]
        lines += map(_indented, _devices(each["devices"]))
    return "\n".join([*lines, "Asked:", *_records(plugin["asked"])])


def _came_by(registration_socket: str) -> str:
    return f"the plugin watcher, {registration_socket}" if registration_socket else "Register"


def resource_text(resource: Document) -> str:
    """What `describe` tells of a resource and who holds it."""
    left_s = resource["grace_period_left_s"]
    missing = "not listed yet"
    lines = _pairs(
        ("Name", resource["name"]),
        ("Endpoint", resource["endpoint"]),
        ("Grace period", "" if left_s is None else _grace(left_s)),
        ("Capacity", f"{resource['capacity']} (node object: {_or(resource['node_capacity'], missing)})"),
        ("Allocatable", f"{resource['allocatable']} (node object: {_or(resource['node_allocatable'], missing)})"),
        ("Healthy", resource["healthy"]),
        ("Unhealthy", resource["unhealthy"]),
        ("In use", resource["allocated"]),
    )
    lines += ["Devices:", *map(_indented, _devices(resource["devices"]))]
    lines += ["Allocations:", *map(_indented, [_allocation(each) for each in resource["allocations"]] or ["<none>"])]
    clients = [f"client {each['client']}: {each['state']}, {each['socket_name']}" for each in resource["plugins"]]
    lines += ["Plugins:", *(_indented(escape_terminal(line)) for line in clients or ["<none>"])]
    return "\n".join([*lines, "Why:", *_records(resource["why"])])


def _grace(left_s: float) -> str:
    if left_s < 0:
        return "over; the next node status forgets the resource [DM-47]"
    return f"{age_text(left_s)} left, then a node status forgets the resource [DM-47]"


def _or(value: object, otherwise: str) -> object:
    return otherwise if value is None else value


def _allocation(view: Document) -> str:
    ids = sorted({device for each in view["devices"] for device in each["ids"]})
    shown = ", ".join(ids[:_MOST_DEVICES]) + (" …" if len(ids) > _MOST_DEVICES else "")
    health = health_text([(name, word) for name, word in view["health"][:_MOST_DEVICES]])
    return escape_terminal(f"{view['pod']}/{view['container']}: {shown} ({health})")


def _devices(devices: Sequence[Document]) -> list[str]:
    if not devices:
        return ["<none>"]
    rows = [
        [
            each["id"],
            "healthy" if each["is_healthy"] else "unhealthy",
            each["health"],
            ",".join(map(str, each["numa_nodes"])) or "-",
            ", ".join(each["holders"]) or ("in use by nobody" if each["is_allocated"] else "-"),
        ]
        for each in devices[:_MOST_DEVICES]
    ]
    table = table_text(["DEVICE", "COUNTS AS", "SENT AS", "NUMA", "HELD BY"], rows)
    return [*table.splitlines(), *_further(devices, _MOST_DEVICES)]


def _events(events: Sequence[Document], now_s: float) -> list[str]:
    rows = [
        [
            event["type"],
            event["reason"],
            age_text(now_s - event["at_s"]) + (f" (x{event['count']})" if event["count"] > 1 else ""),
            event["field_path"] or "-",
            event["message"],
        ]
        for event in events
    ]
    return indented_table(["TYPE", "REASON", "AGE", "PART", "MESSAGE"], rows)


def _records(records: Sequence[Document]) -> list[str]:
    """Walks are kept together by their number: `#3` is the third walk of its kubelet process."""
    lines = [f"  … {len(records) - _MOST_RECORDS} earlier records: see kubelet-sim trace"] * (
        len(records) > _MOST_RECORDS
    )
    for each in records[-_MOST_RECORDS:]:
        walk = "" if each["walk"] is None else f"#{each['walk']}"
        rules = f"  [{', '.join(each['rules'])}]" if each["rules"] else ""
        mark = "WARNING " if each["level"] == "warning" else ""
        text = escape_terminal(f"{each['subject']}: {each['text']}")
        lines.append(f"  {each['at_s']:9.3f}s {walk:>4}  {mark}{text}{rules}")
    return lines or ["  <nothing>"]


def _further(items: Sequence[object], shown: int, prefix: str = "") -> list[str]:
    return [f"{prefix}… and {len(items) - shown} more"] if len(items) > shown else []


def _pairs(*pairs: tuple[str, object], width: int = 14) -> list[str]:
    """One line each, those without a value left out."""
    return [f"{name + ':':<{width}} {escape_terminal(str(value))}" for name, value in pairs if value != ""]


def _indented(line: str) -> str:
    return f"  {line}"
