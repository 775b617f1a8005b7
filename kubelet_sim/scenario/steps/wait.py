"""The step that waits until a node looks as it should."""

from __future__ import annotations

import asyncio
from typing import Any

from kubelet_sim.errors import TransportError, UsageError, there_are
from kubelet_sim.model.views import NodeSnapshot
from kubelet_sim.scenario.play.stage import StoryStage
from kubelet_sim.scenario.steps.pods import NAMESPACE
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.step_kind import Arguments, ReadSoFar, step

_WAITS_S = 30.0
_PHASES = ("Pending", "Running", "Succeeded", "Failed")


def _check_waits(so_far: ReadSoFar, arguments: dict[str, Any]) -> None:
    if not arguments.keys() & {"pod", "resource"}:
        raise UsageError("there is nothing to wait for: give a pod, or a resource")


def _waited(given: Arguments) -> str:
    wanted = [f"pod {given['pod']} is {given.get('phase', 'Running')}"] if "pod" in given else []
    if "resource" in given:
        count = given.get("healthy", 1)
        devices = "a healthy device" if count == 1 else f"{count} healthy devices"
        wanted.append(f"{given['resource']} has a plugin and {devices}")
    return f"Time passes until {' and '.join(wanted)}"


@step(
    _waited,
    takes={
        **NAMESPACE,
        "pod": values.text,
        "phase": values.one_of(_PHASES),
        "resource": values.text,
        "healthy": values.integer,
        "within": values.seconds,
    },
    check=_check_waits,
)
async def wait(
    stage: StoryStage,
    *,
    pod: str | None = None,
    phase: str = "Running",
    namespace: str = "default",
    resource: str | None = None,
    healthy: int = 1,
    within: float = _WAITS_S,
) -> None:
    """Real time passes until the pod is in that phase (`Running`, if none is said), or the resource has its devices.

    That is a plugin, and so many healthy devices. The step fails if it takes longer than `within` (30 s).
    """

    def holds(snapshot: NodeSnapshot) -> bool:
        is_there = pod is None or any(
            (view.name, view.namespace, view.phase) == (pod, namespace, phase) for view in snapshot.pods
        )
        has_devices = resource is None or (
            any(view.resource == resource and view.has_stream for view in snapshot.plugins)
            and any(view.name == resource and view.healthy >= healthy for view in snapshot.resources)
        )
        return is_there and has_devices

    wanted = [f"pod {pod} in phase {phase}"] if pod is not None else []
    wanted += [f"{resource} with {healthy} healthy devices"] if resource is not None else []
    deadline = asyncio.get_running_loop().time() + within
    while True:
        with stage.bell.listening() as rung:
            if holds(stage.node.status()):
                return
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                found = _instead(stage.node.status(), None if pod is None else (namespace, pod), resource)
                raise TransportError(f"there was no {' and '.join(wanted)} within {within:g} s: {found}")
            await rung(left_s)


def _instead(snapshot: NodeSnapshot, pod: tuple[str, str] | None, resource: str | None) -> str:
    """What is there in place of what was waited for."""
    seen = []
    if pod is not None:
        found = next((view for view in snapshot.pods if (view.namespace, view.name) == pod), None)
        why = ": ".join(filter(None, (found.reason, found.message))) if found else ""
        seen.append(f"the pod is {found.phase}{f' ({why})' if why else ''}" if found else "there is no such pod")
    if resource is not None:
        view = next((view for view in snapshot.resources if view.name == resource), None)
        if view is None:
            seen.append(f"the node does not know {resource}; {there_are([each.name for each in snapshot.resources])}")
        else:
            seen.append(view.words)
    return "; ".join(seen)
