"""Checks of the group ListAndWatch: several streams, streams that are cut or lost, and what comes on them then."""

from __future__ import annotations

import time
from contextlib import suppress

import psutil

from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.checks.lists import FIRST_AT_LATEST_S, FIRST_WITHIN_S, first_of, replaced

GROUP = Group.LISTING
CHANGE_WITHIN_S = 30.0
LOST_WITHIN_S = 60.0
CANCELLED_STREAMS = 20
GROWTH = 8
"""Threads or descriptors more than before that are no leak of twenty streams."""
BACK_TO_NORMAL_WITHIN_S = 10.0


@GROUP.check(
    "law-two-streams",
    "Two streams at once both hear of a change",
    level=Level.WARNING,
    needs="H",
    hooks="break mend",
    stage=Stage.OWN,
    is_beyond=True,
    what="A second stream is opened beside the kubelet's, and a device is broken.",
    why="During a restart of the kubelet the old stream may linger beside the new one. If a change goes to one of them only, it may be the wrong one.",
    fix="Keep one queue of changes for each stream, or let each stream compare with what it sent last.",
    source="public reports",
    rules="DM-42",
)
async def two_streams(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    first = await ctx.list_of()
    resource = str(first.resource)
    async with ctx.connection(resource) as plugin:
        lists = plugin.lists()
        if await first_of(lists, FIRST_AT_LATEST_S) is None:
            ctx.warning(f"{resource}: a second stream brought no list within {FIRST_AT_LATEST_S:g} s")
            return
        if not first.devices:
            ctx.skip(f"{resource} has no device")
        since_s = time.monotonic()
        async with ctx.broken(first.devices[0].id, resource):
            ours = await first_of(lists, CHANGE_WITHIN_S)
            kubelets = await ctx.holds(
                lambda: ctx.seen.lists_of(resource, since_s), CHANGE_WITHIN_S if ours is None else 5.0
            )
        await lists.aclose()  # type: ignore[attr-defined]
    for whose, came in (("the kubelet's stream", kubelets), ("a second stream", ours)):
        if came is None:
            ctx.warning(f"{resource}: a change did not reach {whose} while both were open", resource=resource)


@GROUP.check(
    "law-handler-exits-on-cancel",
    "A cancelled stream leaves nothing behind",
    level=Level.WARNING,
    needs="HP",
    optional="H",
    stage=Stage.OWN,
    is_beyond=True,
    what="Twenty streams are opened and cancelled, then one more is opened. Threads and descriptors of the process are counted "
    "before and after; with --break a change has to arrive on the last stream.",
    why="A handler that waits for the next change only, and not for the end of its stream, stays for ever and eats a change that "
    "was meant for the next stream: after some restarts of the kubelet a change is lost, or the plugin runs out of threads.",
    fix="Wait for the stream's context as well as for changes, and return when it is done.",
    source="public reports",
    rules="DM-16",
)
async def exits_on_cancel(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    resource = str((await ctx.list_of()).resource)
    before = counts(ctx.plugin.pid)
    for _ in range(CANCELLED_STREAMS):
        async with ctx.connection(resource) as plugin:
            lists = plugin.lists()
            await first_of(lists, FIRST_WITHIN_S)
            await lists.aclose()  # type: ignore[attr-defined]
    await ctx.holds(lambda: not grown(before, counts(ctx.plugin.pid)), BACK_TO_NORMAL_WITHIN_S)
    if ctx.plugin.has_ended:
        ctx.warning(f"the plugin ended with {ctx.plugin.exit_code} after streams were cancelled")
        return
    for what, more in grown(before, counts(ctx.plugin.pid)).items():
        ctx.warning(f"{CANCELLED_STREAMS} cancelled streams left {more} {what} behind", what=what, more=more)
    if "break" not in ctx.config.hooks:
        ctx.note("only growth was looked at: whether a change still arrives needs --break CMD and --mend CMD")
        return
    async with ctx.connection(resource) as plugin:
        lists = plugin.lists()
        devices = await first_of(lists, FIRST_AT_LATEST_S)
        if not devices:
            ctx.skip(f"{resource} has no device")
        async with ctx.broken(devices[0].id, resource):
            if await first_of(lists, CHANGE_WITHIN_S) is None:
                ctx.warning(
                    f"{resource}: after {CANCELLED_STREAMS} cancelled streams a change was lost", resource=resource
                )
        await lists.aclose()  # type: ignore[attr-defined]


def counts(pid: int | None) -> dict[str, int]:
    """Threads and descriptors of a process; nothing for one that is not there, or not ours to look at."""
    if pid is None:
        return {}
    found = {}
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for what, count in (("threads", process.num_threads), ("descriptors", process.num_fds)):
            with suppress(psutil.Error):
                found[what] = count()
    return found


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """What is more now, by more than chance."""
    return {what: n - before[what] for what, n in after.items() if what in before and n - before[what] > GROWTH}


@GROUP.check(
    "law-reconnect-after-stream-loss",
    "A plugin whose stream was lost registers again",
    level=Level.ERROR,
    needs="BP",
    stage=Stage.RESTARTS,
    what="The kubelet's connections are closed, sockets untouched; registration is waited for 60 s. Streams that the plugin lost by "
    "itself before are looked at, too.",
    why="The kubelet does not open a stream again. A plugin that does not notice stays without devices until somebody restarts it. "
    "A kubelet that dies sweeps the sockets when it comes back, so a plugin that watches its socket survives that; a stream "
    "that was lost for the plugin's own reasons has no such rescue.",
    fix="Treat the end of ListAndWatch that the plugin did not want as a restart of the kubelet: register again.",
    source="the code of the kubelet; public reports",
    rules="DM-42 DM-33",
)
async def reconnects(ctx: CheckContext) -> None:
    for end in ctx.seen.ends:
        again = any(e.at_s > end.at_s for e in ctx.seen.registrations_of(end.resource))
        opened = next(e for e in ctx.seen.streams if (e.client, e.incarnation) == (end.client, end.incarnation))
        if end.at_s < ctx.began_s and not again and not replaced(ctx, end.resource, opened.at_s, end.at_s):
            ctx.error(f"{end.resource}: the plugin lost its stream ({end.error or 'OK'}) and did not register again")
    began_s = await ctx.cut_streams()
    recovery = await ctx.recovered(began_s, LOST_WITHIN_S)
    if recovery.took_s is not None:
        if recovery.took_s > LOST_WITHIN_S / 6:
            ctx.note(f"slow: it took {recovery.took_s:.0f} s")
        return
    state = f"ended with {recovery.exit_code}" if ctx.plugin.has_ended else "runs on"
    ctx.warning(f"after its connections were cut the plugin {state}, and is not registered after {LOST_WITHIN_S:g} s")


@GROUP.check(
    "law-empty-list-explicit",
    "Without a device an empty list is sent",
    level=Level.WARNING,
    needs="H",
    hooks="no-hardware",
    stage=Stage.OWN,
    what="The plugin is started without hardware. If it registers, a list, an empty one, is waited for.",
    why="Silence is not the same: after a restart the kubelet keeps old devices' numbers until the first list.",
    fix="Send an empty list when there is nothing to list.",
    source="public reports",
    rules="DM-54",
)
async def empty_list(ctx: CheckContext) -> None:
    async with ctx.surroundings("no-hardware"):
        await ctx.start(settled=False)
        await ctx.holds(lambda: ctx.seen.streams or ctx.plugin.has_ended, FIRST_AT_LATEST_S)
        if not ctx.seen.streams:
            ctx.skip("the plugin does not register without hardware: see life-no-hardware-stays-up")
        resource = str(ctx.seen.streams[-1].resource)
        lists = await ctx.holds(lambda: ctx.seen.lists_of(resource), FIRST_AT_LATEST_S)
        if not lists:
            ctx.warning(f"{resource}: without a device no list came within {FIRST_AT_LATEST_S:g} s", resource=resource)
