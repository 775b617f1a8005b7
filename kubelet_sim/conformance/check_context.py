"""What a check gets: a node, a plugin, what was seen of it, ways to wait, and a place to report to.

A check is a coroutine that takes a context and returns. To return without a word is to pass:

    @Group.LISTING.check(
        "law-nonempty-ids", "No device has an empty id", level=Level.ERROR, rules="DM-53",
        what="Every list of the run.", why="…", fix="…", source="the API file",
    )
    async def nonempty_ids(ctx: CheckContext) -> None:
        for listed in ctx.seen.lists:
            if any(not device.id for device in listed.devices):
                ctx.error(f"{listed.resource} lists a device with an empty id", resource=listed.resource)

On the shared stage the plugin is registered and idle when a check begins, and has to be left so. A check of the stage OWN
begins with a node and a plugin that was not started:

    async def error_surfaced(ctx: CheckContext) -> None:
        with ctx.refuse_register("the node is full"):
            await ctx.start()
            await ctx.until(lambda: ctx.seen.registrations, 30, "a Register call")
            await ctx.holds(lambda: "the node is full" in ctx.plugin.output(), 30)

What goes wrong outside of what a check expects (`RpcFailed`, `NotSeen`, any other exception) makes it BROKEN, with the
cause: never let a failure that says something about the plugin out of a check, catch it and report it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import NoReturn, TypeVar

from attrs import frozen

from kubelet_sim.conformance.check import Check, Level, Stage
from kubelet_sim.conformance.config import Mode
from kubelet_sim.conformance.connection import RecordedConnection
from kubelet_sim.conformance.held_registrations import HeldRegistrations
from kubelet_sim.conformance.plugin_log import ReceivedList, RegisterCall
from kubelet_sim.conformance.start_probe import ProbeResult
from kubelet_sim.conformance.testbed import IdleWindow, Recovery, Testbed
from kubelet_sim.conformance.user_commands import filled_in, run_user_command
from kubelet_sim.conformance.verdict import Finding
from kubelet_sim.errors import KubeletSimError
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.life import AS_USUAL, Comeback
from kubelet_sim.node.kubelet_process.plugin_connections import Link
from kubelet_sim.node.plugin.plugin_process import PluginProcess
from kubelet_sim.transcript import Json
from kubelet_sim.wire.plugin_client import LOCALHOST, GrpcPluginConnection

T = TypeVar("T")
REGISTERED_WITHIN_S = 30.0
ENDED_ALONE = (
    "the plugin ended, and nobody has started it again: give its command instead of --attach, or have it started again as a "
    "DaemonSet would"
)
STOPS_WITHIN_S = 30.0


class Skipped(Exception):
    """The check cannot be made here; the text says what it would need."""


class NotSeen(KubeletSimError):
    """Something that the check needs did not happen in time."""


@frozen
class RunMoment:
    """A moment of a run, by which its evidence ends."""

    record: int
    """The number of the last record by then."""
    at_s: float
    """Monotonic."""


class CheckContext:
    """The context of one check while it is made; see the module for how a check uses it."""

    def __init__(self, check: Check, testbed: Testbed, mode_notes: tuple[str, ...] = ()) -> None:
        self.check = check
        self._testbed = testbed
        self.findings: list[Finding] = []
        self.notes: list[str] = list(mode_notes)
        self.began_s = time.monotonic()
        """When the check began, monotonic."""
        self.found: dict[Level, RunMoment] = {}
        """When the first finding of each level was made: the end of what bears it out."""
        self.config = testbed.config
        """The user's choices: host paths, shared nodes, strictness."""
        self.profile = testbed.profile
        """The profile of the kubelet that is emulated."""
        self.node = testbed.node
        """The node: admit pods, look at its status, hang hooks of your own on `node.hooks`."""
        self.plugin = testbed.plugin
        """The plugin's process: `pid`, `has_ended`, `exit_code`, `output()`, `stop()`, `kill()`, `ended(within_s)`."""
        self.seen = testbed.seen
        """Every Register call, stream and list so far."""
        self.directory = testbed.root.device_plugins
        """The directory in which the plugin finds `kubelet.sock`."""
        self.root = testbed.root.path
        """The node's root, which stands for `/var/lib/kubelet`."""
        self.remembered = testbed.remembered
        """What checks on the same plugin leave to those after them; answers that need not be asked for twice."""

    # --- what is there

    @property
    def resources(self) -> tuple[ResourceName, ...]:
        """The advertised ones, sorted: registered in this run, or named by the user."""
        return self._testbed.resources

    @property
    def probes(self) -> tuple[ProbeResult, ...]:
        """What the plugin was like when it first called Register, by resource; on the shared stage only."""
        return tuple(self._testbed.start_probe.probes.values())

    @property
    def is_isolated(self) -> bool:
        """Whether the plugin sees the node's root in the place of `/var/lib/kubelet`."""
        return isinstance(self.plugin, PluginProcess) and self.plugin.is_isolated

    def sockets(self) -> dict[str, Path]:
        """Socket files in the device-plugin directory by name, `kubelet.sock` left out."""
        with suppress(OSError):
            return {p.name: p for p in sorted(self.directory.iterdir()) if p.is_socket() and p.name != "kubelet.sock"}
        return {}

    def open_links(self, resource: str) -> list[Link]:
        """The kubelet's connections to the resource's plugin on which a stream is open."""
        links = self.node.kubelet.driver.links.values()
        return [link for link in links if link.resource == resource and link.has_stream]

    def ring(self) -> None:
        """Something happened: whoever waits looks again."""
        self._testbed.bell.ring()

    # --- reporting

    def error(self, text: str, /, **evidence: Json) -> None:
        """Report what breaks on a real kubelet; one sentence, what was seen and what was expected."""
        self.find(Level.ERROR, text, **evidence)

    def warning(self, text: str, /, **evidence: Json) -> None:
        """Report what works on a real kubelet, and surprises."""
        self.find(Level.WARNING, text, **evidence)

    def info(self, text: str, /, **evidence: Json) -> None:
        """Report what is good to know."""
        self.find(Level.INFO, text, **evidence)

    def find(self, level: Level, text: str, /, **evidence: Json) -> None:
        """Report at a level that a condition decides; never above a warning for what no kubelet does."""
        if self.check.is_beyond and level is Level.ERROR:
            level = Level.WARNING
        self.findings.append(Finding(level, text, evidence))
        number = max((each.number for each in self.node.transcript), default=0)
        self.found.setdefault(level, RunMoment(number, time.monotonic()))

    def note(self, text: str) -> None:
        """Say how it was done: which half ran, that the plugin was slow."""
        if text not in self.notes:
            self.notes.append(text)

    def skip(self, reason: str) -> NoReturn:
        """End the check: it cannot be made here. What was reported before counts all the same."""
        raise Skipped(reason)

    # --- waiting

    async def holds(self, condition: Callable[[], T | None], within_s: float) -> T | None:
        """The first true answer of the condition; `None` if there is none in time. Looks again at every event."""
        return await self._testbed.bell.first(condition, within_s * self.config.patience)

    async def until(self, condition: Callable[[], T | None], within_s: float, what: str) -> T:
        """As `holds`. Raises `NotSeen`, with `what`, if it does not come in time: for what the check needs to go on."""
        answer = await self.holds(condition, within_s)
        if answer is None:
            raise NotSeen(f"{what} did not come within {within_s:g} s")
        return answer

    def window_s(self, table_s: float) -> float:
        """How long to wait for what should not happen: 5 s, 1 s with --quick, `table_s` with --full; never more than that."""
        return self.config.window_s(table_s)

    async def observe(
        self, table_s: float, broken: Callable[[], object] | None = None, doing: str = "observed"
    ) -> IdleWindow:
        """Do nothing for a while, and return which while it was; look into `seen` for what happened in it.

        Checks of the shared stage that are declared with `observes=True` share one while, in which nobody called the
        plugin. `broken` ends a while of its own early. `doing`: what it was, for the note that says how long.
        """
        length_s = self.window_s(table_s)
        if self.check.stage is Stage.SHARED and self.check.observes:
            window = await self._testbed.shared_window(length_s)
        elif broken is None:
            window = await self._testbed.fresh_window(length_s)
        else:
            begin_s = time.monotonic()
            await self._testbed.bell.first(broken, length_s)  # in full: this is no time for something to happen
            window = IdleWindow(begin_s, time.monotonic(), None)
        self.note(f"{doing} {window.length_s:.0f} s")
        return window

    async def skip_time(self, seconds: float) -> None:
        """Let the node's own time jump: grace periods, back-offs, status rounds. A plugin's time is never skipped.

        Waits until no dial is under way, so that no plugin loses any of its ten seconds.
        """
        links = self.node.kubelet.driver.links

        def nobody_dials() -> bool:
            return all(link.is_dialled or link.is_closed for link in links.values())

        await self.until(nobody_dials, 15, "the end of all dials")
        self._testbed.clock.skip(seconds)
        await asyncio.sleep(0.05)

    # --- the plugin

    async def start(self, *, settled: bool = True) -> bool:
        """Start the plugin; whether it is registered and has listed in time. `settled=False` returns at once, with False."""
        if not settled:
            await self.plugin.start()
            return False
        return await self._testbed.start_plugin()

    async def start_or_skip(self, *, again: str = "") -> None:
        """Start the plugin; the check is skipped if it does not get ready. `again`: which check tells of a second start."""
        if not await self.start():
            self.skip(f"the plugin did not get ready{f' again: see {again}' if again else ': see reg-happens'}")

    async def stop_plugin(self, within_s: float = STOPS_WITHIN_S) -> None:
        """End the plugin: asked first, then killed."""
        self.plugin.stop()
        if not await self.plugin.ended(within_s):
            await self.plugin.kill()

    async def settled(self, within_s: float = REGISTERED_WITHIN_S) -> bool:
        """Whether every resource is registered and listed, and nothing more comes, within that time."""
        return await self._testbed.settled(within_s)

    async def registered(self, resource: str | None = None, within_s: float = REGISTERED_WITHIN_S) -> RegisterCall:
        """The first Register call (of the resource) since the check began. Raises `NotSeen`."""

        def look() -> RegisterCall | None:
            calls = self.seen.registrations
            return next(
                (each for each in calls if each.at_s >= self.began_s and resource in (None, each.resource)), None
            )

        return await self.until(look, within_s, f"a Register call{f' for {resource}' if resource else ''}")

    async def list_of(self, resource: str | None = None, within_s: float = REGISTERED_WITHIN_S) -> ReceivedList:
        """The last list on the resource's open stream, waited for if need be; of the first resource if none is named.

        Raises `NotSeen`.
        """
        if resource is None:
            resource = await self.until(lambda: next(iter(self.resources), ""), within_s, "a registered resource")
        wanted = resource
        return await self.until(lambda: self.seen.current_list(wanted), within_s, f"a list of {wanted}")

    def healthy_ids(self, resource: str) -> tuple[str, ...]:
        """Ids of healthy devices in the resource's last list, sorted, none twice."""
        current = self.seen.current_list(resource)
        return () if current is None else tuple(sorted({d.id for d in current.devices if d.is_healthy}))

    async def recovered(self, since_s: float, within_s: float = 60.0) -> Recovery:
        """How every resource came back since that moment; a plugin that exits with an error is started again, and noted."""
        recovery = await self._testbed.recovered(since_s, within_s * self.config.patience)
        if recovery.took_s is None and self.config.attach is not None and self.plugin.has_ended:
            self.note(ENDED_ALONE)
        if recovery.exit_code is not None and recovery.took_s is not None:
            self.note(f"the plugin ended with {recovery.exit_code} and was started again, as its DaemonSet would")
        return recovery

    @asynccontextmanager
    async def connection(
        self, resource: str | None = None, *, authority: str = LOCALHOST, within_s: float = 10.0
    ) -> AsyncIterator[RecordedConnection]:
        """A fresh connection of our own to the socket on which the resource was registered last, dialled.

        Its calls are in the transcript. Raises `NotSeen` if nobody answers there in time.
        """
        wanted = resource or next(iter(self.resources), None)
        known = self.seen.registrations_of(wanted or "")
        if wanted is None or not known:
            raise NotSeen(f"no socket is known of {wanted or 'any resource'}")
        inner = GrpcPluginConnection(known[-1].socket_path, authority)
        connection = RecordedConnection(inner, self.node.transcript, wanted)
        try:
            async with asyncio.timeout(within_s):
                await inner.ready()
            yield connection
        except TimeoutError as late:
            raise NotSeen(f"{known[-1].socket_path} did not answer a dial within {within_s:g} s") from late
        finally:
            await inner.close()

    async def second_instance(self) -> PluginProcess:
        """Another instance of the plugin in the same directory, not started; it ends with the check's testbed at the latest."""
        if not self.plugin.can_start:
            self.skip("needs a second instance: give the plugin's command instead of --attach")
        process = self._testbed.new_process()
        self._testbed.also_close(process)
        return process

    # --- the kubelet

    async def restart_kubelet(self, how: Comeback = AS_USUAL) -> float:
        """Restart it: sockets swept, a new `kubelet.sock`, old connections cut; the moment at which it began."""
        began_s = time.monotonic()
        await self.node.restart(how)
        return began_s

    @contextmanager
    def refuse_register(self, text: str) -> Iterator[HeldRegistrations]:
        """Have every Register call refused with that text, as a kubelet refuses (code Unknown), until the block ends."""
        with HeldRegistrations(self.seen, refusal=text).hooked(self.node.hooks) as held:
            yield held

    @contextmanager
    def hold_register(self) -> Iterator[HeldRegistrations]:
        """Keep every Register call unanswered until the block ends or `released` is set."""
        with HeldRegistrations(self.seen).hooked(self.node.hooks) as held:
            yield held

    async def cut_streams(self) -> float:
        """Close every connection of the kubelet to the plugin, sockets untouched; the moment at which it began."""
        began_s = time.monotonic()
        await asyncio.gather(*(connection.inner.close() for connection in tuple(self.node.hooks.connections)))
        return began_s

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[CheckContext]:
        """A context with an instance of its own, not started, for a half of the check that may end the plugin.

        What is found and noted there counts for this check.
        """
        if not self.plugin.can_start:
            self.skip("needs an instance of its own: give the plugin's command instead of --attach")
        async with self._testbed.twin() as testbed:
            ctx = CheckContext(self.check, testbed)
            ctx.findings, ctx.notes = self.findings, self.notes
            yield ctx

    # --- the user's commands

    async def hook(self, name: str, device_id: str = "", resource: str = "") -> None:
        """Run the user's command of that name (see `config.HOOKS`). Raises `HookFailed` if it does not end with 0 in time."""
        given = self.config.hooks.get(name)
        if given is None:
            self.skip(f"needs --{name} CMD")
        values = {"id": device_id, "resource": resource, "dir": str(self.directory)}
        command = filled_in(given, values)
        self.node.transcript.add("check", resource or "hook", f"{name}: {command}")
        await run_user_command(name, command, values)

    @asynccontextmanager
    async def surroundings(self, name: str) -> AsyncIterator[None]:
        """What a hook makes of them, `no-hardware` or `monitor-down`; afterwards `mend` is called without an id, if given."""
        await self.hook(name)
        try:
            yield
        finally:
            if "mend" in self.config.hooks:
                await self.hook("mend")

    @asynccontextmanager
    async def broken(self, device_id: str, resource: str = "") -> AsyncIterator[None]:
        """A device that is broken for as long as the block lasts."""
        await self.hook("break", device_id, resource)
        try:
            yield
        finally:
            await self.hook("mend", device_id, resource)

    @property
    def is_quick(self) -> bool:
        """Whether the user wants the quick mode, so that no while may be long."""
        return self.config.mode is Mode.QUICK
