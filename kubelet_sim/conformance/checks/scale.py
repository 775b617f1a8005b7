"""Checks of the group Concurrency and scale: many devices, many calls, several at once, and nothing at all."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Awaitable, Sequence

from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.checks.lists import LIMIT_BYTES
from kubelet_sim.conformance.checks.streams import GROWTH, counts
from kubelet_sim.conformance.connection import RecordedConnection
from kubelet_sim.errors import RpcFailed

GROUP = Group.SCALE
LISTS_WITHIN_S = 5.0
ANSWERS_WITHIN_S = 5.0
PARALLEL = 20
BURST = 200
P99_S = 1.0
IDLE_S = 60.0
IDLE_SHARE = 0.05
OTHERS_OBSERVED_S = 10.0


@GROUP.check(
    "scale-device-count",
    "With as many devices as the plugin is made for, the list is small enough and comes soon",
    level=Level.WARNING,
    what="The size of the last list and the time from the stream's opening to it, with as many devices as --most-devices says. If the "
    "plugin lists fewer, the size is worked out from those.",
    why="A message over 4 MiB ends the stream for good, and every message makes the kubelet write its checkpoint.",
    fix="Use short ids, one entry a device, and no more shares of a device than are needed.",
    source="the code of the kubelet; public reports",
    rules="DM-42 DM-60",
)
async def device_count(ctx: CheckContext) -> None:
    most = ctx.config.most_devices
    if most is None:
        ctx.skip("needs --most-devices N: how many devices the plugin is made for")
    for resource in ctx.resources:
        current, stream = ctx.seen.current_list(resource), ctx.seen.stream(resource)
        if current is None or stream is None or not current.devices:
            continue
        size, count = current.size, len(current.devices)
        if count < most:
            ctx.note(f"{resource}: lists {count} devices; the size for {most} is worked out from them")
            size = size * most // count
        if size > LIMIT_BYTES:
            text = f"{resource}: a list of {max(most, count)} devices has {size} bytes, the limit is {LIMIT_BYTES}"
            ctx.warning(text, resource=resource, bytes=size, devices=max(most, count))
        first = next(each for each in ctx.seen.lists_of(resource) if each.client == stream.client)
        if first.at_s - stream.at_s > LISTS_WITHIN_S:
            ctx.warning(f"{resource}: the list came {first.at_s - stream.at_s:.1f} s after the stream's opening")


@GROUP.check(
    "scale-parallel-rpcs",
    "Calls are answered while others are open",
    level=Level.ERROR,
    what="Beside the kubelet's open stream: one Allocate call and, if the plugin wants PreStartContainer, twenty of those at once. With "
    "--beyond twenty of each call at once, on an instance of its own. All have to answer within 5 s.",
    why="Containers are created in parallel, and the stream is open all the while. A server with one thread answers nothing as long as "
    "ListAndWatch has it: no pod is admitted on the node any more.",
    fix="Give the server several threads, and let no call wait for another one.",
    source="the code of the kubelet; public reports",
    rules="DM-41",
    is_quick=True,
)
async def parallel_rpcs(ctx: CheckContext) -> None:
    for resource in ctx.resources:
        ids = ctx.healthy_ids(resource)
        if ids:
            async with ctx.connection(resource) as plugin:
                # First what a server with one thread can be told by: it would not answer GetDevicePluginOptions either.
                if not await _all_answer(ctx, resource, [plugin.allocate(ids[:1])], Level.ERROR):
                    return
                if (await plugin.options()).pre_start_required:
                    calls = [plugin.pre_start(ids[:1], ANSWERS_WITHIN_S) for _ in range(PARALLEL)]
                    await _all_answer(ctx, resource, calls, Level.ERROR)
    if ctx.config.is_beyond and ctx.plugin.can_start:
        async with ctx.aside() as aside:
            await aside.start()
            for resource in aside.resources:
                await _beyond(aside, resource)


async def _beyond(ctx: CheckContext, resource: str) -> None:
    ids = ctx.healthy_ids(resource)
    if not ids:
        return
    async with ctx.connection(resource) as plugin:
        options = await plugin.options()
        calls: list[Awaitable[object]] = [plugin.allocate([each]) for each in _repeated(ids)]
        if options.pre_start_required:
            calls += [plugin.pre_start([each], ANSWERS_WITHIN_S) for each in _repeated(ids)]
        if options.get_preferred_allocation_available:
            calls += [plugin.prefer(ids, (), 1) for _ in range(PARALLEL)]
        await _all_answer(ctx, resource, calls, Level.WARNING)


def _repeated(ids: tuple[str, ...]) -> list[str]:
    return [ids[number % len(ids)] for number in range(PARALLEL)]


async def _all_answer(ctx: CheckContext, resource: str, calls: Sequence[Awaitable[object]], level: Level) -> bool:
    """Whether all answered in time. An error is an answer, too: that it comes is what counts here."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    _, late = await asyncio.wait(tasks, timeout=ANSWERS_WITHIN_S)
    for task in tasks:
        task.cancel()
    came = await asyncio.gather(*tasks, return_exceptions=True)
    if late:
        text = f"{resource}: {len(late)} of {len(calls)} calls beside the open stream were not answered within {ANSWERS_WITHIN_S:g} s"
        ctx.find(level, text, resource=resource, calls=len(calls), late=len(late))
    gone = [each for each in came if isinstance(each, RpcFailed) and each.code == "Unavailable"]
    if gone:
        text = f"{resource}: {len(gone)} of {len(calls)} calls beside the open stream lost their server: {gone[0]}"
        ctx.find(level, text, resource=resource, calls=len(calls), lost=len(gone))
    return not late and not gone


@GROUP.check(
    "scale-alloc-burst",
    "Two hundred calls in a row are quick, and leave nothing open",
    level=Level.WARNING,
    what="200 Allocate calls one after the other: their 99th percentile, and the descriptors of the process before and after.",
    why="A node that starts up admits all of its pods one after the other. A plugin that leaks a descriptor a call ends after days.",
    fix="Close what Allocate opens; keep what it needs ready.",
    source="public reports",
    rules="DM-74 DM-98",
    needs="BP",
    optional="P",
)
async def alloc_burst(ctx: CheckContext) -> None:
    for resource in ctx.resources:
        ids = ctx.healthy_ids(resource)
        if not ids:
            continue
        async with ctx.connection(resource) as plugin:
            before = counts(ctx.plugin.pid).get("descriptors")
            await _burst(ctx, resource, plugin, ids)
            after = counts(ctx.plugin.pid).get("descriptors")
        if before is None or after is None:
            ctx.note("the descriptors of the process are not known: that half did not run")
        elif after - before > GROWTH:
            text = f"{resource}: {after} descriptors are open after {BURST} calls, {before} were before"
            ctx.warning(text, resource=resource, before=before, after=after)


async def _burst(ctx: CheckContext, resource: str, plugin: RecordedConnection, ids: tuple[str, ...]) -> None:
    for number in range(BURST):
        try:
            await plugin.allocate([ids[number % len(ids)]])
        except RpcFailed as failure:
            ctx.warning(f"{resource}: call {number + 1} of {BURST} failed: {failure}", code=failure.code)
            return
    p99_s = statistics.quantiles(plugin.took_s, n=100)[-1]
    if p99_s > P99_S:
        text = f"{resource}: of {BURST} Allocate calls the 99th percentile took {p99_s:.1f} s, more than {P99_S:g} s"
        ctx.warning(text, resource=resource, p99_s=round(p99_s, 3))


@GROUP.check(
    "scale-idle-cpu",
    "An idle plugin rests",
    level=Level.WARNING,
    what="Processor time and lists while nothing happens: under 5 % of a core, and no list.",
    why="The plugin runs on every node, and each list makes the kubelet write its checkpoint.",
    fix="Wait for events instead of asking again and again; send a list only when something has changed.",
    source="public reports",
    rules="DM-60",
    needs="P",
    observes=True,
)
async def idle_cpu(ctx: CheckContext) -> None:
    window = await ctx.observe(IDLE_S)
    if window.cpu_s is None:
        ctx.skip("needs the plugin's process: its processor time is not known")
    share = window.cpu_s / max(window.length_s, 0.001)
    if share > IDLE_SHARE:
        ctx.warning(f"the idle plugin used {share:.0%} of a core, more than {IDLE_SHARE:.0%}", share=round(share, 3))
    for resource in ctx.resources:
        lists = [each for each in ctx.seen.lists_of(resource, window.begin_s) if each.at_s <= window.end_s]
        if lists:
            text = f"{resource}: {len(lists)} lists came in {window.length_s:.0f} s in which nothing happened"
            ctx.warning(text, resource=resource, lists=len(lists))


@GROUP.check(
    "multi-resource-independent",
    "The loss of one resource's stream leaves the others alone",
    level=Level.ERROR,
    what="The connection of one resource is closed, and the streams of the other resources of the process are watched.",
    why="A plugin that takes the end of one stream for the end of all makes every device of the node unhealthy.",
    fix="Let each resource have a server and a stream of its own, and restart only the one that was lost.",
    source="public reports",
    rules="DM-37 DM-42",
    stage=Stage.RESTARTS,
)
async def independent(ctx: CheckContext) -> None:
    if len(ctx.resources) < 2:  # noqa: PLR2004 - one is not several
        ctx.skip("needs a plugin with several resources")
    cut = ctx.resources[0]
    links = ctx.open_links(cut)
    if not links:
        ctx.skip(f"{cut} has no open stream")
    window = asyncio.get_running_loop().time()
    for link in links:
        await link.connection.close()
    lost = await ctx.holds(
        lambda: [each for each in ctx.seen.ends if each.at_s >= window and each.resource != cut],
        ctx.window_s(OTHERS_OBSERVED_S),
    )
    for each in lost or ():
        how = "normally" if each.error is None else f"with {each.error}"
        text = f"{each.resource}: its stream ended {how} when that of {cut} was cut"
        ctx.error(text, resource=each.resource, cut=str(cut))
