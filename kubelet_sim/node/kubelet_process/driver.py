"""Performs what the core asks for: advances walks, hands facts in, carries effects out, writes all of it down.

One driver serves one kubelet process. It knows no rule of allocation; its own rules are those of time and of connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from attrs import define, frozen

from kubelet_sim.core.devices import plugin_clients as clients
from kubelet_sim.core.effects import (
    AnswerCaller,
    CallAllocate,
    CallGetDevicePluginOptions,
    CallGetPreferredAllocation,
    CallPreStartContainer,
    CloseConnection,
    Dial,
    Effect,
    NotifyPodHealth,
    OpenListAndWatch,
    TakeAdmissionTurn,
    Walk,
    WriteCheckpoint,
)
from kubelet_sim.core.facts import DevicesListed, Fact, StreamEnded
from kubelet_sim.core.kubelet.kubelet import Kubelet
from kubelet_sim.core.walks import AdmissionAsked, Asked, RegisterAsked, ResizeAsked
from kubelet_sim.errors import CheckpointNotWritten, DialFailed, InvariantError, PluginFault, RpcFailed
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.ids import ClientID, DeviceID
from kubelet_sim.model.plugin import (
    DIAL_TIMEOUT_S,
    PRE_START_TIMEOUT_S,
    AllocateAnswer,
    PluginOptions,
)
from kubelet_sim.node.clock import all_over, with_timeout
from kubelet_sim.node.kubelet_process.caller import Caller
from kubelet_sim.node.kubelet_process.fact_texts import answer_text, client_details, effect_text, fact_text
from kubelet_sim.node.kubelet_process.health_notices import Notices
from kubelet_sim.node.kubelet_process.observations import Observations
from kubelet_sim.node.kubelet_process.plugin_connections import Link, socket_path
from kubelet_sim.node.ports import CheckpointStore, Clock, PluginCalls
from kubelet_sim.profiles import HealthNotices
from kubelet_sim.tasks import Tasks
from kubelet_sim.transcript import RecordLevel, Transcript

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A")

_CALLS = (
    CallAllocate,
    CallGetDevicePluginOptions,
    CallGetPreferredAllocation,
    CallPreStartContainer,
    RegisterAsked,
)
SPENT_LINKS = 100
"""How many connections that nothing leads to any more are kept open, and for looking."""
CLOSING_S = 1.5
"""For how long of real time a manual clock stands still for the stream of a closed connection, at most."""


@frozen
class World:
    """What the driver reaches of the world."""

    calls: PluginCalls
    store: CheckpointStore
    clock: Clock
    transcript: Transcript
    directory: str
    """The device-plugin directory, absolute."""
    is_status_refused: Callable[[], bool] = lambda: False
    """Asked before each computation of the node status: whether the API server is not to store it."""


@frozen
class Came:
    """What came of an effect, or of a whole walk, for those who record it."""

    asked: object
    """The effect, or what the walk was begun with."""
    answer: object
    """What it was answered with, or the failure."""
    took_s: float
    """On the node's clock."""

    @property
    def status(self) -> str:
        """How the call ended, as gRPC's code under the kubelet's name; empty for what is no call. Rules: DM-29"""
        if not isinstance(self.asked, _CALLS):
            return ""
        match self.answer:
            case RpcFailed(code=code):
                return code
            case PluginFault():
                return "Unknown"
        return "OK"


@define
class _Run:
    """A walk that is under way, and who waits for it."""

    number: int
    caller: Caller | None = None
    """Who may give it up."""
    has_turn: bool = False
    """Whether it holds up admissions until its end."""


class Driver:
    """Runs one kubelet's decisions in the world."""

    def __init__(self, kubelet: Kubelet, world: World) -> None:
        self._kubelet = kubelet
        self._world = world
        self._tasks = Tasks()
        self._walks = 0
        self._turn = asyncio.Lock()
        has_room = kubelet.context.profile.health_notices is HealthNotices.QUEUE
        self.observed = Observations()
        """What it counts and measures."""
        self.notices = Notices(world.transcript, has_room=has_room)
        """Of changes of device health, for the main loop."""
        self.links: dict[ClientID, Link] = {}
        """The connections of this kubelet process, in order of registration; of the spent ones the last."""

    def own(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something that ends with this kubelet process, and not before because somebody stopped waiting for it."""
        return self._tasks.run(work)

    async def close(self) -> None:
        """End everything at once, as the end of a process does: walks, streams, connections. Rules: DM-16"""
        await self._tasks.cancel()
        links = [link for link in self.links.values() if not link.is_closed]
        await asyncio.gather(*(self._close(link) for link in links))

    async def closed_streams_are_over(self) -> None:
        """A manual clock stands still meanwhile: that a stream of a closed connection ends takes no time on a node."""
        await all_over(
            lambda: {
                link.stream: link.closed_at_s + CLOSING_S
                for link in self.links.values()
                if link.is_closed and link.stream is not None
            }
        )

    async def apply(self, fact: Fact[A]) -> A:
        """Hand a fact in and perform what follows from it, before anything else of the same stream. Rules: DM-60"""
        subject, text, rules = fact_text(fact, self._kubelet.state)
        level = RecordLevel.WARNING if isinstance(fact, StreamEnded) and self._is_lost(fact) else RecordLevel.INFO
        transcript, details = self._world.transcript, client_details(fact)
        transcript.add("fact", subject, text, rules=rules, level=level, details=details, payload=fact)
        applied = self._kubelet.apply(fact)
        transcript.record("applied", applied)
        for effect in applied.effects:
            try:
                await self.perform(effect)
            except CheckpointNotWritten as failure:
                # A failed write after a list or a status round is only told. Rules: CP-3, DM-136
                self._world.transcript.add("effect", subject, str(failure), rules=("CP-3",), level=RecordLevel.WARNING)
        return applied.answer

    async def walk(self, asked: Asked[R], caller: Caller | None = None, *, in_turn: bool = False) -> R:
        """Advance a walk to its end. Its decisions and effects carry one number in the transcript.

        Args:
            asked: what it has to answer.
            caller: who may give it up.
            in_turn: whether it waits for all earlier admissions, as admissions do (DM-74).
        """
        self._walks += 1
        run = _Run(self._walks, caller)
        try:
            if in_turn:
                await self._take_turn(run)
            return await self._walked(asked, run)
        finally:
            if run.has_turn:
                self._turn.release()

    async def _walked(self, asked: Asked[R], run: _Run) -> R:
        """From the first step to the last, each end of which is told."""
        tell, now = self._world.transcript.record, self._world.clock.now
        walk, begun_at_s = self._kubelet.begin(asked), now()
        tell("walk", asked, walk=run.number)
        try:
            result = await self._advanced(walk, run)
        except (PluginFault, CheckpointNotWritten) as failure:
            tell("end", Came(asked, failure, now() - begun_at_s), walk=run.number)
            raise
        else:
            tell("end", Came(asked, result, now() - begun_at_s), walk=run.number)
            if isinstance(asked, AdmissionAsked | ResizeAsked):
                self.observed.admitted(now() - begun_at_s)
            return result
        finally:
            walk.close()

    async def _advanced(self, walk: Walk[R], run: _Run) -> R:
        transcript, answer, failure = self._world.transcript, None, None
        while True:
            transcript.walk = run.number
            try:
                effect = walk.send(answer) if failure is None else walk.throw(failure)
            except StopIteration as end:
                result: R = end.value
                return result
            finally:
                transcript.walk = None
            try:
                answer, failure = await self._performed(effect, run), None
            except (PluginFault, CheckpointNotWritten) as caught:
                answer, failure = None, caught

    async def _take_turn(self, run: _Run) -> bool:
        """Hold the turn until the walk ends; whether somebody else had it. Rules: DM-74, DM-86"""
        has_waited = self._turn.locked()
        await self._turn.acquire()
        run.has_turn = True
        return has_waited

    async def _performed(self, effect: Effect[T], run: _Run) -> T:
        transcript, number = self._world.transcript, run.number
        subject, text, rules = effect_text(effect, self._kubelet.state)
        details = client_details(effect)
        begun_at_s = transcript.now()
        transcript.add("effect", subject, text, rules=rules, details=details, payload=effect, walk=number)
        try:
            answer = await self.perform(effect, run)
        except (PluginFault, CheckpointNotWritten) as failure:
            told, came = f"{text}: {failure}", Came(effect, failure, transcript.now() - begun_at_s)
            # No warning: the core has the failure now, decides what it means, and warns of that.
            transcript.add("answer", subject, told, details=details, payload=came, walk=number)
            raise
        shown, came = answer_text(effect, answer), Came(effect, answer, transcript.now() - begun_at_s)
        if shown:
            transcript.add("answer", subject, shown, details=details, payload=came, walk=number)
        else:
            transcript.record("answer", came, walk=number)
        return answer

    async def perform(self, effect: Effect[T], run: _Run | None = None) -> T:
        """Carry one effect out, of a fact or of a walk."""
        result: Any = await self._perform(effect, run or _Run(0))
        return result  # type: ignore[no-any-return]  # each effect names the type of its answer

    async def _perform(self, effect: object, run: _Run) -> object:
        match effect:
            case AnswerCaller():
                if run.caller is not None:
                    run.caller.answer()
            case Dial():
                await self._dial(effect, run.caller or Caller())
            case CallGetDevicePluginOptions(client):
                return await self._options(self.links[client], run.caller or Caller())
            case TakeAdmissionTurn():
                return await self._take_turn(run)
            case OpenListAndWatch(client):
                link = self.links[client]
                link.was_connected = True
                link.stream = self.own(self._read(link))
            case CallAllocate() | CallGetPreferredAllocation() | CallPreStartContainer():
                return await self._call(effect)
            case CloseConnection(client):
                if self.links[
                    client
                ].is_dialled:  # While it is dialled there is nothing to close, and the dial goes on.
                    await self._close(self.links[client])
            case NotifyPodHealth(pods):
                await self.notices.put(pods)
            case WriteCheckpoint(document):
                await self._write(document)
            case _:
                raise InvariantError(f"nobody can perform {effect!r}")
        return None

    async def _write(self, document: CheckpointDocument) -> None:
        """A failure goes on in the kubelet's words, as a pod may show it; what to do about it is told beside. Rules: CP-3"""
        try:
            await self._world.store.write(document)
        except CheckpointNotWritten as failure:
            if failure.advice:
                self._world.transcript.add(
                    "node", "checkpoint", failure.advice, rules=("CP-3",), level=RecordLevel.WARNING
                )
            raise

    async def _call(self, call: CallAllocate | CallGetPreferredAllocation | CallPreStartContainer) -> object:
        """The calls about devices of a container. Rules: DM-41"""
        link = self.links[call.client]
        match call:
            case CallAllocate(_, device_ids):
                return await self._allocate(link, device_ids)
            case CallGetPreferredAllocation(_, available, must_include, size):
                return await link.connection.get_preferred_allocation(available, must_include, size)
            case CallPreStartContainer(_, device_ids):
                await self._pre_start(link, device_ids)
        return None

    async def _allocate(self, link: Link, device_ids: tuple[DeviceID, ...]) -> AllocateAnswer:
        """Without a deadline; the time that it takes is measured, whatever comes of it. Rules: DM-98, DM-161"""
        begun_at_s = self._world.clock.now()
        try:
            return await link.connection.allocate(device_ids)
        finally:
            self.observed.allocated(link.resource, self._world.clock.now() - begun_at_s)

    async def _pre_start(self, link: Link, device_ids: tuple[DeviceID, ...]) -> None:
        """The only call with a deadline of the kubelet's own. Rules: DM-41, DM-103"""
        call = link.connection.pre_start_container(device_ids, PRE_START_TIMEOUT_S)
        try:
            await with_timeout(self._world.clock, call, PRE_START_TIMEOUT_S)
        except TimeoutError:
            raise RpcFailed("DeadlineExceeded", "context deadline exceeded") from None

    async def _dial(self, effect: Dial, caller: Caller) -> None:
        """Wait up to 10 s for a connection, or as long as the caller does. Rules: DM-25, DM-30, DM-40"""
        clock = self._world.clock
        path = socket_path(self._world.directory, effect.socket)
        connection, now_s = self._world.calls.connection(path), self._world.transcript.now()
        link = Link(effect.client, effect.resource, effect.socket, path, connection, now_s, caller.registration_socket)
        self.links[effect.client] = link
        await self._forget_spent()
        try:
            dialled = with_timeout(clock, connection.ready(), DIAL_TIMEOUT_S)
            await caller.unless_gone(dialled, lambda: DialFailed("context canceled"))
            link.is_dialled = True
        except (TimeoutError, DialFailed) as failure:
            await self._close(link)
            raise failure if isinstance(failure, DialFailed) else DialFailed() from failure

    async def _options(self, link: Link, caller: Caller) -> PluginOptions:
        try:
            call = link.connection.get_device_plugin_options()
            return await caller.unless_gone(call, lambda: RpcFailed("Canceled", "context canceled"))
        except RpcFailed:
            link.has_failed = True
            raise

    async def _forget_spent(self) -> None:
        """Close and forget old connections that no call can go through: a plugin may register for ever.

        A kubelet leaves those open that it did not close (DM-36); so do we, with the last of them.
        """
        if len(self.links) > SPENT_LINKS:
            for link in [link for link in self.links.values() if self._is_spent(link)][:-SPENT_LINKS]:
                del self.links[link.client]
                if not link.is_closed:
                    await self._close(link)

    def _is_spent(self, link: Link) -> bool:
        is_over = link.is_closed or link.has_failed or (link.was_connected and not link.has_stream)
        return is_over and not clients.is_known(self._kubelet.state, link.client)

    async def _read(self, link: Link) -> None:
        """Read a stream to its end; every message is dealt with before the next one is taken. Rules: DM-42, DM-60"""
        error = None
        try:
            async for devices in link.connection.list_and_watch():
                await self.apply(DevicesListed(link.client, devices))
        except RpcFailed as failure:
            error = failure
        link.stream = None
        await self.apply(StreamEnded(link.client, self._world.clock.now(), error))

    def _is_lost(self, end: StreamEnded) -> bool:
        """Whether a stream ended that was neither ended by its plugin, with OK, nor cut by ourselves."""
        link = self.links.get(end.client)
        return end.error is not None and link is not None and not link.is_closed

    async def _close(self, link: Link) -> None:
        link.is_closed, link.closed_at_s = True, asyncio.get_running_loop().time()
        await link.connection.close()
