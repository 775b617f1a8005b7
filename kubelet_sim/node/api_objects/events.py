"""The events that the kubelet tells the API server of: what `kubectl get events` and `kubectl describe` would show.

They are part of the API, not a log: behaviour is told by the transcript. The words of a container's events are those of
kubelets from 1.35 on; earlier ones name the container in the message.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, evolve, field

from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.views import EventView
from kubelet_sim.node.api_objects.api_server import EVENTS, KEPT_EVENTS, ApiServer, ObjectNotFound
from kubelet_sim.node.api_objects.node_times import NodeTimes

LONGEST_MESSAGE = 16_384
"""The most characters of a message, which may hold what a plugin wrote."""
NORMAL, WARNING = "Normal", "Warning"
NODE_EVENTS_NAMESPACE = "default"
"""The namespace of events about objects that have none."""


@define
class EventRecorder:
    """Tells the API server of events, and remembers the last ones: one that is told again is the same with a higher count.

    Args:
        api: who is told.
        times: the node's.
        node_name: where the events come from.
        kept: how many different ones are remembered; the one that was not told for the longest time is forgotten.
    """

    _api: ApiServer
    _times: NodeTimes
    _node_name: str
    _kept: int = KEPT_EVENTS
    _told: dict[tuple[str, str, str, str, str], tuple[EventView, str]] = field(factory=dict)
    """Each event, with the name of its object."""
    _count: int = 0

    def __len__(self) -> int:
        return len(self._told)

    def views(self) -> tuple[EventView, ...]:
        """Returns the events that are remembered, in order of the last time each was told."""
        return tuple(view for view, _ in self._told.values())

    async def of_node(self, reason: str, message: str, kind: str = NORMAL) -> None:
        """Tell something of the node. Its reference has no uid, as that of a kubelet has none."""
        about = {"apiVersion": "v1", "kind": "Node", "name": self._node_name}
        await self._tell(kind, reason, f"node/{self._node_name}", message, about)

    async def of_pod(self, pod: Pod, kind: str, reason: str, message: str, container: Container | None = None) -> None:
        """Tell something of a pod, or of one of its containers."""
        about = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "namespace": pod.namespace, "uid": str(pod.uid)}
        path = {} if container is None else {"fieldPath": field_path(container)}
        await self._tell(kind, reason, f"pod/{pod.key}", message, about | path)

    async def _tell(self, kind: str, reason: str, subject: str, message: str, about: Mapping[str, str]) -> None:
        if len(message) > LONGEST_MESSAGE:
            message = message[:LONGEST_MESSAGE] + "…"
        path, now_s = about.get("fieldPath", ""), self._times.passed_s()
        key = (kind, reason, subject, message, path)
        before = self._told.pop(key, None)  # to the end: the order is that of time
        if before is None:
            view = EventView(kind, reason, subject, message, now_s, now_s, field_path=path)
            name = await self._create(view, about)
        else:
            said, name = before
            view = evolve(said, at_s=now_s, count=said.count + 1)
            name = await self._count_up(view, name, about)
        self._told[key] = view, name
        if len(self._told) > self._kept:
            del self._told[next(iter(self._told))]

    async def _create(self, view: EventView, about: Mapping[str, str]) -> str:
        """Create the event and return its name, which is made of the time, as a kubelet does, and of a number: clocks may stand still."""
        self._count += 1
        name = f"{about['name']}.{self._times.nanoseconds() + self._count:x}"
        source = {"component": "kubelet", "host": self._node_name}
        obj = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": about.get("namespace", NODE_EVENTS_NAMESPACE)},
            "involvedObject": dict(about),
            "type": view.type,
            "reason": view.reason,
            "message": view.message,
            "count": view.count,
            "firstTimestamp": self._times.at(view.first_at_s),
            "lastTimestamp": self._times.at(view.at_s),
            "source": source,
            "reportingComponent": source["component"],
            "reportingInstance": source["host"],
        }
        await self._api.create(EVENTS, obj)
        return name

    async def _count_up(self, view: EventView, name: str, about: Mapping[str, str]) -> str:
        """Tell of the higher count and return the event's name; one that the API server has forgotten is created anew."""
        patch = {"count": view.count, "lastTimestamp": self._times.at(view.at_s)}
        try:
            await self._api.patch(EVENTS, name, about.get("namespace", NODE_EVENTS_NAMESPACE), patch)
        except ObjectNotFound:
            return await self._create(view, about)
        return name


def field_path(container: Container) -> str:
    """The part of a pod that an event about a container names."""
    part = "containers" if container.kind is ContainerKind.APP else "initContainers"
    return f"spec.{part}{{{container.name}}}"
