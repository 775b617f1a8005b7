"""One kubelet process: from its start, with whatever the last one left behind, to its end without a farewell.

A node has one at a time. What outlives it (the node object, the checkpoint, the pods that the API server knows, running
containers) belongs to the node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from attrs import field, frozen

from kubelet_sim.core.devices.watched_plugins import serving_socket
from kubelet_sim.core.facts import (
    Fact,
    PodActivated,
    PodDeactivated,
    ReclaimAsked,
    RuntimeListed,
    SourcesReadyChanged,
    StatusRoundDue,
    WatchedPluginGone,
)
from kubelet_sim.core.kubelet.kubelet import Kubelet
from kubelet_sim.core.ports import Order
from kubelet_sim.core.state import State
from kubelet_sim.core.topology.alignment import Alignment
from kubelet_sim.core.topology.settings import Merger
from kubelet_sim.core.walks import AdmissionAsked, PreparationAsked, RegisterAsked, ResizeAsked, WatchedAsked
from kubelet_sim.errors import KubeletSimError, PreparationFailed
from kubelet_sim.model.admission import Admission, Rejected
from kubelet_sim.model.ids import PodUID, ResourceName
from kubelet_sim.model.node import DEFAULT_MACHINE, NodeObject, NodeStatusRound
from kubelet_sim.model.plugin import SOCKET_NAME, PluginInfo, Registration
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.response import ContainerResponse, ContainerSpec
from kubelet_sim.node.kubelet_process.caller import Caller
from kubelet_sim.node.kubelet_process.driver import Driver, World
from kubelet_sim.node.kubelet_process.kubelet_start import deprecate_directory, restored_checkpoint, sweep_directory
from kubelet_sim.node.kubelet_process.observations import Observations, reason_to_count
from kubelet_sim.node.ports import RegistrationServers
from kubelet_sim.node.root_directory.device_plugin_directory import make_directory
from kubelet_sim.profiles import V1_36, Profile
from kubelet_sim.transcript import RecordLevel, Rpc

T = TypeVar("T")
A = TypeVar("A")
STATUS_TRIES = 5
"""Rules: DM-67"""


class KubeletGone(KubeletSimError):
    """The kubelet process ended before it could answer; a late answer reaches nobody."""


@frozen
class Setup:
    """What kind of kubelet it is."""

    profile: Profile = V1_36
    order: Order | None = None
    machine: Mapping[str, Quantity] = field(default=DEFAULT_MACHINE, hash=False)
    alignment: Alignment | None = None


@frozen
class Seams:
    """What a kubelet needs of `wire`, besides the calls to plugins."""

    servers: RegistrationServers
    decode_response: Callable[[bytes], ContainerResponse]
    """Raises `ValueError` for bytes that are no container response."""


class KubeletPart(Protocol):
    """Something else that lives and ends with a kubelet process."""

    async def start(self) -> None:
        """Begin. Raises `TransportError`: the kubelet could not start."""

    async def stop(self, *, leave_socket: bool) -> None:
        """End as a process ends. May come without a start.

        Args:
            leave_socket: whether the files of its sockets stay, as when a process is killed.
        """


class KubeletProcess:
    """A kubelet process of the node."""

    def __init__(self, setup: Setup, world: World, seams: Seams, node: NodeObject) -> None:
        self._profile = setup.profile
        self._world = world
        self._seams = seams
        self._kubelet = Kubelet(
            setup.profile,
            world.transcript,
            order=setup.order,
            node=node,
            machine=setup.machine,
            alignment=setup.alignment,
        )
        self._driver = Driver(self._kubelet, world)
        self._server = seams.servers.server(self.register, self._malformed)
        self._parts: list[KubeletPart] = []
        self.registration_failure: str | None = None
        """Why the registration server ended, if that was an error; it does not come back. Rules: DM-12"""

    @property
    def state(self) -> State:
        """The tables of the kubelet, for looking."""
        return self._kubelet.state

    @property
    def profile(self) -> Profile:
        """The profile of the kubelet release that is emulated."""
        return self._kubelet.context.profile

    @property
    def merger(self) -> Merger:
        """The topology manager's policy, for looking."""
        return self._kubelet.context.merger

    @property
    def observed(self) -> Observations:
        """What the process has counted and measured so far."""
        return self._driver.observed

    @property
    def driver(self) -> Driver:
        """The driver of this process, for looking at connections."""
        return self._driver

    @property
    def parts(self) -> tuple[KubeletPart, ...]:
        """What else lives in this process, for looking, in the order in which it started."""
        return tuple(self._parts)

    async def begin(self, listed: RuntimeListed, active: Iterable[Pod]) -> None:
        """The first half of a start, in the kubelet's order: runtime, checkpoint, directory, cleaning.

        A directory that cannot be cleaned ends the start, a checkpoint that cannot be read does not (DM-143).

        Args:
            listed: the containers that the runtime reports.
            active: pods that the sources have delivered before.

        Raises:
            TransportError: with the kubelet's words; it would exit with status 1 (DM-9).

        Rules: DM-2, DM-6, DM-7, DM-9, DM-17
        """
        directory = Path(self._world.directory)
        self._world.transcript.record("process", self._kubelet.state.node)
        make_directory(directory)
        await self.apply(listed)
        for pod in active:
            await self.apply(PodActivated(pod))
        if (restored := await restored_checkpoint(self._world, self._seams.decode_response)) is not None:
            await self.apply(restored)
        make_directory(directory)
        sweep_directory(self._world, self._profile)

    async def listen(self, before_bind: Callable[[Path | None], None] = lambda _: None) -> None:
        """The second half of a start: the registration socket. No pod comes before it.

        Args:
            before_bind: told where the socket's file will be made, right before it is, if plugins do not see it there.

        Raises:
            TransportError: with the kubelet's words; it would exit with status 1 (DM-9).

        Rules: DM-5, DM-6, DM-9, DM-15, DM-20
        """
        path = Path(self._world.directory) / SOCKET_NAME
        await self._server.listen(str(path), before_bind)
        self._note(f"listening on {path}", "DM-11")
        if self._profile.makes_deprecation_file:
            deprecate_directory(self._world)

    async def add(self, part: KubeletPart) -> None:
        """Start something that ends with this process, the last one first. Raises what its start raises."""
        self._parts.append(part)
        await part.start()

    async def lose_registration_server(self, cause: str) -> None:
        """Its listener fails: the socket's file goes, nobody can register any more, and all else goes on.

        Rules: DM-12
        """
        self.registration_failure = cause
        await self._server.stop()
        text = f"device plugin registration gRPC server failed and no device plugins can register: {cause}"
        self._note(text, "DM-12", RecordLevel.WARNING)

    async def die(self, *, leave_socket: bool = False) -> None:
        """End as a process ends: no farewell to plugins, connections closed, walks never finished.

        Args:
            leave_socket: whether the file of the registration socket stays, as when a process is killed (DM-16).

        Rules: DM-14, DM-16
        """
        while self._parts:
            await self._parts.pop().stop(leave_socket=leave_socket)
        await self._server.stop(leave_socket=leave_socket)
        await self._driver.close()

    async def register(self, request: Registration) -> None:
        """Answer a Register call; it goes on without its caller only until it waits for the plugin (DM-30).

        Up to 1.34 it goes on in any case, up to 1.24 the caller is answered before anybody is dialled.

        Rules: DM-20, DM-30, DM-38, DM-39, DM-163, DM-178
        """
        caller = Caller()
        task = self._driver.own(self._driver.walk(RegisterAsked(request), caller))
        task.add_done_callback(_look_at_refusal)
        try:
            if await caller.wait(task):
                await finished(task)
        except asyncio.CancelledError:
            if self._profile.register_context_reaches_plugin:
                caller.leave()
            raise

    async def register_watched(self, info: PluginInfo, registration_socket: str) -> None:
        """Register a plugin that the plugin watcher has asked what it is.

        Raises:
            PluginNotValid: nobody handles such a plugin.
            RegistrationRefused: it could not be registered. Either has the text that the plugin is told.

        Rules: DM-148, DM-149, DM-150
        """
        asked = WatchedAsked(info, registration_socket, self._world.directory)
        await finished(self._driver.own(self._driver.walk(asked, Caller(registration_socket))))

    async def deregister_watched(self, info: PluginInfo, registration_socket: str) -> None:
        """Deregister a plugin that the plugin watcher had registered. Rules: DM-152"""
        socket = serving_socket(info, registration_socket, self._world.directory)
        await self.apply(WatchedPluginGone(ResourceName(info.name), socket, self._world.clock.now()))

    async def admit(self, pod: Pod) -> Admission:
        """The verdict on a pod, after all earlier ones. A plugin that does not answer holds up everybody.

        Rules: DM-74
        """
        verdict = await finished(self._driver.own(self._driver.walk(AdmissionAsked(pod), in_turn=True)))
        if isinstance(verdict, Rejected):
            self.observed.rejections[reason_to_count(verdict.reason)] += 1
        return verdict

    async def resize(self, pod: Pod) -> Admission:
        """The verdict on an admitted pod with other amounts, after all earlier ones. Rules: DM-74, DM-114"""
        return await finished(self._driver.own(self._driver.walk(ResizeAsked(pod), in_turn=True)))

    async def prepare(self, pod: Pod, container: Container) -> ContainerSpec | None:
        """What the container gets, once more at every creation; `None`: no device plugin has a say in it.

        Raises:
            PreparationFailed: the container cannot be created for now.
        """
        try:
            return await finished(self._driver.own(self._driver.walk(PreparationAsked(pod, container.name))))
        except PreparationFailed:
            kind = "container" if container.kind is ContainerKind.APP else "init_container"
            self.observed.container_errors[kind, "CreateContainerConfigError"] += 1
            raise

    async def apply(self, fact: Fact[A]) -> A:
        """Hand a fact to the kubelet that decides."""
        return await self._driver.apply(fact)

    async def status_round(self) -> NodeStatusRound:
        """A round of the node status: computed anew as long as the API server refuses it, five times at most.

        Rules: DM-62, DM-65, DM-67
        """
        tries_left = STATUS_TRIES
        while True:
            tries_left -= 1
            is_stored = not self._world.is_status_refused()
            done = await self.apply(StatusRoundDue(self._world.clock.now(), is_stored))
            if is_stored or not tries_left:
                return done

    async def deactivate(self, uid: PodUID) -> None:
        """A pod is over; its devices stay in use until somebody asks for some. Rules: DM-115, DM-116"""
        await self.apply(PodDeactivated(uid))

    async def sources_ready(self, *, ready: bool) -> None:
        """Whether all pod sources have delivered. Rules: DM-109"""
        await self.apply(SourcesReadyChanged(ready))

    async def reclaim(self) -> None:
        """Free the devices of inactive pods now. Rules: DM-115"""
        await self.apply(ReclaimAsked())

    def run(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something that ends with this kubelet process."""
        return self._driver.own(work)

    def _malformed(self, cause: str) -> None:
        text = f"Register refused: the message cannot be decoded: {cause}"
        rpc = Rpc("/v1beta1.Registration/Register", None, None, "Internal", 0.0)
        self._world.transcript.add("rpc", "kubelet", text, rules=("DM-29",), level=RecordLevel.WARNING, payload=rpc)

    def _note(self, text: str, rule: str, level: RecordLevel = RecordLevel.INFO) -> None:
        self._world.transcript.add("node", "kubelet", text, rules=(rule,), level=level)


async def finished(task: asyncio.Task[T]) -> T:
    """Wait for work that goes on even if nobody waits for it any more."""
    over: asyncio.Future[None] = task.get_loop().create_future()

    def settle(_: object) -> None:
        if not over.done():  # else nobody waits any more
            over.set_result(None)

    task.add_done_callback(settle)
    try:
        await over
    except asyncio.CancelledError:
        task.add_done_callback(_look_at_refusal)
        raise
    if task.cancelled():
        raise KubeletGone("the kubelet process ended before it could answer")
    return task.result()


def _look_at_refusal(task: asyncio.Task[Any]) -> None:
    """A refusal is in the transcript, and its caller has gone: asyncio need not tell of it. Of a bug it still does."""
    if not task.cancelled() and not isinstance(error := task.exception(), KubeletSimError | None):
        context = {"message": "work that nobody waits for failed", "exception": error, "task": task}
        task.get_loop().call_exception_handler(context)
