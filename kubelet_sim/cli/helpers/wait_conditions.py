"""The conditions that `wait` can wait for: of the node, resources, plugins and pods."""

from __future__ import annotations

import re
from typing import Protocol

from attrs import frozen

from kubelet_sim.errors import UsageError, there_are
from kubelet_sim.model.ids import split_pod_name
from kubelet_sim.model.views import NodeSnapshot, PodView

PHASES = ("Pending", "Running", "Succeeded", "Failed")
_FINAL = ("Succeeded", "Failed")
_DELETED = "deleted"
_CONDITION = re.compile(r"(?P<kind>resource|pod)/(?P<name>.+)=(?P<value>[^=]*)", re.DOTALL)


@frozen
class Standing:
    """How a condition stands in a snapshot."""

    is_met: bool
    text: str
    """What is there instead, or as well."""
    is_final: bool = False
    """Whether waiting is of no more use."""
    note: str = ""
    """What is odd although it is met."""


class Condition(Protocol):
    """A condition of the node that `wait` can wait for."""

    def look(self, snapshot: NodeSnapshot) -> Standing:
        """How the condition stands in a snapshot of the node."""


@frozen
class HealthyDevices:
    """A resource has so many healthy devices."""

    resource: str
    count: int

    def look(self, snapshot: NodeSnapshot) -> Standing:
        """Met by exactly so many; a resource that nobody knows has none."""
        found = next((view for view in snapshot.resources if view.name == self.resource), None)
        if found is None:
            known = there_are([view.name for view in snapshot.resources])
            return Standing(self.count == 0, f"the node does not know this resource; {known}")
        return Standing(found.healthy == self.count, found.words)


@frozen
class PodPhase:
    """The condition that a pod is in a phase."""

    namespace: str
    name: str
    phase: str

    def look(self, snapshot: NodeSnapshot) -> Standing:
        """A pod that has ended stays as it is."""
        found = _pod(snapshot, self.namespace, self.name)
        if found is None:
            return Standing(is_met=False, text=f"there is no pod {self.namespace}/{self.name}")
        why = ": ".join(part for part in _reasons(found) if part)
        text = f"the pod is {found.phase}" + (f": {why}" if why else "")
        note = f"the pod runs without {', '.join(found.missing)} [DM-81]" if found.missing else ""
        return Standing(found.phase == self.phase, text, is_final=found.phase in _FINAL, note=note)


@frozen
class PodDeleted:
    """The condition that a pod is not on the node."""

    namespace: str
    name: str

    def look(self, snapshot: NodeSnapshot) -> Standing:
        """Met by a pod that never was, too."""
        found = _pod(snapshot, self.namespace, self.name)
        return Standing(found is None, "there is no such pod" if found is None else f"the pod is {found.phase}")


def parse_condition(text: str) -> Condition:
    """The condition that is written so. Raises `UsageError` with what can be written."""
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is no condition; expected resource/NAME=N or pod/NAME=PHASE")
    kind, name, value = match.group("kind", "name", "value")
    if kind == "resource":
        if not (value.isascii() and value.isdecimal() and len(value) < 10):  # noqa: PLR2004 - far beyond any node
            raise UsageError(f"{text!r}: {value!r} is no number of devices")
        return HealthyDevices(name, int(value))
    namespace, name = split_pod_name(name)
    if value.lower() == _DELETED:
        return PodDeleted(namespace, name)
    for phase in PHASES:
        if value.lower() == phase.lower():
            return PodPhase(namespace, name, phase)
    raise UsageError(f"{text!r}: {value!r} is none of {', '.join(PHASES)}, {_DELETED}")


def _pod(snapshot: NodeSnapshot, namespace: str, name: str) -> PodView | None:
    return next((view for view in snapshot.pods if (view.namespace, view.name) == (namespace, name)), None)


def _reasons(pod: PodView) -> tuple[str, ...]:
    if pod.reason or pod.message:
        return pod.reason, pod.message
    return next(((each.name, each.reason, each.message) for each in pod.containers if each.message), ())
