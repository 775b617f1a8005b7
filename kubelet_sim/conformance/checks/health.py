"""Checks of the group Health and inventory: whether lists tell what happens to devices. They need the user's hooks."""

from __future__ import annotations

import time
from collections.abc import Callable

from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.checks.lists import SHOWN, some
from kubelet_sim.conformance.host_files import host_of
from kubelet_sim.conformance.plugin_log import ReceivedList
from kubelet_sim.conformance.pods import CONTAINER, admitted, pod_of
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.ids import ResourceName

GROUP = Group.HEALTH
CHANGES_WITHIN_S = 30.0
HOTPLUG_WITHIN_S = 60.0


def health_of(listed: ReceivedList | None) -> dict[str, bool]:
    """Whether each device of a list is healthy, by id."""
    return {} if listed is None else {str(device.id): device.is_healthy for device in listed.devices}


def a_healthy_one(ctx: CheckContext) -> tuple[ResourceName, str]:
    """A resource and one of its healthy devices. Skips the check if there is none."""
    found = [(resource, ids[0]) for resource in ctx.resources if (ids := ctx.healthy_ids(resource))]
    if not found:
        ctx.skip("needs a healthy device")
    return found[0]


async def change(ctx: CheckContext, resource: str, holds: Callable[[dict[str, bool]], bool], within_s: float) -> bool:
    """Whether a list comes, or has come, of which it holds."""
    return bool(await ctx.holds(lambda: holds(health_of(ctx.seen.current_list(resource))), within_s))


@GROUP.check(
    "health-initial-state-true",
    "The first list shows each device as it is",
    level=Level.ERROR,
    what="A device is broken before the plugin starts, and the first list that has any device is looked at.",
    why="A dead device that is shown as healthy is given to a pod at once; a good one that is shown as unhealthy makes pods fail that are "
    "admitted right after a restart.",
    fix="Find out the health of every device before the first list is sent.",
    source="public reports",
    rules="DM-52",
    needs="H",
    hooks="break mend",
    stage=Stage.OWN,
)
async def initial_state(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    resource, broken = a_healthy_one(ctx)
    good = set(ctx.healthy_ids(resource)) - {broken}
    await ctx.stop_plugin()
    async with ctx.broken(broken, resource):
        since_s = time.monotonic()
        await ctx.start()
        first = next((each for each in ctx.seen.lists_of(resource, since_s) if each.devices), None)
        if first is None:
            ctx.skip("no list with devices came after a device was broken")
        health = health_of(first)
        if health.get(broken):
            ctx.error(f"{resource}: {broken!r} was broken before the start and is listed as healthy", id=broken)
        wrong = sorted(device for device in good if health.get(device) is False)
        if wrong:
            ctx.warning(f"{resource}: {some(wrong)} are good and listed as unhealthy at first", ids=wrong[:SHOWN])


@GROUP.check(
    "health-down-propagates",
    "A device that breaks is listed as unhealthy within 30 s, and only that one",
    level=Level.ERROR,
    what="One healthy device is broken by --break and mended afterwards.",
    why="Until the list says so, pods are given the dead device, fail, and are given it again.",
    fix="Watch the health of devices, and send the whole list when it changes.",
    source="public reports",
    rules="DM-51 DM-52 DM-57",
    needs="H",
    hooks="break mend",
    stage=Stage.RESTARTS,
)
async def down(ctx: CheckContext) -> None:
    resource, broken = a_healthy_one(ctx)
    before = health_of(ctx.seen.current_list(resource))
    async with ctx.broken(broken, resource):
        if not await change(ctx, resource, lambda health: not health.get(broken, False), CHANGES_WITHIN_S):
            ctx.error(f"{resource}: {broken!r} was broken and is still listed as healthy after {CHANGES_WITHIN_S:g} s")
        after = health_of(ctx.seen.current_list(resource))
        others = sorted(each for each in before if each != broken and before[each] and not after.get(each, False))
        if others:
            ctx.error(f"{resource}: {broken!r} was broken, and {some(others)} went with it", ids=others[:SHOWN])
    await change(ctx, resource, lambda health: health.get(broken, False), CHANGES_WITHIN_S)


@GROUP.check(
    "health-recovers",
    "A device that is mended is listed as healthy within 30 s",
    level=Level.WARNING,
    what="One device is broken, and mended when the list has shown it.",
    why="A device that never comes back is lost to the node until somebody restarts the plugin.",
    fix="Watch for the way back as well.",
    source="public reports",
    rules="DM-51 DM-58",
    needs="H",
    hooks="break mend",
    stage=Stage.RESTARTS,
)
async def recovers(ctx: CheckContext) -> None:
    resource, broken = a_healthy_one(ctx)
    async with ctx.broken(broken, resource):
        if not await change(ctx, resource, lambda health: not health.get(broken, False), CHANGES_WITHIN_S):
            ctx.skip("the plugin did not notice that the device broke: see health-down-propagates")
    if not await change(ctx, resource, lambda health: health.get(broken, False), CHANGES_WITHIN_S):
        ctx.warning(
            f"{resource}: {broken!r} was mended and is not healthy again after {CHANGES_WITHIN_S:g} s", id=broken
        )


@GROUP.check(
    "health-recovers-from-start",
    "A device that was broken when the plugin started is listed as healthy when it is mended",
    level=Level.WARNING,
    what="A device is broken, the plugin started, the device mended; within 30 s the list has to say so.",
    why="Plugins that look for devices only at start never find one that was away then.",
    fix="Go on looking for devices that should be there.",
    source="public reports",
    rules="DM-51",
    needs="H",
    hooks="break mend",
    stage=Stage.OWN,
)
async def recovers_from_start(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    resource, broken = a_healthy_one(ctx)
    await ctx.stop_plugin()
    async with ctx.broken(broken, resource):
        since_s = time.monotonic()
        await ctx.start()
        if not ctx.seen.lists_of(resource, since_s):
            ctx.note("no list came while the device was broken")
    if not await change(ctx, resource, lambda health: health.get(broken, False), CHANGES_WITHIN_S):
        text = f"{resource}: {broken!r} was broken at the start and mended, and is not healthy after {CHANGES_WITHIN_S:g} s"
        ctx.warning(text, id=broken)


@GROUP.check(
    "health-kept-in-list",
    "A device that breaks stays in the list, as unhealthy",
    level=Level.ERROR,
    what="A pod is given a device, and that device is broken. If it leaves the list, that is a warning; an error for kubelets since 1.34.",
    why="A device that is gone does not count in the capacity, and its pod cannot be admitted again. Since 1.34 a kubelet that needs to "
    "look it up crashes.",
    fix="Keep listing it with the health `Unhealthy`.",
    source="the code of the kubelet; the documentation of device plugins",
    rules="DM-57 DM-58 DM-59",
    needs="H",
    hooks="break mend",
    stage=Stage.RESTARTS,
)
async def kept(ctx: CheckContext) -> None:
    resource, _ = a_healthy_one(ctx)
    pod = pod_of("holder", {resource: 1})
    async with admitted(ctx, pod) as verdict:
        if not isinstance(verdict, Admitted):
            ctx.skip("needs a device that a pod gets")
        record = ctx.node.kubelet.state.allocations.record(pod.uid, CONTAINER, resource)
        broken = min(map(str, record.ids)) if record else ""
        async with ctx.broken(broken, resource):
            if not await change(ctx, resource, lambda health: not health.get(broken, False), CHANGES_WITHIN_S):
                ctx.skip("the plugin did not notice that the device broke: see health-down-propagates")
            if broken not in health_of(ctx.seen.current_list(resource)):
                level = Level.ERROR if ctx.profile.vanished_device_crashes else Level.WARNING
                ctx.find(level, f"{resource}: {broken!r} was broken while a pod used it, and left the list", id=broken)
        await change(ctx, resource, lambda health: health.get(broken, False), CHANGES_WITHIN_S)


@GROUP.check(
    "health-missing-path-unhealthy",
    "A device whose host path is missing is never healthy",
    level=Level.ERROR,
    what="Every list is held against the host paths that the configuration names for each id.",
    why="The container that is given it cannot be created: the runtime refuses a device that is not there.",
    fix="Look whether the path is there before the device is listed as healthy.",
    source="public reports",
    rules="DM-52 DM-125",
    needs="HF",
    optional="H",
)
async def missing_path(ctx: CheckContext) -> None:
    if not ctx.config.host_paths:
        ctx.skip("needs a mapping of ids to host paths in the configuration: host-paths")
    for resource in ctx.resources:
        wrong = sorted(each for each in ctx.healthy_ids(resource) if not _is_there(ctx, each))
        if wrong:
            ctx.error(f"{resource}: {some(wrong)} are listed as healthy without their host paths", ids=wrong[:SHOWN])


def _is_there(ctx: CheckContext, device: str) -> bool:
    paths = ctx.config.host_paths.get(device, ())
    return all(map(host_of(ctx).resolved, paths))


@GROUP.check(
    "health-monitor-failure-visible",
    "A plugin that cannot tell the health of its devices does not call them healthy",
    level=Level.WARNING,
    what="The source of health is made unavailable by --monitor-down, and the plugin started. It has to end, or list nothing as healthy.",
    why="A plugin whose monitor failed silently calls every device healthy for ever.",
    fix="End with an error, or list devices as unhealthy until the monitor works.",
    source="public reports",
    rules="DM-52",
    needs="H",
    hooks="monitor-down",
    stage=Stage.OWN,
)
async def monitor_failure(ctx: CheckContext) -> None:
    async with ctx.surroundings("monitor-down"):
        await ctx.start(settled=False)
        await ctx.holds(lambda: ctx.plugin.has_ended or ctx.seen.lists, CHANGES_WITHIN_S)
        await ctx.settled(CHANGES_WITHIN_S)
        for resource in ctx.resources:
            if not ctx.plugin.has_ended and (ids := list(ctx.healthy_ids(resource))):
                text = f"{resource}: without a source of health {some(ids)} are listed as healthy"
                ctx.warning(text, resource=resource, ids=ids[:SHOWN])


@GROUP.check(
    "inv-hotplug-reported",
    "Devices that come or go are reported within 60 s",
    level=Level.WARNING,
    what="A device is added by --add, then one removed by --remove; lists have to show both.",
    why="Devices that are plugged in, or partitioned anew, are not used until the plugin is restarted; those that are gone are given to "
    "pods.",
    fix="Watch for devices, and send the whole list when there are others.",
    source="public reports",
    rules="DM-51 DM-58",
    needs="H",
    hooks="add remove",
    stage=Stage.RESTARTS,
)
async def hotplug(ctx: CheckContext) -> None:
    known = {resource: set(health_of(ctx.seen.current_list(resource))) for resource in ctx.resources}

    def new() -> tuple[str, str] | None:
        for resource in ctx.resources:
            for device in sorted(set(health_of(ctx.seen.current_list(resource))) - known[resource]):
                return str(resource), device
        return None

    await ctx.hook("add")
    came = await ctx.holds(new, HOTPLUG_WITHIN_S)
    if came is None:
        ctx.warning(f"a device that was added is not listed after {HOTPLUG_WITHIN_S:g} s")
        return
    resource, device = came
    await ctx.hook("remove", device, resource)
    if not await change(ctx, resource, lambda health: not health.get(device, False), HOTPLUG_WITHIN_S):
        ctx.warning(f"{resource}: {device!r} was removed and is still healthy after {HOTPLUG_WITHIN_S:g} s", id=device)


@GROUP.check(
    "inv-stable-ids",
    "The same devices have the same ids after a restart of the plugin",
    level=Level.ERROR,
    what="The ids of each resource before and after a restart of the plugin.",
    why="Books and checkpoint know devices by their ids: with others, devices in use look free, and running pods are rejected at the next "
    "restart of the kubelet.",
    fix="Make ids of what the hardware says of itself, such as a serial number or an address, and not of the order of finding.",
    source="public reports",
    rules="DM-55 DM-58 DM-145",
    needs="P",
    stage=Stage.OWN,
)
async def stable_ids(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    before = {resource: set(health_of(ctx.seen.current_list(resource))) for resource in ctx.resources}
    await ctx.stop_plugin()
    await ctx.start_or_skip(again="shutdown-gap-short")
    for resource, ids in before.items():
        after = set(health_of(ctx.seen.current_list(resource)))
        if after != ids:
            lost, new = sorted(ids - after), sorted(after - ids)
            text = f"{resource}: after a restart {len(lost)} ids are gone and {len(new)} are new"
            ctx.error(text, resource=resource, gone=lost[:SHOWN], new=new[:SHOWN])
