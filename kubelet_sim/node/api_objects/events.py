"""The events that the kubelet tells the API server of: what `kubectl get events` and `kubectl describe` would show.

They are part of the API, not a log: behaviour is told by the transcript. The words of a container's events are those of
kubelets from 1.35 on; earlier ones name the container in the message.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.views import EventView

NODE_NAME = "kubelet-sim"
"""What the emulated node is called in its node object, in events, and in names of static pods."""
KEPT = 1000
LONGEST_MESSAGE = 16_384
"""Characters: a message may hold what a plugin wrote."""
NORMAL, WARNING = "Normal", "Warning"


class Events:
    """The last events, of which the same one said again is one with a higher count.

    Args:
        now: seconds since the node started.
        kept: how many different ones are remembered; the one that was not said for the longest time is forgotten.
    """

    def __init__(self, now: Callable[[], float], *, kept: int = KEPT) -> None:
        self._now = now
        self._kept = kept
        self._events: dict[tuple[str, str, str, str, str], EventView] = {}

    def __len__(self) -> int:
        return len(self._events)

    def views(self) -> tuple[EventView, ...]:
        """Those that are remembered, in order of the last time each was said."""
        return tuple(self._events.values())

    def of_node(self, reason: str, message: str, kind: str = NORMAL) -> None:
        """Tell something of the node."""
        self._add(kind, reason, f"node/{NODE_NAME}", message, "")

    def of_pod(self, pod: Pod, kind: str, reason: str, message: str, container: Container | None = None) -> None:
        """Tell something of a pod, or of one of its containers."""
        self._add(kind, reason, f"pod/{pod.key}", message, "" if container is None else field_path(container))

    def _add(self, kind: str, reason: str, subject: str, message: str, path: str) -> None:
        if len(message) > LONGEST_MESSAGE:
            message = message[:LONGEST_MESSAGE] + "…"
        key = (kind, reason, subject, message, path)
        now_s = self._now()
        before = self._events.pop(key, None)  # to the end: the order is that of time
        self._events[key] = (
            EventView(kind, reason, subject, message, now_s, now_s, field_path=path)
            if before is None
            else evolve(before, at_s=now_s, count=before.count + 1)
        )
        if len(self._events) > self._kept:
            del self._events[next(iter(self._events))]


def field_path(container: Container) -> str:
    """The part of a pod that an event about a container names."""
    part = "containers" if container.kind is ContainerKind.APP else "initContainers"
    return f"spec.{part}{{{container.name}}}"
