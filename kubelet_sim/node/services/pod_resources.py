"""The pod resources API of a kubelet process: which pods it knows, and which of them it still counts in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from kubelet_sim.core.cpus.cpu_manager import CpuAllocations
from kubelet_sim.core.kubelet.pod_resources import ResourcesView
from kubelet_sim.core.ports import Order
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.pod_resources import AllocatableResources, ApiVersion, PodResources
from kubelet_sim.node.hooks import HookedOrder, Hooks
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletProcess
from kubelet_sim.node.pods.pod_table import PodTable
from kubelet_sim.node.pods.surroundings import Surroundings
from kubelet_sim.transcript import Json, RecordLevel, Rpc
from kubelet_sim.wire.pod_resources_server import PodResourcesServer


class PodResourcesApi:
    """Serves the API at a path as long as the process lives; a part of the kubelet, and what its server asks.

    Args:
        kubelet: the process.
        pods: those of the API server and of other sources. A static pod is among them as itself; mirrors are not made.
        around: the node's choices, its clock and its transcript.
        socket: where it is served.
        order: who picks where the kubelet's order is open; sorted if not given.
        hooks: those of the node.
        cpus: the allocations of exclusive cpus, if the node has any.

    Rules: PR-1, PR-3, PR-11
    """

    def __init__(
        self,
        kubelet: KubeletProcess,
        pods: PodTable,
        around: Surroundings,
        socket: Path,
        *,
        order: Order | None = None,
        cpus: CpuAllocations | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self._kubelet = kubelet
        self._pods = pods
        self._profile = around.config.profile
        self._transcript = around.transcript
        self._socket = socket
        self._now = around.clock.now
        self._hooks = hooks or Hooks()
        self._view = ResourcesView(kubelet.state, cpus, HookedOrder(order, self._hooks))
        self._server = self._new_server()

    async def start(self) -> None:
        """Listen. Raises `TransportError`, which ends the start of the kubelet. Rules: PR-2, PR-3"""
        await self._server.listen(self._socket)
        self._transcript.add("node", "kubelet", f"pod resources are served on {self._socket}", rules=("PR-1",))

    async def reopen(self) -> None:
        """Cut all connections, and listen on a new socket file. Raises `TransportError`. Rules: PR-2"""
        await self._server.stop(leave_socket=True)
        self._server = self._new_server()
        await self.start()

    async def stop(self, *, leave_socket: bool) -> None:
        """End with the process. A kubelet leaves its socket's file behind; a node that stops does not. Rules: PR-2"""
        await self._server.stop(leave_socket=leave_socket)

    async def listed(self, version: ApiVersion) -> tuple[PodResources, ...]:
        """The pods are taken first, then devices of inactive ones are freed, then it is looked up what they hold.

        Rules: PR-11, PR-13, PR-31
        """
        all_known = version is ApiVersion.V1ALPHA1 or not self._profile.list_shows_active_pods_only
        known, active = tuple(self._known()), tuple(self._active())
        pods = self._hooks.pods_listed(known if all_known else active, known)
        await self._kubelet.reclaim()
        return self._view.pods(pods, version)

    async def found(self, name: str, namespace: str) -> PodResources | None:
        """The pod recorded last under that name, unless it is inactive. Rules: PR-16, PR-17, PR-18, PR-19"""
        named = [pod for pod in self._known() if (pod.namespace, pod.name) == (namespace, name)]
        active = {pod.uid for pod in self._active()}
        return self._view.pod(named[-1]) if named and named[-1].uid in active else None

    async def allocatable(self) -> AllocatableResources:
        """What the plugins and the cpus have to give. Rules: PR-20, PR-25, PR-26, DM-164"""
        return self._view.allocatable(with_unhealthy=self._profile.allocatable_lists_unhealthy)

    def _known(self) -> Iterable[Pod]:
        """Every pod, whatever became of it, in the order in which they came. Rules: PR-12"""
        pods = {known.pod.uid: known.pod for known in self._pods}
        return {**pods, **self._kubelet.state.active_pods}.values()

    def _active(self) -> Iterable[Pod]:
        """Those that count: admitted, being admitted, or waiting for it. Rules: PR-12, DM-116

        The device manager's own list, by which it frees devices, is without pods whose admission has not begun.
        """
        waiting = {known.pod.uid: known.pod for known in self._pods if not known.is_terminal}
        return {**waiting, **self._kubelet.state.active_pods}.values()

    def _new_server(self) -> PodResourcesServer:
        return PodResourcesServer(
            self,
            self._profile,
            now=self._now,
            count=self._kubelet.observed.count_pod_resources,
            rejected=self._say_rejected,
            called=self._hooks.pod_resources_called,
            seen=self._say_called,
        )

    def _say_rejected(self) -> None:
        text = "a pod resources call is refused: the bucket of its rate limit, filled by the node's clock, is empty"
        self._transcript.add("node", "kubelet", text, rules=("PR-6",), level=RecordLevel.WARNING)

    def _say_called(self, method: str, status: str, took_s: float, values: Callable[[], tuple[Json, Json]]) -> None:
        """A call and how it ended; what was asked and answered is for recorders. Rules: PR-4"""
        transcript = self._transcript
        service, _, name = method.removeprefix("/").rpartition("/")
        rpc = Rpc(method, *values(), status, took_s) if transcript.is_recorded else None
        transcript.add("rpc", "pod resources", f"{name} of {service}: {status}", rules=("PR-4",), payload=rpc)
