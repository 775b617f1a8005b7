"""Checks of the group Restart and recovery: a plugin that starts anew, and one that takes over from another."""

from __future__ import annotations

import asyncio
import time

from kubelet_sim.conformance.answers import one_each
from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.host_files import host_of
from kubelet_sim.conformance.pods import CONTAINER, pod_of
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.profiles import ClientKey

GROUP = Group.RESTART
BACK_WITHIN_S = 60.0
OVERLAP_S = 5.0
A_SECOND_LATER_S = 1.1
"""Some put the time in seconds into the name: two instances of a node do not start in the same one."""


@GROUP.check(
    "restart-lists-inuse-devices",
    "A plugin that restarts lists the devices that are in use, too",
    level=Level.ERROR,
    what="A pod gets a device of each resource; the plugin is stopped and started; its first list has to have that device.",
    why="A kubelet that looks for the device of a running pod and does not find it rejects the pod at its next restart; since 1.34 it "
    "may crash.",
    fix="List every device that is there, whoever uses it. What is in use is the kubelet's business.",
    source="the code of the kubelet; public reports",
    rules="DM-58 DM-59 DM-111",
    needs="P",
    stage=Stage.OWN,
)
async def lists_inuse(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    held: dict[str, tuple[str, ...]] = {}
    for number, resource in enumerate(ctx.resources):
        pod = pod_of(f"user-{number}", {resource: 1})
        if ctx.healthy_ids(resource) and isinstance(await ctx.node.admit(pod), Admitted):
            used = ctx.node.kubelet.state.allocations.record(pod.uid, CONTAINER, resource)
            held[str(resource)] = tuple(sorted(map(str, used.ids))) if used else ()
    if not held:
        ctx.skip("needs a device that a pod gets")
    await ctx.stop_plugin()
    since_s = time.monotonic()
    await ctx.start_or_skip(again="shutdown-gap-short")
    for name, ids in held.items():
        lists = ctx.seen.lists_of(name, since_s)
        first = next((each for each in lists if each.devices), None)
        missing = [each for each in ids if first is None or each not in {str(device.id) for device in first.devices}]
        if missing:
            text = f"{name}: after a restart of the plugin the list lacks {', '.join(missing)}, which a pod uses"
            ctx.error(text, resource=name, ids=missing)


@GROUP.check(
    "restart-no-side-effects-on-running",
    "Restarts leave what containers were given where it is",
    level=Level.WARNING,
    what="The host paths of an Allocate answer for one device of each resource, before and after the plugin and the kubelet were restarted.",
    why="Running containers keep their mounts and devices; a container that starts again gets the same answer from the checkpoint, with "
    "no new Allocate. What was removed is missing then.",
    fix="Do not clean up at start or stop what Allocate has handed out.",
    source="public reports",
    rules="DM-107 DM-112 DM-134",
    needs="FP",
    stage=Stage.OWN,
)
async def no_side_effects(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    files = host_of(ctx)
    paths = {
        name: set(filter(files.resolved, _host_paths(response))) for name, response in (await one_each(ctx)).items()
    }
    await ctx.stop_plugin()
    while_gone = {name: {path for path in there if not files.resolved(path)} for name, there in paths.items()}
    await ctx.restart_kubelet()
    await ctx.start()
    for name, there in paths.items():
        for path in sorted(there):
            if not files.resolved(path):
                ctx.warning(f"{name}: {path} is gone after restarts", resource=name, path=path)
            elif path in while_gone[name]:
                ctx.warning(f"{name}: {path} was gone while the plugin was", resource=name, path=path)


def _host_paths(granted: ContainerResponse) -> list[str]:
    return [*(each.host_path for each in granted.devices), *(each.host_path for each in granted.mounts)]


@GROUP.check(
    "takeover-surge",
    "A second instance takes over from the first without losing the devices",
    level=Level.ERROR,
    what="A second instance is started; 5 s later the first is stopped. Within 60 s every resource has to be listed. A warning for "
    "kubelets up to 1.36, an error after it.",
    why="That is a rolling update with surge. Up to 1.36 the end of the first stream cuts the second instance off, which has to register "
    "again.",
    fix="Register again when your stream ends, whoever ended it; use another socket name for each instance.",
    source="the code of the kubelet; public reports",
    rules="DM-32 DM-33 DM-34 DM-180",
    needs="M",
    stage=Stage.OWN,
    limit_s=180,
)
async def surge(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    second = await ctx.second_instance()
    await second.start()
    overlap_s = ctx.window_s(OVERLAP_S)
    if await second.ended(overlap_s):
        ctx.warning(
            f"a second instance ended with {second.exit_code} while the first one ran", exit_code=second.exit_code
        )
        return
    await ctx.stop_plugin()
    level = Level.ERROR if ctx.profile.clients_by is ClientKey.SOCKET else Level.WARNING
    is_back = await ctx.holds(lambda: all(map(ctx.seen.is_live, ctx.resources)), BACK_WITHIN_S)
    await asyncio.sleep(0)
    if not is_back:
        gone = [str(resource) for resource in ctx.resources if not ctx.seen.is_live(resource)]
        text = f"{BACK_WITHIN_S:g} s after the first instance stopped nobody serves {', '.join(gone)}"
        ctx.find(level, text, resources=gone)


@GROUP.check(
    "takeover-unique-socket",
    "Two instances have sockets of different names",
    level=Level.WARNING,
    what="The endpoints that two instances register, which run side by side.",
    why="With one name the second instance takes the path from the first, or cannot listen at all; what the kubelet reaches there then "
    "depends on who was last.",
    fix="Put something of the instance into the name: a time or a random part.",
    source="public reports",
    rules="DM-25 DM-33",
    needs="M",
    stage=Stage.OWN,
)
async def unique_socket(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    first = {each.registration.socket_name for each in ctx.seen.registrations}
    count = len(ctx.seen.registrations)
    await asyncio.sleep(A_SECOND_LATER_S)
    second = await ctx.second_instance()
    await second.start()
    if not await ctx.holds(lambda: len(ctx.seen.registrations) > count or second.has_ended, BACK_WITHIN_S):
        ctx.skip("the second instance did not register")
    names = {each.registration.socket_name for each in ctx.seen.registrations[count:]}
    if shared := sorted(first & names):
        ctx.warning(f"two instances use the socket name {', '.join(map(repr, shared))}", names=shared)
    elif not names:
        ctx.skip(f"the second instance ended with {second.exit_code}")
