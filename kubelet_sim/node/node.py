"""The handle on an emulated node: everything a user can do with one.

A node outlives its kubelet processes. It keeps what lies outside of them: the root directory, the clock, the pods that the
API server knows, the container runtime, the node object, the transcript.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Self

from kubelet_sim.core.cpus.cpu_manager import CpuAllocations
from kubelet_sim.core.ports import Order
from kubelet_sim.errors import UsageError
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.life import AS_USUAL, Comeback
from kubelet_sim.model.node import NodeObject, NodeStatusRound, checked_node_name
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.api_objects.events import WARNING, EventRecorder
from kubelet_sim.node.api_objects.node_registration import NodeRegistration
from kubelet_sim.node.api_objects.node_times import MANUAL_START, NodeTimes
from kubelet_sim.node.api_objects.objects_in_memory import ObjectsInMemory
from kubelet_sim.node.clock import ManualClock, RealClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.faults import FaultBook
from kubelet_sim.node.hooks import Hooks
from kubelet_sim.node.kubelet_assembly import Booting, plugin_calls
from kubelet_sim.node.kubelet_lifecycle import KubeletProcesses
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletProcess, finished
from kubelet_sim.node.node_views import NodeViews
from kubelet_sim.node.pods.main_loop import MainLoop
from kubelet_sim.node.pods.simulated_runtime import SimulatedRuntime
from kubelet_sim.node.pods.status_manager import StatusManager
from kubelet_sim.node.pods.surroundings import NO_KUBELET, Surroundings, Timers
from kubelet_sim.node.ports import CheckpointStore, Clock, PluginCalls, RegistryCalls
from kubelet_sim.node.root_directory.root import Root
from kubelet_sim.tasks import to_its_end
from kubelet_sim.transcript import Transcript
from kubelet_sim.wire.control_server import ControlServer
from kubelet_sim.wire.registry_client import GrpcRegistryCalls


class Node:
    """An emulated node, used from one event loop; `kubelet_sim.node.sync` has the same for everybody else.

    Args:
        config: the choices; see `NodeConfig`.
        clock: the time of every deadline of ours; real if not given.
        calls: the way to plugins; gRPC if not given.
        registry: the way to sockets that the plugin watcher finds; likewise.
        order: who picks where the kubelet leaves a choice open; sorted if not given.
        store: where the checkpoint lies; the file in the device-plugin directory if not given.
    """

    def __init__(
        self,
        config: NodeConfig,
        *,
        clock: Clock | None = None,
        calls: PluginCalls | None = None,
        registry: RegistryCalls | None = None,
        order: Order | None = None,
        store: CheckpointStore | None = None,
    ) -> None:
        self.config = config
        self.clock = clock = clock or RealClock()
        started_at_s = clock.now()
        self.transcript = Transcript(lambda: clock.now() - started_at_s)
        self.hooks = Hooks()
        """Where what goes in and out of this node can be watched or bent."""
        self.plugin_calls = calls or plugin_calls(config.profile)
        """The way to plugins, past all hooks."""
        self._root: Root | None = None
        self._control: ControlServer | None = None
        times = NodeTimes(MANUAL_START if isinstance(clock, ManualClock) else datetime.now(UTC), self.transcript.now)
        runtime, self.api_objects = SimulatedRuntime(), ObjectsInMemory(times)
        """What the API server has: pods with their statuses, events, the Node."""
        self._around = around = Surroundings(
            config=config,
            clock=clock,
            transcript=self.transcript,
            events=EventRecorder(self.api_objects, times, config.node_name),
            runtime=runtime,
            started_at_s=started_at_s,
            api=self.api_objects,
            statuses=StatusManager(
                config.profile,
                clock,
                self.transcript,
                Random(config.seed),  # noqa: S311 - stretches periods, keeps no secrets
                self.api_objects,
                runtime,
                times,
            ),
            timers=Timers(clock),
        )
        self.pods = MainLoop(around)
        """What can be done to pods, and what they got."""
        self._booting = Booting(
            around,
            self.pods.table,
            self.hooks,
            self.plugin_calls,
            registry or GrpcRegistryCalls(),
            order,
            store,
            None if config.exclusive_cpus is None else CpuAllocations(config.exclusive_cpus),
            self.pods.busy_for_s,
        )
        self._registration = NodeRegistration(self.api_objects, times, config.node_name, config.profile.stands_for)
        machine = NodeObject(config.machine, config.machine)
        self._processes = KubeletProcesses(around, self._booting, machine, self._registration)
        self.views = NodeViews(around, self.pods.table, self.api_objects, lambda: self._processes.node_object)
        """What can be seen of the node."""
        self.fault_book = FaultBook(self)
        """What goes wrong on purpose."""
        self._life = asyncio.Lock()
        self._unsettle: Callable[[], None] | None = None
        # What is asked for most has its name here, too.
        self.admit, self.apply, self.apply_manifests = self.pods.admit, self.pods.apply, self.pods.apply_manifests
        self.remove, self.exit_container = self.pods.remove, self.pods.exit_container
        self.prepare, self.container_spec = self.pods.prepare, self.pods.container_spec
        self.status, self.events, self.pod = self.views.status, self.views.events, self.views.pod
        self.objects = self.views.objects
        self.changes, self.wait_for = self.views.changes, self.views.wait_for
        faults = self.fault_book
        self.inject, self.faults, self.undo_fault = faults.inject, faults.active, faults.undo

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await to_its_end(self.stop())

    # --- the life of the node

    async def start(self) -> None:
        """Take the root directory and start the first kubelet process.

        Raises:
            UsageError: the root cannot be used; nothing is left behind.
            TransportError: the kubelet could not start, in its own words (DM-9); nothing is left behind.
        """
        async with self._life:
            if self._root is not None:
                raise UsageError("the node is started already")
            checked_node_name(self.config.node_name)
            self._root = Root.open(self.config.root)
            if isinstance(self.clock, ManualClock):
                self._unsettle = self.clock.also_settle(self._processes.settle)
            try:
                ready = await self._come_back(AS_USUAL)
                if self.config.has_control_socket:
                    self._control = ControlServer(self, self._root.layout.control_socket)
                    await self._control.start()
            except BaseException:
                await self._close()
                raise
        await finished(ready)

    async def stop(self) -> None:
        """End everything: no socket, task or thread of ours is left; the checkpoint stays. May be repeated."""
        async with self._life:
            await self._close()

    async def restart(self, how: Comeback = AS_USUAL) -> None:
        """The kubelet process ends and a new one starts on the same directory; containers keep running.

        Returns when every pod that has not ended was admitted again, which may reject it; with a socket that appears
        later, when the directory is cleaned. A node without a kubelet gets one.

        Raises:
            TransportError: the new process could not start; the node is without a kubelet until the next one.

        Rules: DM-16, DM-17, DM-108, DM-111, DM-113
        """
        await self._replace(how)

    async def reboot(self, how: Comeback = AS_USUAL, *, seed: int | None = None) -> None:
        """The machine goes down and comes up again: every container has ended, then a kubelet starts as at a restart.

        Plugin processes are the caller's: they go on, unless the caller ends them before.

        Args:
            how: what was lost meanwhile, and how soon the socket is there.
            seed: puts the pods into an order of its own for their admission; without, the oldest is first.

        Raises:
            TransportError: the new process could not start; the node is without a kubelet until the next one.

        Rules: DM-108, DM-111, DM-113
        """
        await self._replace(how, reboots=True, seed=seed)

    async def crash(self) -> None:
        """The kubelet process dies and stays away, until `start_kubelet` or `restart`; its socket refuses callers.

        Containers and plugins go on, pods can be applied and deleted; nobody admits, restarts or stops anything.

        Raises:
            UsageError: no kubelet runs.

        Rules: DM-16
        """
        async with self._life:
            if not self._processes.is_there:
                raise UsageError(NO_KUBELET)
            await self.kill()

    async def start_kubelet(self, how: Comeback = AS_USUAL) -> None:
        """Start a kubelet after a `crash`; otherwise as `restart`.

        Raises:
            UsageError: one runs already.
            TransportError: it could not start.
        """
        await self._replace(how, wants_none=True)

    async def _replace(
        self, how: Comeback, *, reboots: bool = False, seed: int | None = None, wants_none: bool = False
    ) -> None:
        how.check()
        async with self._life:
            _ = self.root  # raises if the node is not started
            if wants_none and self._processes.is_there:
                raise UsageError("a kubelet runs on this node already; use restart")
            await self.kill()
            if reboots:
                await self._lose_power()
            ready = await self._come_back(how, seed)
        # Outside of the lock: a plugin that does not answer must not keep the node from stopping.
        if not how.is_late:
            await finished(ready)

    async def _lose_power(self) -> None:
        await self._around.timers.cancel()
        self._around.runtime.lose_power(self._around.now())
        self._registration.rebooted()
        await self._around.events.of_node("Rebooted", f"Node {self.config.node_name} has been rebooted", kind=WARNING)
        self.transcript.add("node", "node", "the machine was rebooted: no container runs")

    async def kill(self) -> None:
        """The first half of `restart`: the kubelet process is gone, its socket's file is still there. Rules: DM-16"""
        await self._processes.kill()

    async def _come_back(self, how: Comeback, seed: int | None = None) -> asyncio.Task[None]:
        def dispatch(kubelet: KubeletProcess) -> asyncio.Task[None]:
            return kubelet.run(self.pods.dispatch(kubelet, seed))

        return await self._processes.come_back(self.root.layout, how, dispatch)

    async def boot(self, running: frozenset[tuple[PodUID, ContainerName]], active: Sequence[Pod]) -> KubeletProcess:
        """The second half of `restart`, without pods: a process whose sources are not ready yet.

        Args:
            running: the containers that the runtime reports running (DM-110).
            active: pods that count as active before they are admitted again.
        """
        kubelet = await self._processes.boot(self.root.layout, running, active)
        kubelet.run(self.pods.take_notices(kubelet))
        return kubelet

    async def _close(self) -> None:
        await self.fault_book.close()
        control, self._control = self._control, None
        if control is not None:
            await control.stop()
        await self._processes.close()
        await self._around.timers.cancel()
        unsettle, self._unsettle = self._unsettle, None
        if unsettle is not None:
            unsettle()
        root, self._root = self._root, None
        if root is not None:
            root.close()

    # --- time, and what goes on around

    async def advance(self, seconds: float) -> None:
        """Let time pass at once; node status rounds that fall due on the way are done when this returns.

        So are registrations by the plugin watcher whose plugins answer within moments.

        Raises:
            UsageError: the node runs on the real clock.
        """
        if not isinstance(self.clock, ManualClock):
            raise UsageError("time passes by itself on this node; start it with a manual clock to move it by hand")
        await self.clock.advance(seconds)

    async def status_round(self) -> NodeStatusRound:
        """Compute the node status now. Rules: DM-65"""
        return await self._processes.status_round(self.kubelet)

    async def lose_registration_server(self, cause: str = "accept: use of closed network connection") -> None:
        """Let the listener on `kubelet.sock` fail, which a kubelet only mends by a restart.

        The file goes, the health check `device-plugin` fails with the cause; plugins that are there stay.

        Rules: DM-12
        """
        await self.kubelet.lose_registration_server(cause)

    # --- what there is

    @property
    def kubelet(self) -> KubeletProcess:
        """The kubelet process that runs now. Raises `UsageError` if there is none."""
        return self._around.kubelet.required()

    @property
    def has_kubelet(self) -> bool:
        """Whether a kubelet process listens."""
        return self._around.kubelet.process is not None

    @property
    def http_url(self) -> str | None:
        """Where a started node shows metrics and health, without a slash at the end; `None`: nowhere."""
        http = self._booting.http
        return None if http is None else f"http://{http.address}"

    @property
    def root(self) -> Root:
        """The root directory of a started node. Raises `UsageError` if it is not started."""
        if self._root is None:
            raise UsageError("the node is not started")
        return self._root
