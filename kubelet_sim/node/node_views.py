"""What can be seen of a node from outside: its kubelet process, a snapshot, events, pods, and when any of it changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from attrs import evolve

from kubelet_sim.core.state import State
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.views import EventView, NodeSnapshot, PodView
from kubelet_sim.node.api_objects.events import Events
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.kubelet_process.kubelet_assembly import Booting
from kubelet_sim.node.kubelet_process.kubelet_lifecycle import KubeletProcesses
from kubelet_sim.node.kubelet_process.kubelet_process import Kubelet
from kubelet_sim.node.pods.container_status import TERMINAL
from kubelet_sim.node.pods.main_loop import MainLoop
from kubelet_sim.node.pods.pod_status import pod_object
from kubelet_sim.node.pods.simulated_runtime import SimulatedRuntime
from kubelet_sim.node.pods.status_manager import StatusManager
from kubelet_sim.node.ports import Clock
from kubelet_sim.node.snapshot import allocation_views, plugin_views, pod_views, quantities, resource_views
from kubelet_sim.node.waited_for import InVain
from kubelet_sim.transcript import Record, Transcript


class NodeViews:
    """Of a node, which fills these in."""

    config: NodeConfig
    clock: Clock
    transcript: Transcript
    _events: Events
    _started_at_s: float
    _runtime: SimulatedRuntime
    _statuses: StatusManager
    _main_loop: MainLoop
    _booting: Booting
    _processes: KubeletProcesses

    @property
    def kubelet(self) -> Kubelet:
        """The kubelet process that runs now.

        Raises:
            UsageError: there is none.
        """
        return self._processes.kubelet

    @property
    def has_kubelet(self) -> bool:
        """Whether a kubelet process listens."""
        return self._processes.current is not None

    @property
    def http_url(self) -> str | None:
        """Where a started node shows metrics and health, without a slash at the end; `None`: nowhere."""
        http = self._booting.http
        return None if http is None else f"http://{http.address}"

    def status(self) -> NodeSnapshot:
        """The node at this moment; without a kubelet, what the API server and the runtime know."""
        kubelet, pods = self._processes.current, self._main_loop.pods
        state = State(node=self._processes.node_object) if kubelet is None else kubelet.state
        return NodeSnapshot(
            kubelet_version=self.config.profile.stands_for,
            root=str(self.config.root),
            clock="manual" if isinstance(self.clock, ManualClock) else "real",
            now_s=self._now(),
            incarnation=self.transcript.incarnation,
            sources_ready=state.sources_ready,
            capacity=quantities(state.node.capacity),
            allocatable=quantities(state.node.allocatable),
            resources=resource_views(state, pods, self._started_at_s),
            plugins=() if kubelet is None else plugin_views(state, kubelet.driver.links.values()),
            pods=_pods(pod_views(pods, self._runtime, state), has_books=kubelet is not None),
            allocations=allocation_views(state, pods),
            has_kubelet=kubelet is not None,
            cdi=self.config.profile.cdi.value,
        )

    def events(self) -> tuple[EventView, ...]:
        """What the kubelet has told the API server of, in order of the last time; a bounded number."""
        return self._events.views()

    def pod(self, name: str, namespace: str = "default") -> dict[str, Any]:
        """A pod with its status, as the API would show it: see `kubelet_sim.node.pods.pod_status`.

        Raises:
            UsageError: there is no such pod.
        """
        known = self._main_loop.pods.find(name, namespace)
        return pod_object(known, self._runtime, self._statuses.of(known.pod))

    def knows(self, uid: PodUID) -> bool:
        """Whether there is a pod of that uid, whatever its phase."""
        return self._main_loop.pods.get(uid) is not None

    async def changes(self) -> AsyncGenerator[None, None]:
        """Yield once at the start and then whenever something has happened; several things may be one change."""
        changed = asyncio.Event()
        changed.set()

        def note(_: Record) -> None:
            changed.set()

        unlisten = self.transcript.listen(note)
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
                    if self.has_kubelet and condition(snapshot := self.status()):
                        return snapshot
        except TimeoutError:
            raise InVain(f"what was waited for did not come in {timeout_s:g} s") from None
        finally:
            await changes.aclose()
        raise AssertionError("changes never end")

    def _now(self) -> float:
        return self.clock.now() - self._started_at_s


def _pods(views: tuple[PodView, ...], *, has_books: bool) -> tuple[PodView, ...]:
    """Without a kubelet nobody can say what a pod lacks, nor that its devices are free."""
    return (
        views if has_books else tuple(evolve(view, missing=(), is_active=view.phase not in TERMINAL) for view in views)
    )
