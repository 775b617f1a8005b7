"""The kubelet processes of a node, one after the other: how each begins and ends, and that there may be none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from random import Random

from kubelet_sim.core.facts import RuntimeListed
from kubelet_sim.core.kubelet.node_status import registered
from kubelet_sim.errors import TransportError
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.life import Comeback
from kubelet_sim.model.node import NodeObject, NodeStatusRound
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.resource_name import is_extended_resource_name
from kubelet_sim.node.api_objects.node_registration import NodeRegistration
from kubelet_sim.node.kubelet_assembly import Booting
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletProcess
from kubelet_sim.node.pods.surroundings import Surroundings
from kubelet_sim.node.root_directory.device_plugin_directory import looks_new, lose_files, make_directory
from kubelet_sim.node.root_directory.held_inode import HeldInode, inode_of
from kubelet_sim.node.root_directory.layout import RootLayout
from kubelet_sim.transcript import RecordLevel

NODE_STATUS_PERIOD_S = 10.0
"""Rules: DM-65"""

Running = frozenset[tuple[PodUID, ContainerName]]
Dispatch = Callable[[KubeletProcess], asyncio.Task[None]]
"""Begins the work of a process that listens; the task is done when every pod was admitted again."""


class KubeletProcesses:
    """Of one node. The caller sees to it that only one thing is asked of it at a time."""

    def __init__(
        self, around: Surroundings, booting: Booting, node: NodeObject, registration: NodeRegistration
    ) -> None:
        self._around = around
        self._current = around.kubelet
        self._booting = booting
        self._random = Random(around.config.seed)  # noqa: S311 - stretches periods, keeps no secrets
        self._status_round = asyncio.Lock()
        self._starting: asyncio.Task[None] | None = None
        self._inode: HeldInode | None = None
        """Of the socket of the process before, until the next one has its own."""
        self.node_object = node
        """As the last process left it."""
        self._registration = registration

    @property
    def is_there(self) -> bool:
        """Whether a process runs, be it one that does not listen yet."""
        return self._current.process is not None or self._current.is_starting

    async def kill(self) -> None:
        """The process is gone without a farewell, its socket's file is still there. Rules: DM-16"""
        was_there = self.is_there
        await self._end(leave_socket=True)
        if was_there:
            self._note("the kubelet process ended", "DM-16")
            self._around.transcript.incarnation += 1

    async def boot(self, layout: RootLayout, running: Running, active: Sequence[Pod]) -> KubeletProcess:
        """A process that listens, and to whom nothing was dispatched yet. Raises what its start raises."""
        return await self._boot(layout, RuntimeListed(running), active)

    async def _boot(self, layout: RootLayout, listed: RuntimeListed, active: Sequence[Pod]) -> KubeletProcess:
        begun = await self._begin(layout, listed, active)
        await self._booting.finish(begun, layout, inode=self._inode)
        self._say_inode(layout)
        await self._take_over(begun)
        return begun

    async def come_back(self, layout: RootLayout, how: Comeback, dispatch: Dispatch) -> asyncio.Task[None]:
        """Start a process after the last one was killed; the answer is done when its sources are ready.

        If its socket is to appear later, this returns before; a failure is in the transcript then.

        Raises:
            TransportError: it could not start.
        """
        await self._booting.has_written()
        if how.same_inode:
            self._inode = HeldInode.of(layout.registration_socket, layout.held_inode)
            if self._inode is None:
                self._note("there was no kubelet.sock whose inode the next one could have", "DM-17")
        for lost in lose_files(layout, how):
            self._note(f"{lost} is lost", "DM-113")
        if not how.is_late:
            return dispatch(await self._boot(layout, self._listed(), ()))
        early = None
        if how.runtime_after_s:
            await self._register_node(layout)
            self._note(f"the container runtime is not ready: the kubelet goes on in {how.runtime_after_s:g} s", "DM-5")
        else:
            early = await self._begin(layout, self._listed(), ())
            self._note(f"the kubelet starts; its socket appears in {how.socket_after_s:g} s", "DM-5")

        async def later() -> None:
            try:
                await self._around.clock.sleep(how.runtime_after_s)
                begun = early or await self._begin(layout, self._listed(), ())
                await self._booting.finish(begun, layout, how.socket_after_s, self._inode)
                self._say_inode(layout)
                await self._take_over(begun)
                dispatch(begun)
            except TransportError as failure:
                self._note(f"the kubelet could not start: {failure}", "DM-9", RecordLevel.WARNING)
            finally:
                self._starting, self._current.is_starting = None, False

        self._current.is_starting = True
        self._starting = asyncio.get_running_loop().create_task(later())
        return self._starting

    async def _begin(self, layout: RootLayout, listed: RuntimeListed, active: Sequence[Pod]) -> KubeletProcess:
        """A process that has cleaned its directory; it goes on from the node object that the API server has."""
        self.node_object = await self._registration.known(self.node_object)
        return await self._booting.kubelet(layout, self.node_object, listed, active)

    def _listed(self) -> RuntimeListed:
        return RuntimeListed(self._around.runtime.running(), self._around.runtime.listed())

    async def _register_node(self, layout: RootLayout) -> None:
        """What the API server is told before the device manager has started: all is there, or nothing of a new machine.

        Rules: DM-2, DM-64, DM-68
        """
        self.node_object = await self._registration.known(self.node_object)
        make_directory(layout.device_plugins)
        is_new = looks_new(layout.device_plugins)
        if is_new and any(map(is_extended_resource_name, self.node_object.capacity)):
            text = "the directory is empty, so the node counts as a new one: its extended resources are set to 0"
            self._note(text, "DM-68", RecordLevel.WARNING)
        self.node_object = registered(self.node_object, is_new=is_new)
        await self._registration.tell(self.node_object)

    async def close(self) -> None:
        """End the process that runs, with its socket, and what all of them shared."""
        await self._end(leave_socket=False)
        self._booting.close()

    async def settle(self) -> None:
        """Time stands still while a node status is computed, as its checkpoint is written in a thread, and streams end."""
        async with self._status_round:
            pass
        if self._current.process is not None:
            await self._current.process.driver.closed_streams_are_over()

    def _say_inode(self, layout: RootLayout) -> None:
        if (wanted := self._let_go()) is not None:
            is_same = inode_of(layout.registration_socket) == wanted.number
            text = "as the one before" if is_same else "another one: the file system does not give that of before"
            self._note(f"the inode of kubelet.sock is {'the same ' if is_same else ''}{text}", "DM-17")

    def _let_go(self) -> HeldInode | None:
        held, self._inode = self._inode, None
        if held is not None:
            held.let_go()
        return held

    async def _end(self, *, leave_socket: bool) -> None:
        self._let_go()
        starting, self._starting, self._current.is_starting = self._starting, None, False
        if starting is not None:
            starting.cancel()
            await asyncio.wait([starting])
        kubelet, self._current.process = self._current.process, None
        if kubelet is not None:
            self.node_object = kubelet.state.node
            await kubelet.die(leave_socket=leave_socket)

    async def _take_over(self, kubelet: KubeletProcess) -> None:
        """From now on, this is the kubelet of the node."""
        self._current.process = kubelet
        await self._around.events.of_node("Starting", "Starting kubelet.")
        await self._registration.tell(kubelet.state.node)
        if self._around.config.has_status_rounds:
            await self.status_round(kubelet)
            kubelet.run(self._status_rounds(kubelet))

    async def _status_rounds(self, kubelet: KubeletProcess) -> None:
        """Every period of the clock, each stretched a little. Rules: DM-65"""
        stretch = self._around.config.profile.node_status_stretch
        while True:
            await self._around.clock.sleep(NODE_STATUS_PERIOD_S * (1 + self._random.uniform(0, stretch)))
            async with self._status_round:
                await self.status_round(kubelet)

    async def status_round(self, kubelet: KubeletProcess) -> NodeStatusRound:
        """Have the node status computed, and tell the API server what is new. Rules: DM-65"""
        done = await kubelet.status_round()
        await self._registration.tell(done.node)
        return done

    def _note(self, text: str, rule: str, level: RecordLevel = RecordLevel.INFO) -> None:
        self._around.transcript.add("node", "kubelet", text, rules=(rule,), level=level)
