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
from kubelet_sim.conformance.bench import Bench
from kubelet_sim.conformance.check import Group, Level, Stage, check
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


@check(
    "alloc-response-count",
    GROUP,
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
async def response_count(bench: Bench) -> None:
    """One for one."""
    for resource, ids in with_devices(bench):
        async with bench.connection(resource) as plugin:
            for wanted in {ids[:1]: None, ids[:SEVERAL]: None}:
                came = await outcome(plugin.allocate(wanted))
                if isinstance(came, RpcFailed):
                    if len(wanted) == 1:
                        text = f"{resource}: Allocate of the healthy device {wanted[0]!r} failed: {came}"
                        bench.error(text, resource=resource, ids=list(wanted), code=came.code)
                        break
                    bench.note(f"{resource}: Allocate of {len(wanted)} failed: see alloc-accepts-schedulable-count")
                elif (count := len(came.responses)) != 1:
                    text = f"{resource}: {count} container responses came for one container with {len(wanted)} devices"
                    bench.error(text, resource=resource, ids=list(wanted), responses=count)


@check(
    "alloc-multi-container-request",
    GROUP,
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
async def multi_container(bench: Bench) -> None:
    """Two for two, one for three."""
    await bench.start()
    for resource, ids in with_devices(bench, 2):
        async with bench.connection(resource) as plugin:
            alone = [await outcome(plugin.allocate([each])) for each in ids[:2]]
            both = await outcome(plugin.allocate_each([ids[:1], ids[1:2]]))
            several = await outcome(plugin.allocate(ids[:SEVERAL]))
        if isinstance(both, RpcFailed):
            bench.warning(f"{resource}: a call with two container requests failed: {both}", code=both.code)
        elif len(both.responses) != len(alone):
            text = f"{resource}: {len(both.responses)} responses came for two container requests"
            bench.warning(text, responses=len(both.responses))
        else:
            for number, (one, other) in enumerate(zip(alone, both.responses, strict=True), 1):
                if isinstance(one, RpcFailed) or not one.responses:
                    bench.skip(f"{resource}: Allocate of a single device fails: {FORGOTTEN}")
                if likeness(one.responses[0]) != likeness(other):
                    text = f"{resource}: of two container requests number {number} was answered otherwise than alone"
                    bench.warning(text, differs=difference(one.responses[0], other))
        if not isinstance(several, RpcFailed) and len(several.responses) != 1:
            text = f"{resource}: {len(several.responses)} responses came for one container request of {len(ids[:SEVERAL])} ids"
            bench.warning(text, responses=len(several.responses))


@check(
    "alloc-reoffer-same-id",
    GROUP,
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
async def reoffer(bench: Bench) -> None:
    """OK, and the same."""
    for resource, ids in with_devices(bench):
        async with bench.connection(resource) as plugin:
            first = await outcome(plugin.allocate(ids[:1]))
            second = await outcome(plugin.allocate(ids[:1]))
        if isinstance(first, RpcFailed) and isinstance(second, RpcFailed):
            bench.skip(f"{resource}: Allocate of {ids[0]!r} fails: {first}; {FORGOTTEN} and alloc-realloc-after-free")
        if isinstance(second, RpcFailed):
            text = f"{resource}: the second Allocate of {ids[0]!r}, right after the first, failed: {second}"
            bench.error(text, resource=resource, id=ids[0], code=second.code)
        elif not isinstance(first, RpcFailed) and first.responses and second.responses:
            one, other = first.responses[0], second.responses[0]
            if likeness(one) != likeness(other):
                text = f"{resource}: the second Allocate of {ids[0]!r} grants something else than the first"
                bench.error(text, resource=resource, id=ids[0], differs=difference(one, other))


@check(
    "alloc-realloc-after-free",
    GROUP,
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
async def realloc(bench: Bench) -> None:
    """As often as one likes."""
    before = await answers(bench)
    for resource, ids in with_devices(bench):
        allocated = {each for each in ids if before.single(resource, each) is not None}
        async with bench.connection(resource) as plugin:
            for each in (*ids[:MOST_AGAIN], *ids[:MOST_AGAIN]):
                came = await outcome(plugin.allocate([each]))
                if not isinstance(came, RpcFailed):
                    allocated.add(each)
                elif each in allocated:
                    text = f"{resource}: {each!r} was allocated before, and Allocate of it failed now: {came}"
                    bench.error(text, resource=resource, id=each, code=came.code)
                    return
    if bench.is_quick or not bench.plugin.can_start:
        bench.note("devices were allocated again by the same instance; not after a restart of the plugin")
        return
    async with bench.aside() as aside:
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


@check(
    "alloc-unknown-id-no-crash",
    GROUP,
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
async def unknown_id(bench: Bench) -> None:
    """An error status."""
    for resource, _ in with_devices(bench):
        async with bench.connection(resource) as plugin:
            came = await outcome(plugin.allocate([UNKNOWN_ID]))
        if await has_fallen(bench, came):
            text = f"{resource}: the plugin ended with {bench.plugin.exit_code} at Allocate of an unknown id"
            bench.error(text, resource=resource, exit_code=bench.plugin.exit_code)
            return
        if not isinstance(came, RpcFailed):
            bench.warning(f"{resource}: Allocate of an unknown id was answered with OK", resource=resource)


@check(
    "alloc-empty-request-no-crash",
    GROUP,
    "Allocate of nothing does no harm",
    level=Level.WARNING,
    what="Allocate is called without any container request, then with one that has no ids. Any answer will do.",
    why="An index out of range ends the plugin, and with it all its devices.",
    fix="Loop over what there is instead of taking the first.",
    source="the code of the kubelet",
    rules="DM-99",
)
async def empty_request(bench: Bench) -> None:
    """Alive."""
    requests: tuple[tuple[list[list[str]], str], ...] = (
        ([], "no container request"),
        ([[]], "a container without ids"),
    )
    for resource, _ in with_devices(bench):
        for request, what in requests:
            async with bench.connection(resource) as plugin:
                came = await outcome(plugin.allocate_each(request))
            if await has_fallen(bench, came):
                text = f"{resource}: the plugin ended with {bench.plugin.exit_code} at Allocate with {what}"
                bench.warning(text, resource=resource, exit_code=bench.plugin.exit_code)
                return


@check(
    "alloc-error-then-ok",
    GROUP,
    "A call that failed does not spoil the next",
    level=Level.ERROR,
    what="Allocate is called for an unknown id, and then for a healthy device.",
    why="The kubelet tells the plugin nothing after a failure, and does not try again: the next call is another pod's.",
    fix="Change nothing before everything is known to be possible; release locks when a call fails.",
    source="the code of the kubelet; public reports",
    rules="DM-98 DM-101",
)
async def error_then_ok(bench: Bench) -> None:
    """As if nothing had happened."""
    for resource, ids in with_devices(bench):
        good = min(ids)
        async with bench.connection(resource) as plugin:
            if isinstance(before := await outcome(plugin.allocate([good])), RpcFailed):
                bench.skip(f"{resource}: Allocate of {good!r} fails before as well: {before}; {FORGOTTEN}")
            failure = await outcome(plugin.allocate([UNKNOWN_ID]))
        if await has_fallen(bench, failure):
            bench.skip("the plugin ended at an unknown id: see alloc-unknown-id-no-crash")
        if not isinstance(failure, RpcFailed):
            bench.skip(f"{resource}: no call fails, not even for an unknown id: see alloc-unknown-id-no-crash")
        async with bench.connection(resource) as plugin:
            came = await outcome(plugin.allocate([good]))
        if isinstance(came, RpcFailed):
            text = f"{resource}: after a call that failed Allocate of {good!r} failed, too: {came}"
            bench.error(text, resource=resource, id=good, code=came.code)


@check(
    "alloc-latency",
    GROUP,
    "Allocate is answered within a second",
    level=Level.ERROR,
    what="Allocate is called up to a hundred times, for one device each; 99 of 100 count.",
    why="The kubelet admits one pod at a time and waits for the answer without a deadline: nothing starts on the node meanwhile. Slower "
    "than a second is a warning, than ten an error.",
    fix="Prepare at the start what takes long, or do it in PreStartContainer.",
    source="the code of the kubelet; public reports",
    rules="DM-98",
)
async def latency(bench: Bench) -> None:
    """99 of 100."""
    for resource, ids in with_devices(bench):
        async with bench.connection(resource) as plugin:
            await judge_latency(
                bench,
                plugin,
                resource,
                "Allocate",
                lambda p=plugin, i=ids: p.allocate(shuffled(bench, i)[:1]),  # type: ignore[misc]
            )


@check(
    "alloc-accepts-schedulable-count",
    GROUP,
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
async def schedulable(bench: Bench) -> None:
    """Each count is admitted."""
    for resource, ids in with_devices(bench):
        refused = {}
        for count in _counts(len(ids), is_full=bench.window_s(60.0) >= 60.0):  # noqa: PLR2004 - as with --full
            if (why := await _rejection(bench, resource, count)) is not None:
                refused[count] = why
                if await has_fallen(bench, RpcFailed("Unavailable", why)):
                    bench.note(f"the plugin ended with {bench.plugin.exit_code}")
                    break
        if refused:
            count, why = next(iter(refused.items()))
            counts = ", ".join(map(str, refused))
            text = f"{resource}: of 1 to {len(ids)} devices pods with {counts} were rejected; with {count}: {why}"
            bench.warning(text, resource=resource, counts=list(refused))


def _counts(most: int, *, is_full: bool) -> list[int]:
    """All, or the small ones, some between, and the largest."""
    if is_full or most <= MOST_COUNTS:
        return list(range(1, most + 1))
    half = MOST_COUNTS // 2
    step = (most - half) / half
    return [*range(1, half + 1), *(half + round(step * each) for each in range(1, half + 1))]


async def _rejection(bench: Bench, resource: str, count: int) -> str | None:
    """Why a pod with so many was rejected; `None`: it was not. It is gone afterwards."""
    async with admitted(bench, pod_of(f"takes-{count}", {resource: count})) as verdict:
        return f"{verdict.reason}: {verdict.message}" if isinstance(verdict, Rejected) else None


@check(
    "alloc-without-apiserver",
    GROUP,
    "Allocate needs no API server",
    level=Level.INFO,
    what="Devices are allocated where there is no API server.",
    why="Static pods, and pods on a node that has lost its control plane, start without one. A plugin that has to ask refuses them.",
    fix="Answer from the ids alone.",
    source="public reports",
    rules="DM-98",
)
async def without_apiserver(bench: Bench) -> None:
    """It works, here."""
    if API_SERVER in os.environ or API_SERVER in bench.config.env:
        bench.skip(f"the plugin is told of an API server by {API_SERVER}")
    worked_for = {each.resource for each in (await answers(bench)).granted}
    for resource, ids in with_devices(bench):
        async with bench.connection(resource) as plugin:
            came = [await outcome(plugin.allocate([each])) for each in ids[:SEVERAL]]
        failures = [each for each in came if isinstance(each, RpcFailed)]
        if failures and len(failures) == len(came) and resource not in worked_for:
            bench.info(f"{resource}: without an API server Allocate fails: {failures[0]}", code=failures[0].code)
