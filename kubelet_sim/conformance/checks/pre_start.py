"""Checks of the group PreStart: the call before every start of a container, for plugins that require it."""

from __future__ import annotations

from kubelet_sim.conformance.answers import UNKNOWN_ID, has_fallen, outcome, with_option
from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.connection import RecordedConnection
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.plugin import PRE_START_TIMEOUT_S, PluginOptions

GROUP = Group.PRE_START
SLOW_S = 5.0
TIMES = 3
LATE = "DeadlineExceeded"


def _wants(options: PluginOptions) -> bool:
    return options.pre_start_required


async def requiring(ctx: CheckContext) -> list[tuple[str, tuple[str, ...]]]:
    """Resources that require the call, and their healthy ids in any order."""
    return await with_option(ctx, _wants, "PreStartContainer")


async def allocated(ctx: CheckContext, plugin: RecordedConnection, resource: str, ids: tuple[str, ...]) -> None:
    """Allocate first, as a kubelet does; a failure is noted."""
    if isinstance(came := await outcome(plugin.allocate(ids)), RpcFailed):
        ctx.note(f"{resource}: Allocate failed, PreStartContainer was called all the same: {came}")


@GROUP.check(
    "prestart-latency",
    "PreStartContainer is answered within 30 s",
    level=Level.ERROR,
    what="A device is allocated, and the call is made for it with the kubelet's deadline. More than 5 s is a warning.",
    why="After 30 s the kubelet gives up, and the container does not start; it tries again with the next attempt, in vain.",
    fix="Prepare devices before they are needed, or do what takes long in the container itself.",
    source="the code of the kubelet",
    rules="DM-103",
    limit_s=180.0,
)
async def latency(ctx: CheckContext) -> None:
    for resource, ids in await requiring(ctx):
        async with ctx.connection(resource) as plugin:
            await allocated(ctx, plugin, resource, ids[:1])
            came = await outcome(plugin.pre_start(ids[:1]))
            took_s = plugin.took_s[-1]
        if isinstance(came, RpcFailed) and came.code == LATE and took_s >= PRE_START_TIMEOUT_S - 1:
            text = f"{resource}: PreStartContainer was not answered within {PRE_START_TIMEOUT_S:g} s"
            ctx.error(text, resource=resource)
        elif took_s > SLOW_S:
            text = f"{resource}: PreStartContainer took {took_s:.1f} s of {PRE_START_TIMEOUT_S:g} s that it may take"
            ctx.warning(text, resource=resource, took_s=round(took_s, 3))


@GROUP.check(
    "prestart-repeatable",
    "PreStartContainer can be called again for the same devices",
    level=Level.ERROR,
    what="A device is allocated once, then the call is made for it three times.",
    why="The kubelet makes the call at every start of the container, without a new Allocate: a container that crashed never comes back "
    "if the second call fails.",
    fix="Do the work anew at each call, or find that it is done; never refuse a device because it was prepared before.",
    source="the documentation of device plugins",
    rules="DM-103",
    is_quick=True,
)
async def repeatable(ctx: CheckContext) -> None:
    for resource, ids in await requiring(ctx):
        async with ctx.connection(resource) as plugin:
            await allocated(ctx, plugin, resource, ids[:1])
            for number in range(1, TIMES + 1):
                came = await outcome(plugin.pre_start(ids[:1]))
                if isinstance(came, RpcFailed):
                    text = f"{resource}: call {number} of PreStartContainer for {ids[0]!r} failed: {came}"
                    ctx.error(text, resource=resource, id=ids[0], call=number, code=came.code)
                    break


@GROUP.check(
    "prestart-after-plugin-restart",
    "PreStartContainer works for what was allocated before the plugin restarted",
    level=Level.ERROR,
    stage=Stage.OWN,
    what="A device is allocated, the plugin is stopped and started again, and the call is made for the device.",
    why="The kubelet remembers allocations, and tells a restarted plugin nothing of them: containers that start again after an update "
    "of the plugin fail.",
    fix="Take every id that is listed; do not ask whether this process has allocated it.",
    source="the code of the kubelet",
    rules="DM-103 DM-134",
)
async def after_restart(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    found = await requiring(ctx)
    for resource, ids in found:
        async with ctx.connection(resource) as plugin:
            await allocated(ctx, plugin, resource, ids[:1])
    await ctx.stop_plugin()
    await ctx.start_or_skip(again="restart-reregister")
    for resource, ids in found:
        if ids[0] not in ctx.healthy_ids(resource):
            ctx.note(f"{resource}: {ids[0]!r} is not listed as healthy any more")
            continue
        async with ctx.connection(resource) as plugin:
            came = await outcome(plugin.pre_start(ids[:1]))
        if isinstance(came, RpcFailed):
            text = f"{resource}: after a restart of the plugin PreStartContainer for {ids[0]!r} failed: {came}"
            ctx.error(text, resource=resource, id=ids[0], code=came.code)


@GROUP.check(
    "prestart-unknown-id",
    "PreStartContainer refuses an unknown device, and goes on",
    level=Level.WARNING,
    what="The call is made for an id that was never listed, then for one that is.",
    why="A device may be gone by the time a container starts again. OK lets the container start without it; a crash takes all other "
    "devices along.",
    fix="Answer with an error status for ids that the plugin does not know.",
    source="the code of the kubelet",
    rules="DM-103 DM-104",
)
async def unknown_id(ctx: CheckContext) -> None:
    for resource, ids in await requiring(ctx):
        async with ctx.connection(resource) as plugin:
            came = await outcome(plugin.pre_start([UNKNOWN_ID]))
            if await has_fallen(ctx, came):
                text = (
                    f"{resource}: the plugin ended with {ctx.plugin.exit_code} at PreStartContainer for an unknown id"
                )
                ctx.warning(text, resource=resource, exit_code=ctx.plugin.exit_code)
                return
            if not isinstance(came, RpcFailed):
                ctx.warning(f"{resource}: PreStartContainer for an unknown id was answered with OK", resource=resource)
            elif isinstance(after := await outcome(plugin.pre_start(ids[:1])), RpcFailed):
                ctx.note(f"{resource}: the call for a known id failed afterwards: {after}; see prestart-repeatable")
