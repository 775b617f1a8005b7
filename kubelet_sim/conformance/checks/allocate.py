"""Checks of the group Allocate response, first part: that each call is answered, whatever came before it, and soon."""

from __future__ import annotations

import os

from kubelet_sim.conformance.answers import (
    UNKNOWN_ID,
    answers,
    difference,
    has_fallen,
    judge_latency,
    likeness,
    outcome,
    shuffled,
    with_devices,
)
from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.connection import RecordedConnection
from kubelet_sim.conformance.pods import admitted, pod_of
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.admission import Rejected

GROUP = Group.ALLOCATE
SEVERAL, MOST_AGAIN = 3, 8
MOST_COUNTS = 16
"""Counts of devices that are tried without --full."""
API_SERVER = "KUBERNETES_SERVICE_HOST"
FORGOTTEN = "see alloc-response-count"


@GROUP.check(
    "alloc-response-count",
    "Allocate answers one container with one response",
    level=Level.ERROR,
    what="Allocate is called with one container request, for one device and for up to three at once; responses are counted.",
    why="Without a response the pod is rejected. Of several the kubelet takes the first: a plugin that answers device by device grants "
    "the first one only.",
    fix="Loop over the container requests, and append one response for each, whatever the number of its ids.",
    source="the code of the kubelet; public reports",
    rules="DM-98 DM-99",
    is_quick=True,
)
async def response_count(ctx: CheckContext) -> None:
    for resource, ids in with_devices(ctx):
        async with ctx.connection(resource) as plugin:
            for wanted in {ids[:1]: None, ids[:SEVERAL]: None}:
                came = await outcome(plugin.allocate(wanted))
                if isinstance(came, RpcFailed):
                    if len(wanted) == 1:
                        text = f"{resource}: Allocate of the healthy device {wanted[0]!r} failed: {came}"
                        ctx.error(text, resource=resource, ids=list(wanted), code=came.code)
                        break
                    ctx.note(f"{resource}: Allocate of {len(wanted)} failed: see alloc-accepts-schedulable-count")
                elif (count := len(came.responses)) != 1:
                    text = f"{resource}: {count} container responses came for one container with {len(wanted)} devices"
                    ctx.error(text, resource=resource, ids=list(wanted), responses=count)


@GROUP.check(
    "alloc-multi-container-request",
    "Two container requests in one call are answered one by one, in order",
    level=Level.WARNING,
    stage=Stage.OWN,
    is_beyond=True,
    what="Allocate is called with two container requests of a device each, and with one of three devices.",
    why="No kubelet sends two today, but the API allows it; a plugin that mixes them up would give a container the other one's devices.",
    fix="Append one response for each container request, in their order.",
    source="the API file; public reports",
    rules="DM-98 DM-99",
)
async def multi_container(ctx: CheckContext) -> None:
    await ctx.start()
    for resource, ids in with_devices(ctx, 2):
        async with ctx.connection(resource) as plugin:
            alone = [await outcome(plugin.allocate([each])) for each in ids[:2]]
            both = await outcome(plugin.allocate_each([ids[:1], ids[1:2]]))
            several = await outcome(plugin.allocate(ids[:SEVERAL]))
        if isinstance(both, RpcFailed):
            ctx.warning(f"{resource}: a call with two container requests failed: {both}", code=both.code)
        elif len(both.responses) != len(alone):
            text = f"{resource}: {len(both.responses)} responses came for two container requests"
            ctx.warning(text, responses=len(both.responses))
        else:
            for number, (one, other) in enumerate(zip(alone, both.responses, strict=True), 1):
                if isinstance(one, RpcFailed) or not one.responses:
                    ctx.skip(f"{resource}: Allocate of a single device fails: {FORGOTTEN}")
                if likeness(one.responses[0]) != likeness(other):
                    text = f"{resource}: of two container requests number {number} was answered otherwise than alone"
                    ctx.warning(text, differs=difference(one.responses[0], other))
        if not isinstance(several, RpcFailed) and len(several.responses) != 1:
            text = f"{resource}: {len(several.responses)} responses came for one container request of {len(ids[:SEVERAL])} ids"
            ctx.warning(text, responses=len(several.responses))


@GROUP.check(
    "alloc-reoffer-same-id",
    "The same device can be allocated twice in a row",
    level=Level.ERROR,
    what="Allocate is called twice for the same device, and the answers are compared.",
    why="Devices of an init container are given to the next container of the pod by a second call for the same ids. A plugin that refuses "
    "it has the pod rejected.",
    fix="Keep no list of what is in use: answer from the ids alone.",
    source="the code of the kubelet; public reports",
    rules="DM-98 DM-100",
    is_quick=True,
)
async def reoffer(ctx: CheckContext) -> None:
    for resource, ids in with_devices(ctx):
        async with ctx.connection(resource) as plugin:
            first = await outcome(plugin.allocate(ids[:1]))
            second = await outcome(plugin.allocate(ids[:1]))
        if isinstance(first, RpcFailed) and isinstance(second, RpcFailed):
            ctx.skip(f"{resource}: Allocate of {ids[0]!r} fails: {first}; {FORGOTTEN} and alloc-realloc-after-free")
        if isinstance(second, RpcFailed):
            text = f"{resource}: the second Allocate of {ids[0]!r}, right after the first, failed: {second}"
            ctx.error(text, resource=resource, id=ids[0], code=second.code)
        elif not isinstance(first, RpcFailed) and first.responses and second.responses:
            one, other = first.responses[0], second.responses[0]
            if likeness(one) != likeness(other):
                text = f"{resource}: the second Allocate of {ids[0]!r} grants something else than the first"
                ctx.error(text, resource=resource, id=ids[0], differs=difference(one, other))


@GROUP.check(
    "alloc-realloc-after-free",
    "A device can be allocated again for a later pod",
    level=Level.ERROR,
    what="Up to eight devices are allocated one after the other, then all of them again; on an instance of its own the plugin is then "
    "restarted, and they are allocated once more. With --quick only the first half is done.",
    why="Nobody tells a plugin that a pod is over: the kubelet offers the device to the next one. A plugin that keeps a list of what is "
    "in use ends up refusing every pod.",
    fix="Keep no list of what is in use: the kubelet does that.",
    source="the code of the kubelet; public reports",
    rules="DM-98 DM-101",
    is_quick=True,
)
async def realloc(ctx: CheckContext) -> None:
    before = await answers(ctx)
    for resource, ids in with_devices(ctx):
        allocated = {each for each in ids if before.single(resource, each) is not None}
        async with ctx.connection(resource) as plugin:
            for each in (*ids[:MOST_AGAIN], *ids[:MOST_AGAIN]):
                came = await outcome(plugin.allocate([each]))
                if not isinstance(came, RpcFailed):
                    allocated.add(each)
                elif each in allocated:
                    text = f"{resource}: {each!r} was allocated before, and Allocate of it failed now: {came}"
                    ctx.error(text, resource=resource, id=each, code=came.code)
                    return
    if ctx.is_quick or not ctx.plugin.can_start:
        ctx.note("devices were allocated again by the same instance; not after a restart of the plugin")
        return
    async with ctx.aside() as aside:
        if not await aside.start():
            aside.note("another instance did not get ready: nothing was allocated again after a restart")
            return
        granted = [(resource, ids[:MOST_AGAIN]) for resource, ids in with_devices(aside)]
        for resource, ids in granted:
            async with aside.connection(resource) as plugin:
                if refused := await _refused(plugin, ids):
                    aside.skip(f"{resource}: Allocate of {refused[0]!r} fails: {FORGOTTEN}")
        await aside.stop_plugin()
        await aside.start()
        for resource, ids in granted:
            still = [each for each in ids if each in aside.healthy_ids(resource)]
            async with aside.connection(resource) as plugin:
                if refused := await _refused(plugin, still):
                    text = f"{resource}: after a restart of the plugin Allocate of {refused[0]!r} failed: {refused[1]}"
                    aside.error(text, resource=resource, id=refused[0], code=refused[1].code)
        aside.note("devices were allocated again by the same instance, and by the next one")


async def _refused(plugin: RecordedConnection, ids: tuple[str, ...] | list[str]) -> tuple[str, RpcFailed] | None:
    """The first device that is refused."""
    for each in ids:
        if isinstance(came := await outcome(plugin.allocate([each])), RpcFailed):
            return each, came
    return None


@GROUP.check(
    "alloc-unknown-id-no-crash",
    "Allocate refuses an unknown device, and the plugin goes on",
    level=Level.ERROR,
    what="Allocate is called for an id that was never listed. A crash is an error, OK a warning.",
    why="The kubelet may allocate a device that the plugin has just dropped. A crash takes all devices along; OK starts a container "
    "that has nothing.",
    fix="Look the id up, and answer with an error status if it is not there.",
    source="the code of the kubelet; public reports",
    rules="DM-97 DM-98",
    is_quick=True,
)
async def unknown_id(ctx: CheckContext) -> None:
    for resource, _ in with_devices(ctx):
        async with ctx.connection(resource) as plugin:
            came = await outcome(plugin.allocate([UNKNOWN_ID]))
        if await has_fallen(ctx, came):
            text = f"{resource}: the plugin ended with {ctx.plugin.exit_code} at Allocate of an unknown id"
            ctx.error(text, resource=resource, exit_code=ctx.plugin.exit_code)
            return
        if not isinstance(came, RpcFailed):
            ctx.warning(f"{resource}: Allocate of an unknown id was answered with OK", resource=resource)


@GROUP.check(
    "alloc-empty-request-no-crash",
    "Allocate of nothing does no harm",
    level=Level.WARNING,
    what="Allocate is called without any container request, then with one that has no ids. Any answer will do.",
    why="An index out of range ends the plugin, and with it all its devices.",
    fix="Loop over what there is instead of taking the first.",
    source="the code of the kubelet",
    rules="DM-99",
)
async def empty_request(ctx: CheckContext) -> None:
    requests: tuple[tuple[list[list[str]], str], ...] = (
        ([], "no container request"),
        ([[]], "a container without ids"),
    )
    for resource, _ in with_devices(ctx):
        for request, what in requests:
            async with ctx.connection(resource) as plugin:
                came = await outcome(plugin.allocate_each(request))
            if await has_fallen(ctx, came):
                text = f"{resource}: the plugin ended with {ctx.plugin.exit_code} at Allocate with {what}"
                ctx.warning(text, resource=resource, exit_code=ctx.plugin.exit_code)
                return


@GROUP.check(
    "alloc-error-then-ok",
    "A call that failed does not spoil the next",
    level=Level.ERROR,
    what="Allocate is called for an unknown id, and then for a healthy device.",
    why="The kubelet tells the plugin nothing after a failure, and does not try again: the next call is another pod's.",
    fix="Change nothing before everything is known to be possible; release locks when a call fails.",
    source="the code of the kubelet; public reports",
    rules="DM-98 DM-101",
)
async def error_then_ok(ctx: CheckContext) -> None:
    for resource, ids in with_devices(ctx):
        good = min(ids)
        async with ctx.connection(resource) as plugin:
            if isinstance(before := await outcome(plugin.allocate([good])), RpcFailed):
                ctx.skip(f"{resource}: Allocate of {good!r} fails before as well: {before}; {FORGOTTEN}")
            failure = await outcome(plugin.allocate([UNKNOWN_ID]))
        if await has_fallen(ctx, failure):
            ctx.skip("the plugin ended at an unknown id: see alloc-unknown-id-no-crash")
        if not isinstance(failure, RpcFailed):
            ctx.skip(f"{resource}: no call fails, not even for an unknown id: see alloc-unknown-id-no-crash")
        async with ctx.connection(resource) as plugin:
            came = await outcome(plugin.allocate([good]))
        if isinstance(came, RpcFailed):
            text = f"{resource}: after a call that failed Allocate of {good!r} failed, too: {came}"
            ctx.error(text, resource=resource, id=good, code=came.code)


@GROUP.check(
    "alloc-latency",
    "Allocate is answered within a second",
    level=Level.ERROR,
    what="Allocate is called up to a hundred times, for one device each; 99 of 100 count.",
    why="The kubelet admits one pod at a time and waits for the answer without a deadline: nothing starts on the node meanwhile. Slower "
    "than a second is a warning, than ten an error.",
    fix="Prepare at the start what takes long, or do it in PreStartContainer.",
    source="the code of the kubelet; public reports",
    rules="DM-98",
)
async def latency(ctx: CheckContext) -> None:
    for resource, ids in with_devices(ctx):
        async with ctx.connection(resource) as plugin:
            await judge_latency(
                ctx,
                plugin,
                resource,
                "Allocate",
                lambda p=plugin, i=ids: p.allocate(shuffled(ctx, i)[:1]),  # type: ignore[misc]
            )


@GROUP.check(
    "alloc-accepts-schedulable-count",
    "Every number of devices up to all of them can be allocated",
    level=Level.WARNING,
    what="Pods that ask for one device, for two and so on up to all healthy ones are admitted one after the other; of many counts "
    f"{MOST_COUNTS} are tried, with --full all.",
    why="The scheduler knows a number only. If the plugin refuses some numbers, the pod is rejected on the node, and its controller makes "
    "the next one, without end.",
    fix="Accept every number, or list devices in such units that every number is possible.",
    source="the code of the kubelet; public reports",
    rules="DM-90 DM-98",
)
async def schedulable(ctx: CheckContext) -> None:
    for resource, ids in with_devices(ctx):
        refused = {}
        for count in _counts(len(ids), is_full=ctx.window_s(60.0) >= 60.0):  # noqa: PLR2004 - as with --full
            if (why := await _rejection(ctx, resource, count)) is not None:
                refused[count] = why
                if await has_fallen(ctx, RpcFailed("Unavailable", why)):
                    ctx.note(f"the plugin ended with {ctx.plugin.exit_code}")
                    break
        if refused:
            count, why = next(iter(refused.items()))
            counts = ", ".join(map(str, refused))
            text = f"{resource}: of 1 to {len(ids)} devices pods with {counts} were rejected; with {count}: {why}"
            ctx.warning(text, resource=resource, counts=list(refused))


def _counts(most: int, *, is_full: bool) -> list[int]:
    """All, or the small ones, some between, and the largest."""
    if is_full or most <= MOST_COUNTS:
        return list(range(1, most + 1))
    half = MOST_COUNTS // 2
    step = (most - half) / half
    return [*range(1, half + 1), *(half + round(step * each) for each in range(1, half + 1))]


async def _rejection(ctx: CheckContext, resource: str, count: int) -> str | None:
    """Why a pod with so many was rejected; `None`: it was not. It is gone afterwards."""
    async with admitted(ctx, pod_of(f"takes-{count}", {resource: count})) as verdict:
        return f"{verdict.reason}: {verdict.message}" if isinstance(verdict, Rejected) else None


@GROUP.check(
    "alloc-without-apiserver",
    "Allocate needs no API server",
    level=Level.INFO,
    what="Devices are allocated where there is no API server.",
    why="Static pods, and pods on a node that has lost its control plane, start without one. A plugin that has to ask refuses them.",
    fix="Answer from the ids alone.",
    source="public reports",
    rules="DM-98",
)
async def without_apiserver(ctx: CheckContext) -> None:
    if API_SERVER in os.environ or API_SERVER in ctx.config.env:
        ctx.skip(f"the plugin is told of an API server by {API_SERVER}")
    worked_for = {each.resource for each in (await answers(ctx)).granted}
    for resource, ids in with_devices(ctx):
        async with ctx.connection(resource) as plugin:
            came = [await outcome(plugin.allocate([each])) for each in ids[:SEVERAL]]
        failures = [each for each in came if isinstance(each, RpcFailed)]
        if failures and len(failures) == len(came) and resource not in worked_for:
            ctx.info(f"{resource}: without an API server Allocate fails: {failures[0]}", code=failures[0].code)
