"""The kubelet's plugin manager: registers the plugins whose sockets lie in `plugins_registry`, and tells them how it went.

What comes next is decided by `registry_plan`, which sockets there are is seen by `registry_files`; here is what takes time.
What it means to register a plugin is known to the handler of its type: for device plugins, to the kubelet process.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

from attrs import asdict, evolve, frozen

from kubelet_sim.errors import PluginNotValid, RegistrationRefused, RpcFailed, TransportError
from kubelet_sim.model.plugin import DIAL_TIMEOUT_S, GET_INFO_TIMEOUT_S, NOTIFY_TIMEOUT_S, PluginInfo
from kubelet_sim.node.clock import ManualClock, all_over, with_timeout
from kubelet_sim.node.ports import Clock, RegistryCalls, RegistryConnection
from kubelet_sim.node.root_directory.layout import RootLayout
from kubelet_sim.node.services.registry_files import RegistryFiles, Sightings, make_registry
from kubelet_sim.node.services.registry_plan import Deregister, Register, RegistryPlan, Step
from kubelet_sim.profiles import Profile
from kubelet_sim.tasks import Tasks
from kubelet_sim.transcript import Json, RecordLevel, Rpc, Transcript

T = TypeVar("T")

PATIENCE_S = 1.5
"""For how long of real time a manual clock stands still for an operation: one whose plugin is silent would never end."""
SUBJECT = "plugin watcher"


class PluginHandler(Protocol):
    """Registers the plugins of one type that the watcher has found."""

    async def register_watched(self, info: PluginInfo, registration_socket: str) -> None:
        """Raises `RegistrationRefused` with the text for the plugin; `PluginNotValid` if nothing was tried."""

    async def deregister_watched(self, info: PluginInfo, registration_socket: str) -> None:
        """Undo it, whoever has the name by now."""


@frozen
class WatcherSetup:
    """What kind of watcher it is, and what it reaches of the world."""

    layout: RootLayout
    profile: Profile
    calls: RegistryCalls
    clock: Clock
    transcript: Transcript


class PluginWatcher:
    """The plugin watcher of one kubelet process; fits `kubelet_sim.node.kubelet_process.kubelet_process.KubeletPart`.

    On a manual clock, time stands still while an operation is under way, for at most `PATIENCE_S` of real time at each of
    its calls.

    Args:
        setup: what kind of watcher it is.
        handlers: by the types of plugins that they register.

    Rules: DM-146, DM-147, DM-148, DM-151, DM-152, DM-153
    """

    def __init__(self, setup: WatcherSetup, handlers: Mapping[str, PluginHandler]) -> None:
        self._setup = setup
        self._handlers = handlers
        self._clock = setup.clock
        self._plan = RegistryPlan(setup.clock.now())
        sightings = Sightings(self._appeared, self._vanished, lambda text: self._warn(SUBJECT, text, "DM-146"))
        self._files = RegistryFiles(setup.layout.plugins_registry, sightings)
        self._news = asyncio.Event()
        self._tasks = Tasks()
        self._operations: dict[asyncio.Task[Any], float] = {}
        """Those under way, with the real time when a manual clock waits for them no longer."""
        self._unsettle: Callable[[], None] | None = None

    async def start(self) -> None:
        """Make the directory and watch it; the sockets that are there are registered at once.

        A kubelet without inotify goes on without a watcher, and so do we, but say so.

        Raises:
            TransportError: the directory cannot be made.
        """
        make_registry(self._setup.layout.plugins_registry)
        try:
            self._files.begin()
        except TransportError as problem:
            self._warn(SUBJECT, f"plugins_registry is not watched: {problem}", "DM-146")
            return
        self._say(SUBJECT, "plugins_registry is watched", "DM-146")
        if isinstance(self._clock, ManualClock):
            self._unsettle = self._clock.also_settle(self._operations_are_over)
        self._tasks.run(self._files.read())
        self._tasks.run(self._reconcile())

    async def stop(self, *, leave_socket: bool) -> None:
        """End as a process ends: nobody is told. The sockets are the plugins', and stay in any case."""
        del leave_socket
        unsettle, self._unsettle = self._unsettle, None
        if unsettle is not None:
            unsettle()
        await self._tasks.cancel()
        self._files.close()

    def counts(self) -> Mapping[tuple[str, str], int]:
        """How many plugins there are by socket path and state, for `plugin_manager_total_plugins`. Rules: DM-161"""
        return {(_shown(path), state): count for (path, state), count in self._plan.counts().items()}

    # --- what is seen

    def _appeared(self, path: str) -> None:
        self._plan.appeared(path)
        self._say(SUBJECT, f"socket {_shown(path)} is there", "DM-146")
        self._news.set()

    def _vanished(self, path: str) -> None:
        if self._plan.vanished(path):
            self._say(SUBJECT, f"socket {_shown(path)} is gone", "DM-152")
            self._news.set()

    # --- what is done

    async def _reconcile(self) -> None:
        """A pass every second; those that can begin nothing are left out. Rules: DM-147"""
        while True:
            for step in self._plan.next_steps(self._clock.now()):
                self._begin(step)
            await self._until_the_next_pass()

    async def _until_the_next_pass(self) -> None:
        while True:
            self._news.clear()
            now_s = self._clock.now()
            at_s = self._plan.next_pass_at_s(now_s)
            if at_s is None:
                await self._news.wait()
                continue
            try:
                await with_timeout(self._clock, self._news.wait(), at_s - now_s)
            except TimeoutError:
                return

    def _begin(self, step: Step) -> None:
        task = self._tasks.run(self._operation(step))
        self._hold_time(task)
        task.add_done_callback(lambda done: self._operations.pop(done, None))

    def _hold_time(self, task: asyncio.Task[Any] | None = None) -> None:
        """An operation, the current one if not given, begins something that may take a moment of real time."""
        if (operation := task or asyncio.current_task()) is not None:
            self._operations[operation] = asyncio.get_running_loop().time() + PATIENCE_S

    async def _operation(self, step: Step) -> None:
        failed = False
        match step:
            case Register(path, appearance):
                failed = not await self._registered(path, appearance)
            case Deregister(path, info):
                self._plan.deregistered(path)
                await self._handlers[info.type].deregister_watched(info, _shown(path))
        delay_s = self._plan.ended(step.path, self._clock.now(), failed=failed)
        if delay_s is not None and (at_s := self._plan.retried_at_s(step.path)) is not None:
            wait_s = at_s - self._clock.now()
            self._say(SUBJECT, f"socket {_shown(step.path)} is left alone for {wait_s:g} s", "DM-147")
        self._news.set()

    async def _registered(self, path: str, appearance: int) -> bool:
        """One try; whether the operation counts as done. Rules: DM-148, DM-151"""
        connection = self._setup.calls.connection(path)
        try:
            info = await self._asked(connection, path)
            return info is not None and await self._came_to_an_end(connection, info, path, appearance)
        finally:
            await connection.close()

    async def _asked(self, connection: RegistryConnection, path: str) -> PluginInfo | None:
        """What the plugin is; `None`, and a warning, if it cannot be asked: it is not told either. Rules: DM-148"""
        shown, begun_at_s = _shown(path), self._clock.now()
        try:
            await with_timeout(self._clock, connection.ready(), DIAL_TIMEOUT_S)
            begun_at_s = self._clock.now()
            info = await self._within(connection.get_info(), GET_INFO_TIMEOUT_S)
        except TimeoutError:
            text = f"nobody serves on socket {shown}, for {DIAL_TIMEOUT_S:g} s now; it is tried again"
            self._warn(SUBJECT, text, "DM-148")
            return None
        except RpcFailed as failure:
            text, rpc = f"GetInfo at socket {shown}: {failure}; it is tried again", self._rpc("GetInfo", {}, begun_at_s)
            self._warn(SUBJECT, text, "DM-148", evolve(rpc, status=failure.code))
            return None
        versions = ", ".join(info.supported_versions)
        text = f"GetInfo at socket {shown}: type {info.type}, endpoint {info.endpoint or '(none)'}, versions {versions}"
        rpc = evolve(self._rpc("GetInfo", {}, begun_at_s), answer=asdict(info))
        self._say(info.name or SUBJECT, text, "DM-148", rpc)
        return info

    async def _came_to_an_end(
        self, connection: RegistryConnection, info: PluginInfo, path: str, appearance: int
    ) -> bool:
        """Has the plugin registered and tells it how that went; returns whether it is done with. Rules: DM-148, DM-151"""
        self._hold_time()
        retries, shown = self._setup.profile.watcher_retries, _shown(path)
        try:
            await self._handler(info, shown).register_watched(info, shown)
        except PluginNotValid as refusal:
            await self._told(connection, info, shown, refusal.text)
            return False
        except RegistrationRefused as refusal:
            if retries:
                await self._told(connection, info, shown, refusal.text)
                return False
            # It counts as registered all the same: only a new socket makes it try again. Rules: DM-151
            self._plan.registered(path, appearance, info)
            return await self._told(connection, info, shown, refusal.text)
        if await self._told(connection, info, shown, ""):
            self._plan.registered(path, appearance, info)
            return True
        if retries:
            self._warn(
                info.name, f"the plugin on socket {shown} cannot be told, so it is deregistered", "DM-151 DM-179"
            )
            await self._handlers[info.type].deregister_watched(info, shown)
        else:
            self._plan.registered(path, appearance, info)
        return False

    def _handler(self, info: PluginInfo, shown: str) -> PluginHandler:
        """Returns who registers plugins of that type. Raises `PluginNotValid` if nobody does. Rules: DM-148, DM-151"""
        handler = self._handlers.get(info.type)
        if handler is None:
            text = f"RegisterPlugin error -- no handler registered for plugin type: {info.type} at socket {shown}"
            self._warn(info.name or SUBJECT, f"registration by the plugin watcher refused: {text}", "DM-148 DM-151")
            raise PluginNotValid(text, rule="DM-148 DM-151")
        return handler

    async def _told(self, connection: RegistryConnection, info: PluginInfo, shown: str, error: str) -> bool:
        """Whether the plugin took the notice of success, or of what went wrong. Rules: DM-151"""
        self._hold_time()
        what = f"NotifyRegistrationStatus at socket {shown}: {error or 'registered'}"
        begun_at_s, request = self._clock.now(), {"plugin_registered": not error, "error": error}
        try:
            await self._within(connection.notify(registered=not error, error=error), NOTIFY_TIMEOUT_S)
        except RpcFailed as failure:
            rpc = evolve(self._rpc("NotifyRegistrationStatus", request, begun_at_s), status=failure.code)
            self._warn(info.name or SUBJECT, f"{what}: {failure}", "DM-151", rpc)
            return False
        rpc = evolve(self._rpc("NotifyRegistrationStatus", request, begun_at_s), answer={})
        self._say(info.name or SUBJECT, what, "DM-151", rpc)
        return True

    def _rpc(self, name: str, request: Json, begun_at_s: float) -> Rpc:
        """A call that has just ended well, without an answer."""
        method = f"/pluginregistration.Registration/{name}"
        return Rpc(method, request, None, "OK", self._clock.now() - begun_at_s)

    async def _within(self, answer: Awaitable[T], seconds: float) -> T:
        try:
            return await with_timeout(self._clock, answer, seconds)
        except TimeoutError:
            raise RpcFailed("DeadlineExceeded", "context deadline exceeded") from None

    # --- how it runs

    async def _operations_are_over(self) -> None:
        """Time stands still for as long as answers may come."""
        await all_over(lambda: self._operations)

    def _say(
        self, subject: str, text: str, rules: str, rpc: Rpc | None = None, level: RecordLevel = RecordLevel.INFO
    ) -> None:
        kind, ids = "node" if rpc is None else "rpc", tuple(rules.split())
        self._setup.transcript.add(kind, subject, text, rules=ids, level=level, payload=rpc)

    def _warn(self, subject: str, text: str, rules: str, rpc: Rpc | None = None) -> None:
        self._say(subject, text, rules, rpc, RecordLevel.WARNING)


def _shown(path: str) -> str:
    """A path as text that can be sent: bytes that are no UTF-8 are replaced."""
    return os.fsencode(path).decode(errors="backslashreplace")
