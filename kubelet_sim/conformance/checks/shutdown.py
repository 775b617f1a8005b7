"""Checks of the group Shutdown: how a plugin ends when it is asked to."""

from __future__ import annotations

import time

from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext

GROUP = Group.SHUTDOWN
PROMPT_S, LATEST_S = 10.0, 30.0
GAP_S = 10.0


async def asked_to_end(ctx: CheckContext) -> float | None:
    """SIGTERM with a stream open; how long it took to end, `None`: it did not, and was killed."""
    await ctx.start_or_skip()
    begun_s = time.monotonic()
    ctx.plugin.stop()
    if await ctx.plugin.ended(LATEST_S + 1):
        return time.monotonic() - begun_s
    await ctx.plugin.kill()
    return None


@GROUP.check(
    "shutdown-exit-prompt",
    "Asked to end, the plugin is gone within 10 s",
    level=Level.ERROR,
    what="SIGTERM while the kubelet's stream is open. More than 10 s are a warning, more than 30 s an error.",
    why="A pod has 30 s before it is killed. A server that waits for its streams to end waits for the kubelet, which never ends them.",
    fix="Stop the gRPC server at once instead of gracefully, or end the streams first.",
    source="public reports",
    rules="DM-41",
    needs="P",
    stage=Stage.OWN,
)
async def exit_prompt(ctx: CheckContext) -> None:
    took_s = await asked_to_end(ctx)
    if took_s is None:
        ctx.error(f"the plugin had not ended {LATEST_S:g} s after SIGTERM, and was killed")
    elif took_s > PROMPT_S:
        level = Level.ERROR if took_s > LATEST_S else Level.WARNING
        ctx.find(level, f"the plugin took {took_s:.1f} s to end after SIGTERM", took_s=round(took_s, 3))


@GROUP.check(
    "shutdown-socket-removed",
    "The plugin takes its socket away when it ends",
    level=Level.WARNING,
    what="The sockets in the device-plugin directory and in plugins_registry after SIGTERM.",
    why="What is left there is dialled by whoever looks for plugins, and is in the way of the next start.",
    fix="Remove the socket on SIGTERM; many gRPC libraries do when their server is stopped.",
    source="public reports",
    rules="DM-8 DM-153",
    needs="FP",
    stage=Stage.OWN,
)
async def socket_removed(ctx: CheckContext) -> None:
    await asked_to_end(ctx)
    names = sorted(ctx.sockets())
    registry = ctx.node.root.layout.path / "plugins_registry"
    if registry.is_dir():
        names += sorted(f"plugins_registry/{path.name}" for path in registry.rglob("*") if path.is_socket())
    if names:
        ctx.warning(f"after its end the plugin's sockets are still there: {', '.join(names)}", sockets=names)


@GROUP.check(
    "shutdown-clean-stream-end",
    "The stream ends with the plugin",
    level=Level.INFO,
    what="How the kubelet's stream ended after SIGTERM, and what the last list before it was.",
    why="Any end is the same to a kubelet: all devices are unhealthy from then on. A last list that says so comes a moment earlier.",
    fix="Nothing has to be mended; sending an empty list first is a courtesy.",
    source="the code of the kubelet",
    rules="DM-42 DM-44",
    needs="P",
    stage=Stage.OWN,
)
async def stream_end(ctx: CheckContext) -> None:
    if await asked_to_end(ctx) is None:
        ctx.note("the plugin had to be killed")
    for resource in ctx.resources:
        ended = await ctx.holds(lambda resource=resource: ctx.seen.ends_of(resource), GAP_S)  # type: ignore[misc]
        if not ended:
            ctx.info(f"{resource}: the stream did not end with the plugin", resource=resource)
            continue
        how = "OK" if ended[-1].error is None else str(ended[-1].error)
        lists = ctx.seen.lists_of(resource)
        was_last = bool(lists) and not any(device.is_healthy for device in lists[-1].devices)
        last = "an empty or unhealthy list came before" if was_last else "no last list came before"
        ctx.note(f"{resource}: the stream ended with {how}; {last}")


@GROUP.check(
    "shutdown-gap-short",
    "From its stop to its next registration a plugin takes at most 10 s",
    level=Level.INFO,
    what="SIGTERM, the end, a new start at once, and the time until every resource is listed again.",
    why="In the gap every pod that asks for a device is rejected for good.",
    fix="Find devices quickly at start, and end quickly.",
    source="public reports",
    rules="DM-44 DM-48 DM-69",
    needs="P",
    stage=Stage.OWN,
)
async def gap_short(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    begun_s = time.monotonic()
    await ctx.stop_plugin()
    if not await ctx.start():
        ctx.info("the plugin did not get ready again")
        return
    took_s = time.monotonic() - begun_s
    if took_s > GAP_S:
        ctx.info(f"the resource was gone for {took_s:.1f} s in an update", took_s=round(took_s, 3))
