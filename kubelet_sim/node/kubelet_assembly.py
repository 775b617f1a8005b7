"""How a kubelet process of a node comes into being: what it is made of, and what starts with it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from attrs import define

from kubelet_sim.core.cpus.cpu_manager import CpuAllocations
from kubelet_sim.core.facts import RuntimeListed
from kubelet_sim.core.ports import Order
from kubelet_sim.core.topology.alignment import Alignment
from kubelet_sim.errors import CheckpointError
from kubelet_sim.model.node import NodeObject
from kubelet_sim.model.plugin import DEVICE_PLUGIN_TYPE
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.hooks import HookedCalls, HookedOrder, HookedStore, Hooks
from kubelet_sim.node.kubelet_process.driver import World
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletPart, KubeletProcess, Seams, Setup
from kubelet_sim.node.pods.pod_table import PodTable
from kubelet_sim.node.pods.surroundings import Surroundings
from kubelet_sim.node.ports import CheckpointStore, PluginCalls, RegistryCalls
from kubelet_sim.node.recording.picks import RecordingOrder
from kubelet_sim.node.root_directory.checkpoint_store import FileCheckpointStore
from kubelet_sim.node.root_directory.held_inode import HeldInode
from kubelet_sim.node.root_directory.layout import RootLayout
from kubelet_sim.node.services.http_address import HttpAddress
from kubelet_sim.node.services.plugin_watcher import PluginWatcher, WatcherSetup
from kubelet_sim.node.services.pod_resources import PodResourcesApi
from kubelet_sim.node.services.registry_files import leave_no_registry, make_registry
from kubelet_sim.profiles import Profile
from kubelet_sim.transcript import RecordLevel
from kubelet_sim.wire.messages import decode_container_response
from kubelet_sim.wire.plugin_client import GrpcPluginCalls
from kubelet_sim.wire.registration_server import GrpcRegistrationServers

if TYPE_CHECKING:  # a node without an HTTP address needs no aiohttp
    from kubelet_sim.node.services.http_endpoint import HttpEndpoint


def plugin_calls(profile: Profile) -> GrpcPluginCalls:
    """The way to plugins that a kubelet of that release takes. Rules: DM-40, DM-169"""
    return GrpcPluginCalls(authority_is_localhost=profile.authority_is_localhost)


@define
class Booting:
    """Makes one kubelet process after the other; what they share and what outlives them is kept here."""

    _around: Surroundings
    _pods: PodTable
    """What other parts of a kubelet look at; the device manager is told of pods one by one."""
    _hooks: Hooks
    _calls: PluginCalls
    _registry: RegistryCalls
    _order: Order | None
    _given_store: CheckpointStore | None
    _cpus: CpuAllocations | None
    _busy_for_s: Callable[[], float]
    """How long the main loop has been without progress."""
    http: HttpEndpoint | None = None
    """Of the last process, if it shows anything over HTTP."""
    _file_store: FileCheckpointStore | None = None

    async def kubelet(
        self,
        layout: RootLayout,
        node: NodeObject,
        listed: RuntimeListed,
        active: Sequence[Pod],
    ) -> KubeletProcess:
        """A process that has cleaned its directory and does not listen yet: see `finish`.

        Args:
            layout: where the node lies.
            node: the node object that the process before it left.
            listed: the containers that the runtime reports (DM-110).
            active: pods that count as active before they are admitted again.

        Raises:
            TransportError: it could not start, in the kubelet's words (DM-9); nothing of it is left.
        """
        around, config = self._around, self._around.config
        alignment = Alignment(config.topology, config.numa, self._cpus)
        order = RecordingOrder(HookedOrder(self._order, self._hooks), around.transcript)
        setup = Setup(config.profile, order, config.machine, alignment)
        calls, store = HookedCalls(self._calls, self._hooks), HookedStore(self._store(layout), self._hooks)
        directory, is_refused = str(layout.device_plugins), self._hooks.is_status_refused
        world = World(calls, store, around.clock, around.transcript, directory, is_refused)
        servers = GrpcRegistrationServers(appears=config.socket_appears.value, watching=self._hooks)
        kubelet = KubeletProcess(setup, world, Seams(servers, decode_container_response), node)
        try:
            self._registry_directory(layout)
            await kubelet.begin(listed, active)
        except BaseException:
            await kubelet.die()
            raise
        return kubelet

    async def finish(
        self, kubelet: KubeletProcess, layout: RootLayout, after_s: float = 0.0, inode: HeldInode | None = None
    ) -> None:
        """Have the process listen, after so long on the clock; its sources are not ready yet.

        Args:
            kubelet: a process that has begun.
            layout: where the node lies.
            after_s: how long it takes.
            inode: that of the socket before, if this one is to get it where the file system gives it.

        Raises:
            TransportError: it could not start, in the kubelet's words (DM-9); nothing of it is left.
        """
        try:
            if after_s:
                await self._around.clock.sleep(after_s)
            await (kubelet.listen(inode.lead_to) if inode is not None else kubelet.listen())
            for part in self._parts(kubelet, layout):
                await kubelet.add(part)
        except BaseException:
            if inode is not None:
                inode.let_go()
            await kubelet.die()
            raise

    async def has_written(self) -> None:
        """Return when all checkpoints are on disk that the processes before wanted there."""
        if self._file_store is not None:
            with contextlib.suppress(CheckpointError):
                await self._file_store.read()

    def close(self) -> None:
        """Close the checkpoint store that the processes shared."""
        store, self._file_store = self._file_store, None
        if store is not None:
            store.close()

    def _parts(self, kubelet: KubeletProcess, layout: RootLayout) -> Iterable[KubeletPart]:
        """What else lives in the process, in the order in which it starts."""
        around = self._around
        if around.config.has_pod_resources:
            socket = layout.pod_resources_socket
            order, cpus, hooks = self._order, self._cpus, self._hooks
            yield PodResourcesApi(kubelet, self._pods, around, socket, order=order, cpus=cpus, hooks=hooks)
        if around.config.has_plugin_watcher:
            profile = around.config.profile
            setup = WatcherSetup(layout, profile, self._registry, around.clock, around.transcript)
            watcher = PluginWatcher(setup, {DEVICE_PLUGIN_TYPE: kubelet})
            kubelet.observed.watched_plugins = watcher.counts
            yield watcher
        if around.config.http_address is not None:
            yield self._http_endpoint(kubelet, around.config.http_address)

    def _http_endpoint(self, kubelet: KubeletProcess, wanted: str) -> KubeletPart:
        """Where the process before it was: a port that was found once is kept."""
        from kubelet_sim.node.services.kubelet_http import kubelet_http

        address = HttpAddress.parse(wanted) if self.http is None else self.http.address
        self.http = kubelet_http(kubelet, address, self._busy_for_s)
        return self.http

    def _registry_directory(self, layout: RootLayout) -> None:
        """There before `kubelet.sock` is, with the watcher, and not at all without: plugins look whether it exists.

        Rules: DM-146
        """
        if self._around.config.has_plugin_watcher:
            make_registry(layout.plugins_registry)
        elif not leave_no_registry(layout.plugins_registry):
            text = "plugins_registry is not empty and nobody watches it: some plugins that see it do not call Register"
            self._around.transcript.add("node", "kubelet", text, rules=("DM-146",), level=RecordLevel.WARNING)

    def _store(self, layout: RootLayout) -> CheckpointStore:
        if self._given_store is not None:
            return self._given_store
        if self._file_store is None:
            reads_old = self._around.config.profile.reads_checkpoint_before_1_20
            self._file_store = FileCheckpointStore(layout.device_plugins, reads_before_1_20=reads_old)
        return self._file_store
