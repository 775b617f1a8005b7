"""Checks of the optional group: programs that read the pod resources API, such as exporters and network plugins.

The consumer is started against a node that has a plugin of ours and pods with its devices. It may read again and again, or
once: one that ends with 0 is started again, as often as it is needed. What it prints on stdout counts as what it found.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from attrs import define, field

from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.config import Isolation
from kubelet_sim.conformance.pods import pod_of
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.faults import Fault
from kubelet_sim.node.hooks import Hook
from kubelet_sim.node.plugin.launch import Launch
from kubelet_sim.node.plugin.plugin_process import PluginProcess
from kubelet_sim.scenario.plugins.script import read_script
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.wire.registration_client import register

GROUP = Group.CONSUMERS
READS_WITHIN_S = 60.0
REFUSALS = 5
ENDED_WITHIN_S = 30.0
PLAIN = ("example.com/gpu", ("gpu-0", "gpu-1", "gpu-2", "gpu-3"))
ODD = ("vendor-x.example/Dev_1.x", ("GPU-0650a168::3", "0000:3b:00.0", "dev 1", "vendor/class=0"))
_TWO_PODS = (("alpha", 2), ("beta", 1))


@define
class _ConsumerCalls(Hook):
    """Counts the calls that the consumer makes to the pod resources API, and refuses them on request."""

    ctx: CheckContext
    answered_s: list[float] = field(factory=list)
    refused: int = 0
    refuses: bool = False

    async def pod_resources_called(self, method: str) -> None:
        del method
        if self.refuses:
            self.refused += 1
            self.ctx.ring()
            raise RpcFailed("ResourceExhausted", "rejected by rate limit")
        self.answered_s.append(time.monotonic())
        self.ctx.ring()


@define
class Consumer:
    """The program under test, which reads the pod resources API."""

    ctx: CheckContext
    process: PluginProcess
    calls: _ConsumerCalls
    is_one_shot: bool = False
    """Whether it ended with 0 by itself."""

    async def reads(self, within_s: float = READS_WITHIN_S) -> bool:
        """Whether it calls the API, and is answered, once more."""
        count, deadline_s = len(self.calls.answered_s), time.monotonic() + within_s
        while (left_s := deadline_s - time.monotonic()) > 0:
            await self.ctx.holds(lambda: len(self.calls.answered_s) > count or self.process.has_ended, left_s)
            if len(self.calls.answered_s) > count:
                return True
            if not await self.goes_on():
                return False
        return False

    async def goes_on(self) -> bool:
        """Whether it still runs; one that read once and ended with 0 is started again."""
        if self.process.has_ended:
            if self.process.exit_code != 0:
                return False
            self.is_one_shot = True
            await self.process.start()
        return True

    async def found(self) -> list[str]:
        """What a consumer that reads once prints, sorted. Skips the check for one that reads for ever."""
        is_over = await self.process.ended(ENDED_WITHIN_S)
        if is_over:
            await self.process.start()
            is_over = await self.process.ended(ENDED_WITHIN_S)
        if not is_over:
            self.ctx.skip("needs a consumer that prints what it found and ends")
        since_s = self.process.started_at_s or 0.0
        return sorted(filter(None, self.process.output(since_s).splitlines()))


@asynccontextmanager
async def consumer(
    ctx: CheckContext, devices: tuple[str, Sequence[str]] = PLAIN, pods: Sequence[tuple[str, int]] = _TWO_PODS
) -> AsyncIterator[Consumer]:
    """The consumer, started and seen to read, on a node with these devices and pods."""
    resource, ids = devices
    script = {"resource": resource, "socket": "consumed.sock", "devices": [{"id": each} for each in ids]}
    plugin = ScriptedPlugin(read_script(script), ctx.directory)
    calls = _ConsumerCalls(ctx)
    remove = ctx.node.hooks.add(calls)
    process = _process(ctx)
    try:
        await plugin.serve()
        await register(ctx.node.root.layout.registration_socket, plugin.script.registration)
        await ctx.until(lambda: ctx.healthy_ids(resource), READS_WITHIN_S, "the list of our own plugin")
        for name, count in pods:
            await ctx.node.admit(pod_of(name, {resource: count}))
        await process.start()
        it = Consumer(ctx, process, calls)
        if not await it.reads():
            ended = "" if process.exit_code is None else f"; it ended with {process.exit_code}"
            ctx.error(f"the consumer did not call the pod resources API within {READS_WITHIN_S:g} s{ended}")
            ctx.skip("the consumer never read")
        yield it
    finally:
        await process.close()
        remove()
        await plugin.stop()


def _process(ctx: CheckContext) -> PluginProcess:
    config = ctx.config
    launch = Launch(config.consumer, ctx.node.root.layout, config.env, config.cwd)
    return PluginProcess(launch if config.isolate is Isolation.NONE else launch.isolated_unless_told(), ctx.ring)


consumer_check = partial(GROUP.check, needs="Z", stage=Stage.OWN, limit_s=240)


@consumer_check(
    "podres-tolerates-resource-exhausted",
    "The consumer survives the rate limit",
    level=Level.ERROR,
    what="Five calls are refused with ResourceExhausted; after that the consumer has to read again within 60 s.",
    why="The limit is shared by all clients of the node: somebody else's burst refuses your call. A consumer that ends then leaves a hole "
    "in the metrics, or a network without its plugin.",
    fix="Treat ResourceExhausted as 'later', with a pause that grows.",
    source="the code of the kubelet; public reports",
    rules="PR-6",
)
async def tolerates_limit(ctx: CheckContext) -> None:
    async with consumer(ctx) as it:
        await it.reads()  # once more: whether it is one that reads once is known then
        it.calls.refuses = True
        deadline_s = time.monotonic() + READS_WITHIN_S
        while it.calls.refused < REFUSALS and time.monotonic() < deadline_s:
            count = it.calls.refused
            await ctx.holds(lambda count=count: it.calls.refused > count or it.process.has_ended, READS_WITHIN_S)  # type: ignore[misc]
            if it.process.has_ended and it.process.exit_code and it.calls.refused and it.is_one_shot:
                break  # it said so by its exit code, and is run again by whoever ran it before
            if not await it.goes_on():
                ctx.error(f"the consumer ended with {it.process.exit_code} when a call was over the rate limit")
                return
        it.calls.refuses = False
        if it.process.has_ended:
            await it.process.start()
        if not await it.reads():
            ctx.error(f"after refusals the consumer did not read again within {READS_WITHIN_S:g} s")


@consumer_check(
    "podres-survives-socket-replacement",
    "The consumer finds the API again when its socket was made anew",
    level=Level.ERROR,
    what="The socket's file is replaced, as by a restart of the kubelet, and connections are cut; the consumer has to read within 60 s.",
    why="Every restart of the kubelet makes a new file. A pod that mounts the file, and not its directory, keeps the old one for ever.",
    fix="Mount the directory; dial anew when a call fails.",
    source="the documentation of the pod resources API; public reports",
    rules="PR-2",
)
async def survives_replacement(ctx: CheckContext) -> None:
    async with consumer(ctx) as it:
        await ctx.node.inject(Fault("replace-pod-resources-socket"))
        if not await it.reads():
            ended = "" if it.process.exit_code is None else f"; it ended with {it.process.exit_code}"
            ctx.error(f"after the socket was replaced the consumer did not read within {READS_WITHIN_S:g} s{ended}")


@consumer_check(
    "podres-order-independent",
    "What the consumer finds does not depend on the order of the answer",
    level=Level.ERROR,
    what="Two answers with pods, containers and devices in other orders; what is printed has to be the same, line for line in any order.",
    why="The kubelet's order is that of a hash map: it changes from call to call.",
    fix="Look things up by name; never by position.",
    source="the code of the kubelet; public reports",
    rules="PR-11 PR-23",
)
async def order_independent(ctx: CheckContext) -> None:
    async with consumer(ctx) as it:
        await it.reads()
        first = await it.found()
        for seed in (1, 2, 3):
            shuffled = await ctx.node.inject(Fault("shuffle-order", {"seed": seed}))
            again = await it.found()
            await shuffled.undo()
            if again != first:
                more = sorted(set(again) - set(first))[:5]
                ctx.error("in another order of the answer the consumer found something else", found=more)
                return


@consumer_check(
    "podres-any-resource-and-id",
    "Resource names and ids of any kind are taken as they are",
    level=Level.WARNING,
    what="A resource with capitals, dots and underscores, and ids with colons, slashes, blanks and suffixes.",
    why="Ids are the plugin's: PCI addresses, uuids, shares with `::3` behind them. A consumer that takes them apart maps devices wrongly, "
    "or ends.",
    fix="Compare ids as whole texts.",
    source="public reports",
    rules="DM-55 PR-22",
)
async def any_id(ctx: CheckContext) -> None:
    async with consumer(ctx, ODD, (("alpha", len(ODD[1])),)) as it:
        if not await it.reads():
            ctx.warning(f"with odd ids the consumer stopped reading; exit code {it.process.exit_code}")
            return
        if it.is_one_shot and (found := await it.found()):
            missing = [each for each in ODD[1] if not any(each in line for line in found)]
            if missing and len(missing) < len(ODD[1]):
                ctx.warning(f"what the consumer found lacks {', '.join(map(repr, missing))}", ids=missing)


@consumer_check(
    "podres-terminal-pods",
    "Pods that have ended are not counted as users",
    level=Level.WARNING,
    what="A pod that has ended stays in the answer without devices, as in kubelets before 1.34; the consumer may not name it as a user.",
    why="Up to 1.33 the answer has every pod that the kubelet knows. An exporter that counts them reports devices as used twice.",
    fix="Count devices, not pods; leave out containers without any.",
    source="the code of the kubelet; public reports",
    rules="PR-11 PR-31",
)
async def terminal_pods(ctx: CheckContext) -> None:
    async with consumer(ctx) as it:
        await ctx.node.admit(pod_of("ended-pod", {PLAIN[0]: 99}))  # refused, and so over
        active = await ctx.node.inject(Fault("list-ended-pods"))
        found = await it.found()
        await active.undo()
        named = [line for line in found if "ended-pod" in line]
        if named and any(PLAIN[0] in line for line in named):
            ctx.warning("the consumer names a pod that has ended as a user of devices", lines=named[:5])
