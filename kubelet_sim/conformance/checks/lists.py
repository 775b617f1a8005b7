"""Checks of the group ListAndWatch: what is in a list, and when lists come. More than one stream is `streams`."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress

from kubelet_sim.conformance.answers import quoted
from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.plugin_log import ReceivedList
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.device import HEALTHY, UNHEALTHY, Device

GROUP = Group.LISTING
FIRST_WITHIN_S, FIRST_AT_LATEST_S = 5.0, 30.0
CHANGE_WITHIN_S = 30.0
LONGEST_ID = 63
LIMIT_BYTES, MUCH_BYTES = 4 * 1024 * 1024, 1024 * 1024
SPAM_EVERY_S = 5.0
LATER_STREAMS = 9
TOO_LARGE = "larger than max"
SHOWN = 10


def distinct(lists: Iterable[ReceivedList]) -> Iterator[ReceivedList]:
    """Each list that says something that none before it said."""
    seen = set()
    for each in lists:
        if (key := (each.resource, each.devices)) not in seen:
            seen.add(key)
            yield each


def report(
    ctx: CheckContext, what: Callable[[Device], bool], say: Callable[[str, list[str]], str], level: Level
) -> None:
    """One finding a resource: the ids, in all lists so far, of devices that are so."""
    for resource in ctx.resources:
        listed = {device.id: None for each in ctx.seen.lists_of(resource) for device in each.devices if what(device)}
        if listed:
            ids = [str(each) for each in listed]
            ctx.find(level, say(resource, ids), resource=resource, ids=ids[:SHOWN], count=len(ids))


def some(ids: list[str]) -> str:
    """The first three ids, quoted, and how many more there are."""
    return quoted(ids, 3)


@GROUP.check(
    "law-first-message-full-list",
    "The first list comes within 5 s of each stream, and is full",
    level=Level.ERROR,
    what="The time from the opening of each stream to its first list, and whether devices come only later. An empty start that is "
    "followed at once by the full list is only told. With --beyond nine more streams are opened on an instance of its own.",
    why="Until the list is there the node has no devices: after a restart of the kubelet pods that hold some are rejected.",
    fix="Send the whole list as soon as ListAndWatch is called, on every call of it, and not only when something changes.",
    source="the code of the kubelet; the documentation of device plugins",
    rules="DM-42 DM-51",
    needs_ready=False,
    is_quick=True,
)
async def first_message(ctx: CheckContext) -> None:
    if not ctx.seen.streams:
        ctx.skip("no stream was opened: see reg-happens")
    for stream in tuple(ctx.seen.streams):
        lists = [e for e in ctx.seen.lists if (e.client, e.incarnation) == (stream.client, stream.incarnation)]
        if not lists:
            if stream is ctx.seen.stream(stream.resource):
                text = f"{stream.resource}: no list came within {time.monotonic() - stream.at_s:.0f} s of the stream's opening"
                ctx.error(text, resource=stream.resource)
            continue
        _judge_first(ctx, stream.resource, lists[0].at_s - stream.at_s)
        _judge_full(ctx, lists, stream.at_s)
    if ctx.config.is_beyond and ctx.plugin.can_start and ctx.seen.lists:
        await _later_streams(ctx)


def _judge_first(ctx: CheckContext, resource: str, took_s: float) -> None:
    if took_s > FIRST_WITHIN_S:
        level = Level.ERROR if took_s > FIRST_AT_LATEST_S else Level.WARNING
        text = f"{resource}: the first list came after {took_s:.1f} s, more than {FIRST_WITHIN_S:g} s"
        ctx.find(level, text, resource=resource, took_s=round(took_s, 3))


def _judge_full(ctx: CheckContext, lists: list[ReceivedList], opened_s: float) -> None:
    resource = str(lists[0].resource)
    early = [each for each in lists if each.at_s - opened_s <= FIRST_WITHIN_S] or lists[:1]
    if not lists[0].devices and early[-1].devices:
        ctx.info(f"{resource}: the first list was empty, the full one followed")
    there = {device.id for device in early[-1].devices}
    late = sorted({str(device.id) for device in lists[-1].devices} - there)
    if late and ctx.check.stage is Stage.SHARED:
        text = f"{resource}: {some(late)} came later than {FIRST_WITHIN_S:g} s after the stream's opening"
        ctx.error(text, resource=resource, ids=late[:SHOWN], count=len(late))


async def _later_streams(ctx: CheckContext) -> None:
    async with ctx.aside() as aside:
        await aside.start()
        for resource in aside.resources:
            full = {device.id for device in (await aside.list_of(resource)).devices}
            for number in range(2, LATER_STREAMS + 2):
                async with aside.connection(resource) as plugin:
                    lists = plugin.lists()
                    devices = await first_of(lists, FIRST_WITHIN_S)
                    await lists.aclose()  # type: ignore[attr-defined]
                if devices is None or {device.id for device in devices} != full:
                    came = "no list" if devices is None else f"{len(devices)} of {len(full)} devices"
                    aside.warning(f"{resource}: stream {number} brought {came} within {FIRST_WITHIN_S:g} s")
                    break


async def first_of(lists: AsyncIterator[tuple[Device, ...]], within_s: float) -> tuple[Device, ...] | None:
    """The next list of a stream; `None` if it ends or none comes in time."""
    with suppress(TimeoutError, RpcFailed):
        async with asyncio.timeout(within_s):
            return await anext(lists, None)
    return None


@GROUP.check(
    "law-stream-stays-open",
    "The plugin does not end its stream",
    level=Level.ERROR,
    what="The ends of streams while nothing happens.",
    why="The kubelet does not open a stream again: when one ends, all its devices become unhealthy, until the plugin registers anew.",
    fix="Return from ListAndWatch only when the plugin ends; wait for changes inside it.",
    source="the code of the kubelet; public reports",
    rules="DM-42 DM-33",
    needs_ready=False,
    observes=True,
    is_quick=True,
)
async def stays_open(ctx: CheckContext) -> None:
    if not ctx.seen.streams:
        ctx.skip("no stream was opened: see reg-happens")
    window = await ctx.observe(60.0)
    for end in ctx.seen.ends:
        if end.at_s > window.end_s or (end.error is not None and TOO_LARGE in end.error.description):
            continue
        opened = next(e for e in ctx.seen.streams if (e.client, e.incarnation) == (end.client, end.incarnation))
        if replaced(ctx, end.resource, opened.at_s, end.at_s):
            continue
        how = "with OK" if end.error is None else str(end.error)
        text = f"{end.resource}: the plugin ended its stream after {end.at_s - opened.at_s:.1f} s, {how}"
        ctx.error(text, resource=end.resource, after_s=round(end.at_s - opened.at_s, 3))


def replaced(ctx: CheckContext, resource: str, opened_s: float, ended_s: float) -> bool:
    """Whether the plugin had registered again before the stream ended: then the kubelet cut it."""
    return any(opened_s < each.at_s <= ended_s for each in ctx.seen.registrations_of(resource))


@GROUP.check(
    "law-full-list-every-time",
    "A change is told by a full list",
    level=Level.ERROR,
    needs="H",
    hooks="break mend",
    what="One device is broken; the next list is compared with the one before.",
    why="Each list replaces all that the kubelet knew: devices that are left out are gone, and their pods lose them at the next restart.",
    fix="Send all devices each time, not only those that have changed.",
    source="the code of the kubelet; the documentation of device plugins",
    rules="DM-51",
)
async def full_every_time(ctx: CheckContext) -> None:
    for resource in ctx.resources:
        before = await ctx.list_of(resource)
        if len({device.id for device in before.devices}) <= 1:
            ctx.note(f"{resource} has no two devices")
            continue
        victim, since_s = before.devices[0].id, time.monotonic()
        async with ctx.broken(victim, resource):
            after = await ctx.holds(lambda: ctx.seen.lists_of(resource, since_s), CHANGE_WITHIN_S)  # noqa: B023 - asked at once
            if not after:
                ctx.note(f"{resource}: no list came after {victim!r} was broken: see health-down-propagates")
                continue
            missing = sorted(
                {str(d.id) for d in before.devices} - {str(d.id) for d in after[0].devices} - {str(victim)}
            )
            if missing:
                text = f"{resource}: after {victim!r} was broken the list lacks {some(missing)}"
                ctx.error(text, resource=resource, broken=str(victim), missing=missing[:SHOWN])
        await ctx.holds(lambda: victim in ctx.healthy_ids(resource), CHANGE_WITHIN_S)  # noqa: B023 - asked at once


@GROUP.check(
    "law-unique-ids",
    "No id stands twice in a list",
    level=Level.ERROR,
    what="The ids of every list.",
    why="The last entry wins, but an id that is listed healthy and unhealthy is counted twice: the node says it has more devices than it has.",
    fix="Give each device an id of its own, and list it once.",
    source="the code of the kubelet",
    rules="DM-53",
    is_quick=True,
)
async def unique_ids(ctx: CheckContext) -> None:
    worst: dict[str, dict[str, int]] = {}
    for listed in distinct(ctx.seen.lists):
        twice = {str(id_): n for id_, n in Counter(device.id for device in listed.devices).items() if n > 1}
        worst.setdefault(listed.resource, {}).update(twice)
    for resource, twice in worst.items():
        if twice:
            text = f"{resource}: {some(sorted(twice))} stand more than once in a list"
            ctx.error(text, resource=resource, times=dict(list(twice.items())[:SHOWN]))


@GROUP.check(
    "law-nonempty-ids",
    "No id is empty",
    level=Level.ERROR,
    what="The ids of every list.",
    why="The kubelet takes it and hands it out; nobody can tell which device a container got.",
    fix="Give each device an id.",
    source="the API file",
    rules="DM-51",
    is_quick=True,
)
async def nonempty_ids(ctx: CheckContext) -> None:
    report(ctx, lambda d: not d.id, lambda resource, _: f"{resource} lists a device with an empty id", Level.ERROR)


@GROUP.check(
    "law-id-length",
    "Ids have at most 63 characters",
    level=Level.WARNING,
    what="The ids of every list.",
    why="The API file says so. No kubelet enforces it, but tools that make labels or file names of ids rely on it.",
    fix="Shorten ids, for instance to a hash.",
    source="the API file, against the code of the kubelet",
    rules="DM-55",
)
async def id_length(ctx: CheckContext) -> None:
    report(
        ctx,
        lambda device: len(device.id) > LONGEST_ID,
        lambda resource, ids: f"{resource}: {len(ids)} ids are longer than {LONGEST_ID} characters: {some(ids)}",
        Level.WARNING,
    )


@GROUP.check(
    "law-id-charset",
    "Ids are printable ASCII without blanks and commas",
    level=Level.WARNING,
    what="The ids of every list.",
    why="Ids end up in environment variables joined by commas, in file names, in metrics and in logs; there they are torn apart.",
    fix="Use letters, digits, dashes, dots, colons and slashes.",
    source="public reports",
    rules="DM-55",
)
async def id_charset(ctx: CheckContext) -> None:
    report(
        ctx,
        lambda device: any(not "!" <= letter <= "~" or letter == "," for letter in device.id),
        lambda resource, ids: f"{resource}: ids with blanks, commas or other odd characters: {some(ids)}",
        Level.WARNING,
    )


@GROUP.check(
    "law-ids-unique-across-resources",
    "No two resources share an id",
    level=Level.WARNING,
    needs="BM",
    what="The ids of all resources of the plugin.",
    why="When the health of a device changes, the kubelet looks for its pods by the id alone: it may show the pods of the other resource.",
    fix="Put the kind of the device in front of its id.",
    source="the code of the kubelet; public reports",
    rules="DM-55 DM-157",
)
async def unique_across(ctx: CheckContext) -> None:
    if len(ctx.resources) <= 1:
        ctx.skip("needs a plugin with two resources")
    owners: dict[str, set[str]] = {}
    for listed in ctx.seen.lists:
        for device in listed.devices:
            owners.setdefault(str(device.id), set()).add(str(listed.resource))
    shared = sorted(id_ for id_, of in owners.items() if len(of) > 1)
    if shared:
        of = sorted(owners[shared[0]])
        ctx.warning(f"{' and '.join(of)} share ids: {some(shared)}", ids=shared[:SHOWN], resources=of)


@GROUP.check(
    "law-health-value",
    "Health is `Healthy` or `Unhealthy`",
    level=Level.ERROR,
    what="The health of every device in every list.",
    why="Whatever is not `Healthy` to the letter is unhealthy: a device that is `healthy` is never allocated.",
    fix="Use the two constants of the API package.",
    source="the code of the kubelet",
    rules="DM-52",
    is_quick=True,
)
async def health_value(ctx: CheckContext) -> None:
    for resource in ctx.resources:
        odd = {d.health for e in ctx.seen.lists_of(resource) for d in e.devices} - {HEALTHY, UNHEALTHY}
        if odd:
            text = f"{resource}: health is {some(sorted(odd))}, not {HEALTHY!r} or {UNHEALTHY!r}"
            ctx.error(text, resource=resource, health=sorted(odd)[:SHOWN])


@GROUP.check(
    "law-message-under-4mib",
    "A list is a message of at most 4 MiB",
    level=Level.ERROR,
    what="The size of every list, and streams that ended because a message was too large.",
    why="The kubelet's gRPC library takes no more. The stream ends, all devices are unhealthy, and most plugins do not notice.",
    fix="List fewer devices, give them shorter ids, or leave out empty topologies.",
    source="the limits of the gRPC library that the kubelet uses; public reports",
    rules="DM-42",
    needs_ready=False,
    is_quick=True,
)
async def message_size(ctx: CheckContext) -> None:
    if not ctx.seen.streams:
        ctx.skip("no stream was opened: see reg-happens")
    for end in ctx.seen.ends:
        if end.error is not None and TOO_LARGE in end.error.description:
            ctx.error(f"{end.resource}: the stream ended at a list that is too large: {end.error}", limit=LIMIT_BYTES)
            return
    for resource in ctx.resources:
        largest = max((each.size for each in distinct(ctx.seen.lists_of(resource))), default=0)
        if largest > MUCH_BYTES:
            level = Level.ERROR if largest > LIMIT_BYTES else Level.WARNING
            ctx.find(level, f"{resource}: a list has {largest} bytes of {LIMIT_BYTES} that are possible", bytes=largest)


@GROUP.check(
    "law-no-spam",
    "A list is not sent again unchanged",
    level=Level.WARNING,
    what="Lists that say the same as the one before, while nothing happens.",
    why="Each message makes the kubelet write its checkpoint to disk, and take a lock that admission waits for.",
    fix="Send a list when something has changed, and not by a timer.",
    source="the code of the kubelet; public reports",
    rules="DM-60 DM-136",
    observes=True,
)
async def no_spam(ctx: CheckContext) -> None:
    window = await ctx.observe(60.0)
    for resource in ctx.resources:
        repeated, before = 0, None
        for each in ctx.seen.lists_of(resource):
            now = sorted((d.id, d.health, d.topology or ()) for d in each.devices)
            repeated += now == before and window.begin_s <= each.at_s <= window.end_s
            before = now
        if repeated:
            level = Level.WARNING if repeated > max(1.0, window.length_s / SPAM_EVERY_S) else Level.INFO
            text = f"{resource}: {repeated} lists in {window.length_s:.0f} s said what the one before had said"
            ctx.find(level, text, resource=resource, repeated=repeated, window_s=round(window.length_s, 1))
