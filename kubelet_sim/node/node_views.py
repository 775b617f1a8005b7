"""What can be seen of a node from outside: a snapshot, events, pods, and when any of it changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from copy import deepcopy
from typing import Any

from attrs import evolve

from kubelet_sim.core.state import State
from kubelet_sim.errors import UsageError
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.node import NodeObject
from kubelet_sim.model.views import EventView, NodeSnapshot, PodView
from kubelet_sim.node.api_objects.api_server import KINDS, PODS, Object
from kubelet_sim.node.api_objects.new_pod import new_pod
from kubelet_sim.node.api_objects.objects_in_memory import ObjectsInMemory
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.pods.container_status import TERMINAL
from kubelet_sim.node.pods.pod_table import PodTable
from kubelet_sim.node.pods.surroundings import Surroundings
from kubelet_sim.node.snapshot import allocation_views, plugin_views, pod_views, quantities, resource_views
from kubelet_sim.node.waited_for import InVain
from kubelet_sim.transcript import Record


class NodeViews:
    """A node's `views`: it as a snapshot, and what is told of it.

    Args:
        around: what the node consists of.
        pods: those that the kubelet knows.
        objects: those of the API server.
        node_object: of the API server, as the last kubelet process left it.
    """

    def __init__(
        self,
        around: Surroundings,
        pods: PodTable,
        objects: ObjectsInMemory,
        node_object: Callable[[], NodeObject],
    ) -> None:
        self._around = around
        self._pods = pods
        self._objects = objects
        self._node_object = node_object

    def status(self) -> NodeSnapshot:
        """The node at this moment; without a kubelet, what the API server and the runtime know."""
        around, pods = self._around, self._pods
        kubelet = around.kubelet.process
        state = State(node=self._node_object()) if kubelet is None else kubelet.state
        return NodeSnapshot(
            kubelet_version=around.config.profile.stands_for,
            root=str(around.config.root),
            clock="manual" if isinstance(around.clock, ManualClock) else "real",
            now_s=around.now(),
            incarnation=around.transcript.incarnation,
            sources_ready=state.sources_ready,
            capacity=quantities(state.node.capacity),
            allocatable=quantities(state.node.allocatable),
            resources=resource_views(state, pods, around.started_at_s),
            plugins=() if kubelet is None else plugin_views(state, kubelet.driver.links.values()),
            pods=_pods(pod_views(pods, around.runtime, state), has_books=kubelet is not None),
            allocations=allocation_views(state, pods),
            has_kubelet=kubelet is not None,
            cdi=around.config.profile.cdi.value,
        )

    def events(self) -> tuple[EventView, ...]:
        """What the kubelet has told the API server of, in order of the last time; a bounded number."""
        return self._around.events.views()

    def pod(self, name: str, namespace: str = "default") -> dict[str, Any]:
        """A pod as the API server has it, with what the kubelet told last of its status.

        Raises:
            UsageError: there is no such pod.
        """
        known = self._pods.find(name, namespace)
        found = self._objects.find(PODS, name, namespace)
        return deepcopy(dict(found or new_pod(known.pod, self._around.config.node_name, known.phase)))

    def objects(self, kind: str) -> tuple[Object, ...]:
        """All objects of a kind, named in the plural, that the API server has; events in order of the last time.

        Raises:
            UsageError: there are none of that kind here.
        """
        if kind not in KINDS:
            raise UsageError(f"an API server of a node has no {kind}; it has {', '.join(sorted(KINDS))}")
        return self._objects.all(KINDS[kind])

    def knows(self, uid: PodUID) -> bool:
        """Whether there is a pod of that uid, whatever its phase."""
        return self._pods.get(uid) is not None

    async def changes(self) -> AsyncGenerator[None, None]:
        """Yield once at the start and then whenever something has happened; several things may be one change."""
        changed = asyncio.Event()
        changed.set()

        def note(_: Record) -> None:
            changed.set()

        unlisten = self._around.transcript.listen(note)
        try:
            while True:
                await changed.wait()
                changed.clear()
                yield
        finally:
            unlisten()

    async def wait_for(self, condition: Callable[[NodeSnapshot], bool], timeout_s: float = 30.0) -> NodeSnapshot:
        """The first snapshot that fulfils the condition.

        Args:
            timeout_s: in real time, whatever the node's clock is.

        Raises:
            InVain: it was not fulfilled in time.
        """
        changes = self.changes()
        try:
            async with asyncio.timeout(timeout_s):
                async for _ in changes:
                    if self._around.kubelet.process is not None and condition(snapshot := self.status()):
                        return snapshot
        except TimeoutError:
            raise InVain(f"what was waited for did not come in {timeout_s:g} s") from None
        finally:
            await changes.aclose()
        raise AssertionError("changes never end")


def _pods(views: tuple[PodView, ...], *, has_books: bool) -> tuple[PodView, ...]:
    """Without a kubelet nobody can say what a pod lacks, nor that its devices are free."""
    return (
        views if has_books else tuple(evolve(view, missing=(), is_active=view.phase not in TERMINAL) for view in views)
    )
