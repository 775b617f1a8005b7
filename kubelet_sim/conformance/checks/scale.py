"""Checks of the group Concurrency and scale: many devices, many calls, several at once, and nothing at all."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Awaitable, Sequence

from kubelet_sim.conformance.bench import Bench
from kubelet_sim.conformance.check import Group, Level, Stage, check
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


@check(
    "scale-device-count",
    GROUP,
    "With as many devices as the plugin is made for, the list is small enough and comes soon",
    level=Level.WARNING,
    what="The size of the last list and the time from the stream's opening to it, with as many devices as --most-devices says. If the "
    "plugin lists fewer, the size is worked out from those.",
    why="A message over 4 MiB ends the stream for good, and every message makes the kubelet write its checkpoint.",
    fix="Use short ids, one entry a device, and no more shares of a device than are needed.",
    source="the code of the kubelet; public reports",
    rules="DM-42 DM-60",
)
async def device_count(bench: Bench) -> None:
    """At its documented maximum."""
    most = bench.config.most_devices
    if most is None:
        bench.skip("needs --most-devices N: how many devices the plugin is made for")
    for resource in bench.resources:
        current, stream = bench.seen.current_list(resource), bench.seen.stream(resource)
        if current is None or stream is None or not current.devices:
            continue
        size, count = current.size, len(current.devices)
        if count < most:
            bench.note(f"{resource}: lists {count} devices; the size for {most} is worked out from them")
            size = size * most // count
        if size > LIMIT_BYTES:
            text = f"{resource}: a list of {max(most, count)} devices has {size} bytes, the limit is {LIMIT_BYTES}"
            bench.warning(text, resource=str(resource), bytes=size, devices=max(most, count))
        first = next(each for each in bench.seen.lists_of(resource) if each.client == stream.client)
        if first.at_s - stream.at_s > LISTS_WITHIN_S:
            bench.warning(f"{resource}: the list came {first.at_s - stream.at_s:.1f} s after the stream's opening")


@check(
    "scale-parallel-rpcs",
    GROUP,
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
async def parallel_rpcs(bench: Bench) -> None:
    """Nobody waits for anybody."""
    for resource in bench.resources:
        ids = bench.healthy_ids(resource)
        if ids:
            async with bench.connection(resource) as plugin:
                # First what a server with one thread can be told by: it would not answer GetDevicePluginOptions either.
                if not await _all_answer(bench, resource, [plugin.allocate(ids[:1])], Level.ERROR):
                    return
                if (await plugin.options()).pre_start_required:
                    calls = [plugin.pre_start(ids[:1], ANSWERS_WITHIN_S) for _ in range(PARALLEL)]
                    await _all_answer(bench, resource, calls, Level.ERROR)
    if bench.config.is_beyond and bench.plugin.can_start:
        async with bench.aside() as aside:
            await aside.start()
            for resource in aside.resources:
                await _beyond(aside, resource)


async def _beyond(bench: Bench, resource: str) -> None:
    ids = bench.healthy_ids(resource)
    if not ids:
        return
    async with bench.connection(resource) as plugin:
        options = await plugin.options()
        calls: list[Awaitable[object]] = [plugin.allocate([each]) for each in _repeated(ids)]
        if options.pre_start_required:
            calls += [plugin.pre_start([each], ANSWERS_WITHIN_S) for each in _repeated(ids)]
        if options.get_preferred_allocation_available:
            calls += [plugin.prefer(ids, (), 1) for _ in range(PARALLEL)]
        await _all_answer(bench, resource, calls, Level.WARNING)


def _repeated(ids: tuple[str, ...]) -> list[str]:
    return [ids[number % len(ids)] for number in range(PARALLEL)]


async def _all_answer(bench: Bench, resource: str, calls: Sequence[Awaitable[object]], level: Level) -> bool:
    """Whether all answered in time. An error is an answer, too: that it comes is what counts here."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    _, late = await asyncio.wait(tasks, timeout=ANSWERS_WITHIN_S)
    for task in tasks:
        task.cancel()
    came = await asyncio.gather(*tasks, return_exceptions=True)
    if late:
        text = f"{resource}: {len(late)} of {len(calls)} calls beside the open stream were not answered within {ANSWERS_WITHIN_S:g} s"
        bench.find(level, text, resource=resource, calls=len(calls), late=len(late))
    gone = [each for each in came if isinstance(each, RpcFailed) and each.code == "Unavailable"]
    if gone:
        text = f"{resource}: {len(gone)} of {len(calls)} calls beside the open stream lost their server: {gone[0]}"
        bench.find(level, text, resource=resource, calls=len(calls), lost=len(gone))
    return not late and not gone


@check(
    "scale-alloc-burst",
    GROUP,
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
async def alloc_burst(bench: Bench) -> None:
    """As on a node that has just started."""
    for resource in bench.resources:
        ids = bench.healthy_ids(resource)
        if not ids:
            continue
        async with bench.connection(resource) as plugin:
            before = counts(bench.plugin.pid).get("descriptors")
            await _burst(bench, resource, plugin, ids)
            after = counts(bench.plugin.pid).get("descriptors")
        if before is None or after is None:
            bench.note("the descriptors of the process are not known: that half did not run")
        elif after - before > GROWTH:
            text = f"{resource}: {after} descriptors are open after {BURST} calls, {before} were before"
            bench.warning(text, resource=str(resource), before=before, after=after)


async def _burst(bench: Bench, resource: str, plugin: RecordedConnection, ids: tuple[str, ...]) -> None:
    for number in range(BURST):
        try:
            await plugin.allocate([ids[number % len(ids)]])
        except RpcFailed as failure:
            bench.warning(f"{resource}: call {number + 1} of {BURST} failed: {failure}", code=failure.code)
            return
    p99_s = statistics.quantiles(plugin.took_s, n=100)[-1]
    if p99_s > P99_S:
        text = f"{resource}: of {BURST} Allocate calls the 99th percentile took {p99_s:.1f} s, more than {P99_S:g} s"
        bench.warning(text, resource=resource, p99_s=round(p99_s, 3))


@check(
    "scale-idle-cpu",
    GROUP,
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
async def idle_cpu(bench: Bench) -> None:
    """Under a twentieth of a core."""
    window = await bench.observe(IDLE_S)
    if window.cpu_s is None:
        bench.skip("needs the plugin's process: its processor time is not known")
    share = window.cpu_s / max(window.length_s, 0.001)
    if share > IDLE_SHARE:
        bench.warning(f"the idle plugin used {share:.0%} of a core, more than {IDLE_SHARE:.0%}", share=round(share, 3))
    for resource in bench.resources:
        lists = [each for each in bench.seen.lists_of(resource, window.begin_s) if each.at_s <= window.end_s]
        if lists:
            text = f"{resource}: {len(lists)} lists came in {window.length_s:.0f} s in which nothing happened"
            bench.warning(text, resource=str(resource), lists=len(lists))


@check(
    "multi-resource-independent",
    GROUP,
    "The loss of one resource's stream leaves the others alone",
    level=Level.ERROR,
    what="The connection of one resource is closed, and the streams of the other resources of the process are watched.",
    why="A plugin that takes the end of one stream for the end of all makes every device of the node unhealthy.",
    fix="Let each resource have a server and a stream of its own, and restart only the one that was lost.",
    source="public reports",
    rules="DM-37 DM-42",
    stage=Stage.RESTARTS,
)
async def independent(bench: Bench) -> None:
    """One gone, the others stay."""
    if len(bench.resources) < 2:  # noqa: PLR2004 - one is not several
        bench.skip("needs a plugin with several resources")
    cut = bench.resources[0]
    links = [link for link in bench.node.kubelet.driver.links.values() if link.resource == cut and link.has_stream]
    if not links:
        bench.skip(f"{cut} has no open stream")
    window = asyncio.get_running_loop().time()
    for link in links:
        await link.connection.close()
    lost = await bench.holds(
        lambda: [each for each in bench.seen.ends if each.at_s >= window and each.resource != cut],
        bench.window_s(OTHERS_OBSERVED_S),
    )
    for each in lost or ():
        how = "normally" if each.error is None else f"with {each.error}"
        text = f"{each.resource}: its stream ended {how} when that of {cut} was cut"
        bench.error(text, resource=str(each.resource), cut=str(cut))
