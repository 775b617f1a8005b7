"""Looks at a node as a whole, as plain values of what `get` shows; and the step that waits for what one sees there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from kubelet_sim.errors import TransportError, UsageError, there_are
from kubelet_sim.model.plain import plain
from kubelet_sim.model.views import NodeSnapshot, PodView, ResourceView
from kubelet_sim.rules import RULES
from kubelet_sim.scenario.play.stage import StoryStage
from kubelet_sim.scenario.steps.phrases import about as about_text
from kubelet_sim.scenario.steps.pods import NAMESPACE, POD, options
from kubelet_sim.scenario.steps.step_kind import Arguments, ReadSoFar, StepNodes, step
from kubelet_sim.scenario.story import values

_RECORD_KINDS = ("fact", "effect", "answer", "decision", "rpc", "fault", "node")
_OF_EVENTS = ("type", "reason", "object", "message", "count")
_OF_PLUGINS = (
    "resource",
    "socket_name",
    "state",
    "has_stream",
    "pre_start_required",
    "get_preferred_allocation_available",
)


@values.kind(values.text.schema)
def rule(value: object) -> str:
    """The id of a rule that there is. Raises `UsageError` that names similar ones."""
    if (found := values.text(value)) not in RULES:
        near = get_close_matches(found, RULES, 3)
        hint = f"did you mean {' or '.join(near)}?" if near else "rules are called as in DM-90"
        raise UsageError(f"there is no rule {found!r}; {hint}")
    return found


def _picked(value: Any, *keys: str) -> dict[str, Any]:
    return {key: getattr(value, key) for key in keys}


def _without(value: Any, *keys: str) -> dict[str, Any]:
    return {key: item for key, item in plain(value).items() if key not in keys}


def _one(found: Mapping[str, Any], name: str | None, what: str) -> Any:
    """The one of that name, or all of them."""
    if name is not None and name not in found:
        raise TransportError(f"there is no {what} {name}")
    return dict(found) if name is None else found[name]


@step("The node", comes="`kubelet`, `incarnation`, `capacity`, `allocatable`, …", is_look=True)
async def node(stage: StoryStage) -> Any:
    """The node as a whole, without what lies on it."""
    snapshot = stage.node.status()
    return {
        "kubelet": snapshot.has_kubelet,
        "version": snapshot.kubelet_version,
        "incarnation": snapshot.incarnation,
        "sources_ready": snapshot.sources_ready,
        "capacity": dict(snapshot.capacity),
        "allocatable": dict(snapshot.allocatable),
    }


@step(
    lambda given: f"Resource {given['resource']}" if "resource" in given else "Resources",
    takes={"resource": values.text},
    comes="by name; of one, that alone",
    is_look=True,
)
async def resources(stage: StoryStage, resource: str | None = None) -> Any:
    """The resources that the node knows, with their devices."""
    return _one({view.name: _resource(view) for view in stage.node.status().resources}, resource, "resource")


def _resource(view: ResourceView) -> dict[str, Any]:
    return _without(view, "name", "stopped_at_s") | {
        "devices": {device.id: _without(device, "id") for device in view.devices}
    }


@step("Connections to plugins", takes={"resource": values.text}, comes="`plugins`", is_look=True)
async def plugins(stage: StoryStage, resource: str | None = None) -> Any:
    """Connections to plugins, in order of registration."""
    views = stage.node.status().plugins
    return {"plugins": [_picked(view, *_OF_PLUGINS) for view in views if resource in {None, view.resource}]}


@step(
    lambda given: f"Pod {given['pod']}" if "pod" in given else "Pods",
    takes=NAMESPACE | POD,
    comes="by name, `namespace/` before it if that is not `default`; of one, that alone",
    is_look=True,
)
async def pods(stage: StoryStage, pod: str | None = None, namespace: str = "default") -> Any:
    """The pods of the node, with their containers."""
    found = {_pod_name(view.name, view.namespace): _pod(view) for view in stage.node.status().pods}
    return _one(found, None if pod is None else _pod_name(pod, namespace), "pod")


def _pod(view: PodView) -> dict[str, Any]:
    return _without(view, "name", "namespace", "created_at_s", "requests", "limits") | {
        "containers": {each.name: _without(each, "name", "last_finished_at_s", "id") for each in view.containers}
    }


def _pod_name(name: str, namespace: str) -> str:
    return name if namespace == "default" else f"{namespace}/{name}"


@step("Who holds which devices", takes=NAMESPACE | POD, comes="`allocations`", is_look=True)
async def allocations(stage: StoryStage, pod: str | None = None, namespace: str = "default") -> Any:
    """Which container of which pod holds which devices."""
    wanted = None if pod is None else f"{namespace}/{pod}"
    return {
        "allocations": [
            {
                **_picked(view, "pod", "container", "resource"),
                "ids": sorted(each for _, ids in view.devices for each in ids),
                "health": dict(view.health),
            }
            for view in stage.node.status().allocations
            if wanted in {None, view.pod}
        ]
    }


@step(lambda given: f"Events{about_text(given)}", takes={"about": values.text}, comes="`events`", is_look=True)
async def events(stage: StoryStage, about: str = "") -> Any:
    """Events whose object, reason or message holds the text."""
    return {
        "events": [
            _picked(event, *_OF_EVENTS)
            for event in stage.node.events()
            if any(about in text for text in (event.object, event.reason, event.message))
        ]
    }


@step(
    "What a container of pod {pod} got",
    POD,
    takes={**NAMESPACE, "container": values.text},
    comes="`options`, or `error`",
    is_look=True,
    nodes=StepNodes.WHOLE,
)
async def container_spec(stage: StoryStage, pod: str, container: str | None = None, namespace: str = "default") -> Any:
    """What a container got when it was created."""
    try:
        return {"options": options(stage.node.container_spec(pod, container, namespace))}
    except UsageError as error:
        return {"error": str(error)}


@step(
    lambda given: f"Records of the transcript{about_text(given)}",
    takes={"about": values.text, "kind": values.one_of(_RECORD_KINDS), "rule": rule},
    comes="`records`",
    is_look=True,
)
async def trace(stage: StoryStage, about: str = "", kind: str | None = None, rule: str | None = None) -> Any:
    """Records of the transcript, from the beginning on: those of a kind, of a rule, and whose subject or text holds `about`."""
    return {
        "records": [
            {**_picked(each, "kind", "subject", "text"), "rules": list(each.rules)}
            for each in stage.node.transcript
            if (about in each.subject or about in each.text)
            and kind in {None, each.kind}
            and (rule is None or rule in each.rules)
        ]
    }


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
