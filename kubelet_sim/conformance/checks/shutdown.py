"""Checks of the group Shutdown: how a plugin ends when it is asked to."""

from __future__ import annotations

import time

from kubelet_sim.conformance.bench import Bench
from kubelet_sim.conformance.check import Group, Level, Stage, check

GROUP = Group.SHUTDOWN
PROMPT_S, LATEST_S = 10.0, 30.0
GAP_S = 10.0


async def asked_to_end(bench: Bench) -> float | None:
    """SIGTERM with a stream open; how long it took to end, `None`: it did not, and was killed."""
    await bench.start_or_skip()
    begun_s = time.monotonic()
    bench.plugin.stop()
    if await bench.plugin.ended(LATEST_S + 1):
        return time.monotonic() - begun_s
    await bench.plugin.kill()
    return None


@check(
    "shutdown-exit-prompt",
    GROUP,
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
async def exit_prompt(bench: Bench) -> None:
    """With the stream open."""
    took_s = await asked_to_end(bench)
    if took_s is None:
        bench.error(f"the plugin had not ended {LATEST_S:g} s after SIGTERM, and was killed")
    elif took_s > PROMPT_S:
        level = Level.ERROR if took_s > LATEST_S else Level.WARNING
        bench.find(level, f"the plugin took {took_s:.1f} s to end after SIGTERM", took_s=round(took_s, 3))


@check(
    "shutdown-socket-removed",
    GROUP,
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
async def socket_removed(bench: Bench) -> None:
    """In either directory."""
    await asked_to_end(bench)
    names = sorted(bench.sockets())
    registry = bench.node.root.layout.path / "plugins_registry"
    if registry.is_dir():
        names += sorted(f"plugins_registry/{path.name}" for path in registry.rglob("*") if path.is_socket())
    if names:
        bench.warning(f"after its end the plugin's sockets are still there: {', '.join(names)}", sockets=names)


@check(
    "shutdown-clean-stream-end",
    GROUP,
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
async def stream_end(bench: Bench) -> None:
    """Only told."""
    if await asked_to_end(bench) is None:
        bench.note("the plugin had to be killed")
    for resource in bench.resources:
        ended = await bench.holds(lambda resource=resource: bench.seen.ends_of(resource), GAP_S)  # type: ignore[misc]
        if not ended:
            bench.info(f"{resource}: the stream did not end with the plugin", resource=str(resource))
            continue
        how = "OK" if ended[-1].error is None else str(ended[-1].error)
        lists = bench.seen.lists_of(resource)
        was_last = bool(lists) and not any(device.is_healthy for device in lists[-1].devices)
        last = "an empty or unhealthy list came before" if was_last else "no last list came before"
        bench.note(f"{resource}: the stream ended with {how}; {last}")


@check(
    "shutdown-gap-short",
    GROUP,
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
async def gap_short(bench: Bench) -> None:
    """As in an update of the DaemonSet."""
    await bench.start_or_skip()
    begun_s = time.monotonic()
    await bench.stop_plugin()
    if not await bench.start():
        bench.info("the plugin did not get ready again")
        return
    took_s = time.monotonic() - begun_s
    if took_s > GAP_S:
        bench.info(f"the resource was gone for {took_s:.1f} s in an update", took_s=round(took_s, 3))
