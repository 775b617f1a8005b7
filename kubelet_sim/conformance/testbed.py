"""A node of its own with a plugin of its own, in a folder of their own: what one check, or many, use and leave.

Knows how both begin and end. Whatever happens, `close` leaves no process, no socket and no file.
"""

from __future__ import annotations

import asyncio
import math
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any, Self, TypeVar

import psutil
from attrs import evolve, frozen

from kubelet_sim.conformance.attached_plugin import AttachedPlugin
from kubelet_sim.conformance.clock import JumpingClock
from kubelet_sim.conformance.config import Isolation, SuiteConfig
from kubelet_sim.conformance.in_process_plugin import InProcessPlugin
from kubelet_sim.conformance.listening_sockets import listening_paths
from kubelet_sim.conformance.plugin_log import PluginLog
from kubelet_sim.conformance.start_probe import StartProbe
from kubelet_sim.core.ports import Sorted
from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.foreign import ending, gist
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.node.bell import Bell
from kubelet_sim.node.config import NodeConfig, SocketAppears
from kubelet_sim.node.kubelet_assembly import plugin_calls
from kubelet_sim.node.node import Node
from kubelet_sim.node.plugin.isolation import namespaces_available
from kubelet_sim.node.plugin.launch import Launch
from kubelet_sim.node.plugin.plugin_process import PluginProcess
from kubelet_sim.node.root_directory.layout import RootLayout
from kubelet_sim.profiles import Profile
from kubelet_sim.tasks import to_its_end
from kubelet_sim.wire.unix_socket import short_folder

T = TypeVar("T")
Plugin = PluginProcess | AttachedPlugin
SETTLED_S = 0.3
"""A plugin that has asked for nothing more for so long has registered all its resources."""
OTHERS_START_WITHIN_S = 15.0
"""How long others have to start a plugin again that was attached to and has ended: longer than a kubelet's first back-off."""


@frozen
class IdleWindow:
    """A while in which nothing was done to the plugin."""

    begin_s: float
    """Monotonic, as all times of `PluginLog`."""
    end_s: float
    cpu_s: float | None
    """Processor time that the plugin's process used meanwhile; `None`: not known."""

    @property
    def length_s(self) -> float:
        """How long the window was, in seconds."""
        return self.end_s - self.begin_s


@frozen
class Recovery:
    """How a plugin came back after something."""

    took_s: float | None
    """Until every resource was registered and listed again; `None`: not in time."""
    exit_code: int | None = None
    """If it ended meanwhile and was started again: what it had ended with."""


class Testbed:
    """One node and one plugin; an async context manager.

    Args:
        config: the choices.
        profile: the kubelet that is emulated.
        seed: of the orders that the kubelet leaves open.
    """

    def __init__(self, config: SuiteConfig, profile: Profile, seed: int) -> None:
        self.config = config
        self.profile = profile
        self._seed = seed
        self.clock = JumpingClock()
        self.bell = Bell()
        self.was_lost = False
        """Whether the plugin had to be started again since somebody looked."""
        self._was_given_up = False
        """Whether a check has waited for it to come back, in vain: to wait once more brings nothing."""
        self.remembered: dict[str, Any] = {}
        """What checks on this plugin leave to those after them, by names of theirs."""
        self.window: IdleWindow | None = None
        """The idle while that checks share."""
        self._idle_since_s: float | None = None
        self._idle_cpu_s: float | None = None
        self._held = AsyncExitStack()
        # With one letter the directory has as many bytes as a node's own: what fits there fits here.
        folder = config.attach or Path(tempfile.mkdtemp(prefix="k", dir=short_folder()))
        if config.attach is None:
            self._held.callback(shutil.rmtree, folder, ignore_errors=True)
        self.root = RootLayout(folder / "n" if config.attach is None else folder.resolve())
        node = NodeConfig(self.root.path, profile, socket_appears=SocketAppears.BIND)
        self.node = Node(node, clock=self.clock, order=ShuffledOrder(seed))
        self.seen = PluginLog(self.node, self.bell)
        calls = plugin_calls(profile)
        self.start_probe = StartProbe(str(self.root.device_plugins), calls, self.bell, self._listening)
        self.plugin: Plugin = AttachedPlugin(self._any_socket) if config.attach else self.new_process()

    async def __aenter__(self) -> Self:
        try:
            await self.node.start()
        except UsageError as error:
            await self._held.aclose()
            if self.config.attach is None:
                raise
            # Somebody may mean the node of `kubelet-sim run`: its plugins come over when it is gone, as after a restart.
            text = f"{error}. --attach serves that root with a node of its own; plugins that run there register with it"
            raise UsageError(text) from error
        except BaseException:
            await self._held.aclose()
            raise
        self._held.push_async_callback(self.node.stop)
        self._held.push_async_callback(self.plugin.close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await to_its_end(self._held.aclose())

    def twin(self) -> Testbed:
        """Another testbed like it, in a folder of its own."""
        return Testbed(self.config, self.profile, self._seed)

    def new_process(self) -> PluginProcess:
        """One more instance of the plugin in the same directory, not started; the caller closes it.

        Raises `TransportError` if it would have to be isolated and cannot be.
        """
        config = self.config
        if config.start is not None:
            return InProcessPlugin(config.start, self.root, self.bell.ring)
        launch = Launch(config.command, self.root, config.env, config.cwd)
        if config.isolate is not Isolation.NONE and (why := why_not_isolated()) is not None:
            if config.isolate is Isolation.NAMESPACE or not launch.has_placeholder:
                advice = (
                    "give the plugin its directory with {dir} or {socket} in its command line, or use --isolate none"
                )
                raise TransportError(f"the plugin cannot be kept away from /var/lib/kubelet: {why}; or else {advice}")
        elif config.isolate is not Isolation.NONE:
            launch = evolve(launch, is_isolated=True)
        return PluginProcess(launch, self.bell.ring)

    def also_close(self, process: PluginProcess) -> None:
        """Have the process end with the testbed, if not before."""
        self._held.push_async_callback(process.close)

    @property
    def resources(self) -> tuple[ResourceName, ...]:
        """The advertised ones: registered in this run, or named by the user; sorted."""
        return tuple(sorted({*self.seen.resources, *map(ResourceName, self.config.expected_resources)}))

    def is_ready(self) -> bool:
        """Whether every resource is registered, streams, and has listed; and there is one at all."""
        return bool(self.resources) and all(map(self.seen.is_live, self.resources))

    async def start_plugin(self, *, probes: bool = False) -> bool:
        """Start it if that can be done, and wait; whether it is ready in time. See `settled`."""
        if probes:
            self.node.hooks.add(self.start_probe)
        if self.plugin.can_start:
            await self.plugin.start()
        return await self.settled(self.config.start_timeout_s)

    async def settled(self, within_s: float) -> bool:
        """Wait until it is ready and asks for nothing more; whether that came in time. A plugin that ends is given up."""
        deadline = time.monotonic() + within_s
        while (left_s := deadline - time.monotonic()) > 0:
            await self.bell.first(lambda: self.is_ready() or self.plugin.has_ended, left_s)
            if not self.is_ready():
                if self.plugin.has_ended:
                    await self.plugin.ended(0.0)  # for its last words
                    return False
                continue
            count = len(self.seen.registrations)
            if not await self.bell.first(lambda count=count: len(self.seen.registrations) > count, SETTLED_S):  # type: ignore[misc]
                self._begin_idleness()
                return True
        return self.is_ready()

    async def ensure_ready(self) -> bool:
        """Have the plugin ready for the next check; starts it again if it is gone, or does not come back by itself."""
        if not self.node.has_kubelet:
            await self.node.restart()
        was_given_up, self._was_given_up = self._was_given_up, False
        if self.is_ready() and not self.plugin.has_ended:
            return True
        self.was_lost = True
        if not (was_given_up or self.plugin.has_ended) and await self.settled(self.config.start_timeout_s):
            return True
        if self.plugin.can_start:
            await self.plugin.close()
            return await self.start_plugin()
        if self.plugin.has_ended:
            return False
        await self.node.restart()  # the one thing that may bring it back without its start
        return await self.settled(self.config.start_timeout_s)

    async def recovered(self, since_s: float, within_s: float) -> Recovery:
        """Wait until every resource has registered and listed again since that moment.

        A plugin that ends with an error on the way is started again, as its DaemonSet would: that counts. One that was attached
        to may be started again by others, who have a while for that.
        """
        recovery = await self._recovered(since_s, within_s)
        self._was_given_up = recovery.took_s is None
        return recovery

    async def _recovered(self, since_s: float, within_s: float) -> Recovery:
        resources, exit_code = self.resources, None
        is_ours = self.plugin.can_start
        deadline = time.monotonic() + within_s

        def is_back() -> bool:
            return all(self._is_back(resource, since_s) for resource in resources)

        others_until_s = math.inf

        def is_gone() -> bool:
            nonlocal others_until_s
            if not self.plugin.has_ended:
                others_until_s = math.inf
                return False
            others_until_s = min(others_until_s, time.monotonic() + OTHERS_START_WITHIN_S)
            return is_ours or time.monotonic() >= others_until_s

        while (left_s := deadline - time.monotonic()) > 0:
            await self.bell.first(lambda: is_back() or is_gone(), left_s)
            if is_back():
                return Recovery(time.monotonic() - since_s, exit_code)
            if is_gone() and not is_ours:
                break
            if self.plugin.has_ended and is_ours:
                if not self.plugin.exit_code or exit_code is not None:
                    return Recovery(None, self.plugin.exit_code)
                exit_code = self.plugin.exit_code
                await self.plugin.start()
        return Recovery(None, exit_code)

    def _is_back(self, resource: str, since_s: float) -> bool:
        current = self.seen.current_list(resource)
        return current is not None and current.at_s >= since_s

    def state_of_plugin(self) -> str:
        """How the plugin ended, or that it runs, and what it said last: words for people."""
        plugin = self.plugin
        if self.config.attach is not None and not self.seen.registrations:
            return f"nobody registered at {self.root.registration_socket}"
        if self.config.attach is not None:
            return "it is gone" if plugin.has_ended else "it runs"
        end = f"it {ending(plugin.exit_code)}" if plugin.has_ended else "it runs"
        said = last_words(plugin)
        return f"{end}; its last words: {said}" if said else f"{end}, and said nothing"

    # --- idleness

    def _begin_idleness(self) -> None:
        if self.window is None and self._idle_since_s is None:
            self._idle_since_s, self._idle_cpu_s = time.monotonic(), cpu_s(self.plugin.pid)

    async def shared_window(self, length_s: float) -> IdleWindow:
        """The idle while since the plugin was ready: waited for once, by whoever asks first or for longer."""
        if self.window is not None and self.window.length_s >= length_s:
            return self.window
        begin_s = self._idle_since_s or time.monotonic()
        if (left_s := begin_s + length_s - time.monotonic()) > 0:
            await asyncio.sleep(left_s)
        self.window = IdleWindow(begin_s, time.monotonic(), _used(self._idle_cpu_s, cpu_s(self.plugin.pid)))
        return self.window

    async def fresh_window(self, length_s: float) -> IdleWindow:
        """Waits so long, and returns that window."""
        begin_s, used_s = time.monotonic(), cpu_s(self.plugin.pid)
        await asyncio.sleep(length_s)
        return IdleWindow(begin_s, time.monotonic(), _used(used_s, cpu_s(self.plugin.pid)))

    def _listening(self) -> tuple[str, ...]:
        return listening_paths(self.plugin.family())

    def _any_socket(self) -> str | None:
        return self.seen.registrations[-1].socket_path if self.seen.registrations else None


def last_words(plugin: Plugin) -> str:
    """The gist of a plugin's output since its start, on one line; empty if it said nothing."""
    since_s = plugin.started_at_s or 0.0
    return gist(line.text for line in plugin.lines if line.at_s >= since_s)


class ShuffledOrder:
    """Fits `kubelet_sim.core.ports.Order`: whatever the kubelet leaves open comes in an order drawn by a seed.

    The same seed and the same questions give the same answers.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - keeps no secrets

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        """Return the items in an order of chance."""
        found = list(Sorted().arrange(rule, items))
        self._random.shuffle(found)
        return found


_why_not: list[str | None] = []


def why_not_isolated() -> str | None:
    """Why nothing can be isolated on this machine, found out once; `None`: it can."""
    if not _why_not:
        _why_not.append(namespaces_available())
    return _why_not[0]


def cpu_s(pid: int | None) -> float | None:
    """Processor time that a process has used so far; `None` if it is not there."""
    if pid is None:
        return None
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return None
    return times.user + times.system


def _used(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before
