"""Looks at a whole node: what `get` shows, as plain values."""

from __future__ import annotations

import asyncio
from typing import Any

from kubelet_sim.errors import TransportError, UsageError, there_are
from kubelet_sim.model.views import NodeSnapshot
from kubelet_sim.node.bell import Bell
from kubelet_sim.node.node import Node
from kubelet_sim.scenario.play import looks

WAITS_S = 30.0


class Views:
    """The steps that look at a node, or wait for what one sees there."""

    _node: Node
    _bell: Bell

    async def _do_node(self) -> Any:
        return looks.node(self._node.status())

    async def _do_resources(self, resource: str | None = None) -> Any:
        found = {view.name: looks.resource(view) for view in self._node.status().resources}
        return found if resource is None else _named(found, resource, "resource")

    async def _do_plugins(self, resource: str | None = None) -> Any:
        views = self._node.status().plugins
        return {"plugins": [_plugin(view) for view in views if resource in {None, view.resource}]}

    async def _do_pods(self, pod: str | None = None, namespace: str = "default") -> Any:
        found = {looks.pod_name(view): looks.pod(view) for view in self._node.status().pods}
        return found if pod is None else _named(found, _pod_name(pod, namespace), "pod")

    async def _do_allocations(self, pod: str | None = None, namespace: str = "default") -> Any:
        views = self._node.status().allocations
        wanted = None if pod is None else f"{namespace}/{pod}"
        return {
            "allocations": [
                {
                    "pod": view.pod,
                    "container": view.container,
                    "resource": view.resource,
                    "ids": sorted(each for _, ids in view.devices for each in ids),
                    "health": dict(view.health),
                }
                for view in views
                if wanted in {None, view.pod}
            ]
        }

    async def _do_events(self, about: str = "") -> Any:
        keys = ("type", "reason", "object", "message", "count")
        return {
            "events": [
                {key: getattr(event, key) for key in keys}
                for event in self._node.events()
                if any(about in text for text in (event.object, event.reason, event.message))
            ]
        }

    async def _do_container_spec(self, pod: str, container: str | None = None, namespace: str = "default") -> Any:
        try:
            return {"options": looks.options(self._node.container_spec(pod, container, namespace))}
        except UsageError as error:
            return {"error": str(error)}

    async def _do_trace(self, about: str = "", kind: str | None = None, rule: str | None = None) -> Any:
        return {
            "records": [
                {"kind": each.kind, "subject": each.subject, "text": each.text, "rules": list(each.rules)}
                for each in self._node.transcript
                if (about in each.subject or about in each.text)
                and kind in {None, each.kind}
                and (rule is None or rule in each.rules)
            ]
        }

    async def _do_wait(
        self,
        *,
        pod: str | None = None,
        phase: str = "Running",
        namespace: str = "default",
        resource: str | None = None,
        healthy: int = 1,
        within: float = WAITS_S,
    ) -> None:
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
            with self._bell.listening() as rung:
                if holds(self._node.status()):
                    return
                left_s = deadline - asyncio.get_running_loop().time()
                if left_s <= 0:
                    seen = _seen(self._node.status(), None if pod is None else (namespace, pod), resource)
                    raise TransportError(f"there was no {' and '.join(wanted)} within {within:g} s: {seen}")
                await rung(left_s)


def _seen(snapshot: NodeSnapshot, pod: tuple[str, str] | None, resource: str | None) -> str:
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


def _plugin(view: Any) -> dict[str, Any]:
    keys = (
        "resource",
        "socket_name",
        "state",
        "has_stream",
        "pre_start_required",
        "get_preferred_allocation_available",
    )
    return {key: getattr(view, key) for key in keys}


def _pod_name(pod: str, namespace: str) -> str:
    return pod if namespace == "default" else f"{namespace}/{pod}"


def _named(found: dict[str, Any], name: str, what: str) -> Any:
    if name not in found:
        raise TransportError(f"there is no {what} {name}")
    return found[name]
