"""Who does what to whom in a record: lanes of a diagram, and the arrows and notes between them.

The values behind records say more than their words; where there are none, as on a running node, the words have to do.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, evolve, field, frozen

from kubelet_sim.node.recording.reader import Line
from kubelet_sim.transcript import Json, Record, RecordLevel

KUBELET, PODS, RUNTIME, AGENTS, PLUGIN = "kubelet", "pods", "runtime", "agents", "plugin"
_ORDER = (PODS, AGENTS, RUNTIME, KUBELET)
_POD_FACTS = ("PodActivated", "PodDeactivated")
_RUNTIME_FACTS = ("RuntimeListed", "ContainersRemoved")


@frozen
class Lane:
    """A participant of a diagram, with a line of its own."""

    kind: str
    name: str = ""
    """Of a plugin: its resource."""

    @property
    def label(self) -> str:
        """For people; a plugin's name is foreign text."""
        return {PLUGIN: self.name or "a plugin without a name", PODS: "pods, API server", AGENTS: "agents"}.get(
            self.kind, self.kind
        )


K = Lane(KUBELET)


@frozen
class Move:
    """One arrow, or a note beside a lane."""

    record: Record
    """With words, also where the record has none of its own."""
    source: Lane
    target: Lane | None = None
    """`None`: a note."""
    is_answer: bool = False
    has_failed: bool = False


def lanes_of(moves: list[Move]) -> list[Lane]:
    """Those that take part: pods, agents and runtime left of the kubelet, plugins right of it in order of appearance."""
    seen = dict.fromkeys(lane for move in moves for lane in (move.source, move.target) if lane is not None)
    seen.setdefault(K)
    first = [Lane(kind) for kind in _ORDER if Lane(kind) in seen]
    return first + [lane for lane in seen if lane.kind == PLUGIN]


@define
class Moves:
    """Makes moves of records, in their order."""

    _asked: dict[tuple[int, int | None], tuple[Lane, str]] = field(factory=dict)
    """Who waits for a walk, and what it is about."""

    def of(self, line: Line) -> Move | None:
        """The move; `None` for what only a replay needs."""
        record, value = line.record, line.value if isinstance(line.value, dict) else {}
        match record.kind:
            case "walk":
                return self._walk(record, value)
            case "end":
                return self._end(record, line.value)
            case "process":
                return Move(_told(record, "kubelet", f"kubelet process {record.incarnation} begins"), K)
            case "rpc":
                return self._rpc(record, line.status)
        if not record.number:
            return None
        if record.kind in {"effect", "answer", "fact"} and _is_of_plugin(record, value):
            return _to_or_from_plugin(record, value)
        match record.kind, value.get("type"):
            case "fact", str(type_) if type_ in _POD_FACTS:
                return Move(record, Lane(PODS), K)
            case "fact", str(type_) if type_ in _RUNTIME_FACTS:
                return Move(record, Lane(RUNTIME), K)
            case "decision", _ if "DM-21" in record.rules and (record.incarnation, record.walk) not in self._asked:
                return Move(record, Lane(PLUGIN, record.subject), K)
        return Move(record, _place(record))

    def _walk(self, record: Record, value: Mapping[str, Json]) -> Move:
        asks, subject, text = _question(value)
        self._asked[record.incarnation, record.walk] = asks, subject
        told = _told(record, subject, text)
        return Move(told, K) if asks == K else Move(told, asks, K)

    def _end(self, record: Record, value: Json) -> Move | None:
        asks, subject = self._asked.get((record.incarnation, record.walk), (None, ""))
        text, failed = _result(value)
        if asks is None or (asks == K and not failed):
            return None
        told = _told(record, subject, text)
        return Move(told, K, None if asks == K else asks, is_answer=True, has_failed=failed)

    def _rpc(self, record: Record, status: str) -> Move:
        failed = status not in {"", "OK"} or record.level is RecordLevel.WARNING
        if record.subject == "pod resources":
            return Move(record, Lane(AGENTS), K, has_failed=failed)
        if record.subject == "kubelet":
            return Move(record, K, has_failed=failed)
        return Move(record, K, Lane(PLUGIN, record.subject), has_failed=failed)


def _question(value: Mapping[str, Json]) -> tuple[Lane, str, str]:
    """Who asks, about what, and the words."""
    match value:
        case {"type": "RegisterAsked", "request": {"resource": str(resource), "socket_name": str(socket)}}:
            return Lane(PLUGIN, resource), resource, f"Register, socket {socket}"
        case {"type": "AdmissionAsked", "pod": {"name": str(name), "namespace": str(namespace)}}:
            return Lane(PODS), f"{namespace}/{name}", "a pod to admit"
        case {"type": "ResizeAsked", "pod": {"name": str(name), "namespace": str(namespace)}}:
            return Lane(PODS), f"{namespace}/{name}", "a pod to resize"
        case {
            "type": "PreparationAsked",
            "pod": {"name": str(name), "namespace": str(namespace)},
            "container": container,
        }:
            return Lane(RUNTIME), f"{namespace}/{name}", f"container {container} is to be created"
        case {"type": "WatchedAsked", "info": {"name": str(name)}}:
            return K, name, "the plugin that the watcher found is registered"
    return K, "kubelet", "a walk begins"


def _result(value: Json) -> tuple[str, bool]:
    """In words, and whether it is a failure."""
    match value:
        case {"error": str(error)}:
            shown = value.get("text") or value.get("description") or value.get("cause") or error
            return f"{value.get('code') or error}: {shown}", True
        case {"type": "Admitted"}:
            return "admitted", False
        case {"type": "Rejected"}:
            return f"rejected: {value.get('reason', '')}: {value.get('message', '')}", True
        case {"type": "ContainerSpec", **parts}:
            counts = [f"{name} {len(part)}" for name, part in parts.items() if isinstance(part, list)]
            return f"container options: {', '.join(counts) or 'none'}", False
        case None:
            return "no device plugin has a say in it", False
    return "OK", False


def _is_of_plugin(record: Record, value: Mapping[str, Json]) -> bool:
    return "client" in record.details or value.get("type") == "WatchedPluginGone"


def _to_or_from_plugin(record: Record, value: Mapping[str, Json]) -> Move:
    plugin = Lane(PLUGIN, record.subject)
    if record.kind == "effect":
        return Move(record, K, plugin)
    failed = "error" in value or record.level is RecordLevel.WARNING
    return Move(record, plugin, K, is_answer=record.kind == "answer", has_failed=failed)


def _place(record: Record) -> Lane:
    """The lane over which a record stands that is no call."""
    if record.kind != "node" or "/" not in record.subject or record.subject.startswith("/"):
        return K
    return Lane(RUNTIME if record.text.startswith("container ") else PODS)


def _told(record: Record, subject: str, text: str) -> Record:
    return evolve(record, subject=subject, text=text)
