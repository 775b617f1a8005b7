"""Checks of the group Allocate response, second part: that what is granted depends on the ids, and on nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations

from kubelet_sim.conformance.answers import (
    answers,
    cdi_names,
    difference,
    granted,
    likeness,
    outcome,
    quoted,
    with_devices,
)
from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.connection import RecordedConnection
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.response import ContainerResponse

GROUP = Group.ALLOCATE
SEVERAL = 3
FAILS = "Allocate fails: see alloc-response-count and alloc-realloc-after-free"


async def response(ctx: CheckContext, plugin: RecordedConnection, ids: Sequence[str]) -> ContainerResponse:
    """The first response; the check is skipped if there is none."""
    came = await outcome(plugin.allocate(ids))
    if isinstance(came, RpcFailed) or not came.responses:
        ctx.skip(FAILS if isinstance(came, RpcFailed) else "there is no response: see alloc-response-count")
    return came.responses[0]


@GROUP.check(
    "alloc-id-order-irrelevant",
    "The order of ids in a request means nothing",
    level=Level.WARNING,
    what="Allocate is called for the same two or three devices in every order; the answers are compared, the order within them left out.",
    why="The kubelet's order is that of a set, another one at each call: a container would get something else at each try.",
    fix="Sort the ids, or put them in the order of the list, before anything is made of them.",
    source="the code of the kubelet",
    rules="DM-98",
)
async def id_order(ctx: CheckContext) -> None:
    for resource, ids in with_devices(ctx, 2):
        async with ctx.connection(resource) as plugin:
            first, *others = permutations(ids[:SEVERAL])
            expected = await response(ctx, plugin, first)
            for order in others:
                other = await response(ctx, plugin, order)
                if likeness(expected) != likeness(other):
                    text = f"{resource}: {quoted(order)} are granted otherwise than {quoted(first)}"
                    ctx.warning(text, resource=resource, differs=difference(expected, other))
                    break


@GROUP.check(
    "alloc-uses-requested-ids",
    "What is granted is what was asked for",
    level=Level.ERROR,
    needs="BH",
    optional="H",
    what="Up to eight devices are allocated one by one, and all at once. With host paths in the configuration the paths in the answers "
    "are compared with them; otherwise what is particular to one device's answer has to be in the answer for all as well.",
    why="The kubelet books the ids it has chosen. A plugin that grants others has two containers on one device and none on another.",
    fix="Make the answer from the requested ids, never from a counter, or from what is free in the plugin's own view.",
    source="the code of the kubelet; public reports",
    rules="DM-98 DM-100",
)
async def uses_requested(ctx: CheckContext) -> None:
    mapping = ctx.config.host_paths
    found = await answers(ctx)
    await granted(ctx)
    if mapping:
        ctx.note("judged by the host paths in the configuration")
        for each in found.granted:
            known = [id_ for id_ in each.ids if id_ in mapping]
            if len(known) < len(each.ids):
                continue
            wanted = {path for id_ in known for path in mapping[id_]}
            all_paths = {path for paths in mapping.values() for path in paths}
            nodes, mounts = each.response.devices, each.response.mounts
            got = ({e.host_path for e in nodes} | {e.host_path for e in mounts}) & all_paths
            if got != wanted:
                what = f"grants {quoted(sorted(got)) or 'none of the mapped paths'} instead of {quoted(sorted(wanted))}"
                ctx.error(f"{each}: Allocate {what}", resource=each.resource, ids=list(each.ids[:10]))
        return
    differs = False
    for each in found.granted:
        singles = {id_: found.single(each.resource, id_) for id_ in each.ids}
        if len(each.ids) > 1:
            differs = _judge_differences(ctx, each.resource, each.response, singles) or differs
    if not differs:
        ctx.skip("needs host paths by id in the configuration: the answers for single devices do not differ")
    ctx.note("judged by differences between devices alone")


def _judge_differences(
    ctx: CheckContext, resource: str, together: ContainerResponse, singles: dict[str, ContainerResponse | None]
) -> bool:
    """Reports what an answer for all lacks; returns whether the answers for single devices differ at all."""
    things = {id_: _hardware(id_, each) for id_, each in singles.items() if each is not None}
    times = Counter(thing for each in things.values() for thing in each)
    own = {id_: {thing for thing in each if times[thing] == 1} for id_, each in things.items()}
    # By nature two ids may share a thing. If all are the same, nothing tells whose is granted.
    found = _hardware_of(together) | {f"id {id_}" for id_ in singles if _names(together, id_)}
    for id_, each in own.items():
        if missing := sorted(each - found):
            text = f"{resource}: Allocate of all devices grants nothing for {id_!r}: {quoted(missing)} is missing"
            ctx.error(text, resource=resource, id=id_, missing=missing[:10])
            break
    return any(own.values())


def _hardware(id_: str, response_: ContainerResponse) -> set[str]:
    return _hardware_of(response_) | ({f"id {id_}"} if _names(response_, id_) else set())


def _hardware_of(response_: ContainerResponse) -> set[str]:
    """Host paths and CDI names; the rest of an answer may be computed of several devices."""
    found = {f"device {each.host_path}" for each in response_.devices}
    return found | {f"mount {each.host_path}" for each in response_.mounts} | {f"CDI {n}" for n in cdi_names(response_)}


def _names(response_: ContainerResponse, id_: str) -> bool:
    """Whether the answer names the device in a variable."""
    return any(id_ in value.split(",") for value in response_.envs.values())


@GROUP.check(
    "alloc-isolated",
    "Two devices have no device node in common",
    level=Level.WARNING,
    what="Up to eight devices are allocated one by one. Device nodes and CDI names that two of them have in common are reported, but for "
    "those that the configuration declares shared. Without a word there, what all of them have counts as shared.",
    why="Two pods would work on the same hardware, each in the belief that it has it for itself.",
    fix="Grant each device's own nodes only, and declare what is shared on purpose in the configuration.",
    source="public reports",
    rules="DM-126",
)
async def isolated(ctx: CheckContext) -> None:
    declared = set(ctx.config.shared_nodes)
    judged = False
    found = [each for each in await granted(ctx) if len(each.ids) == 1]
    for resource in ctx.resources:
        nodes = {e.ids[0]: _nodes(e.response) - declared for e in found if e.resource == resource}
        common = set.intersection(*nodes.values()) if len(nodes) > 1 else set()
        if common and not declared:
            nodes = {id_: each - common for id_, each in nodes.items()}
            ctx.note(f"{resource}: {quoted(sorted(common))} taken as shared, as all devices have it")
        judged = judged or (len(nodes) > 1 and any(nodes.values()))
        times = Counter(node for each in nodes.values() for node in each)
        if shared := sorted(node for node, count in times.items() if count > 1):
            owners = sorted(id_ for id_, each in nodes.items() if shared[0] in each)
            text = f"{resource}: {quoted(owners)} have {shared[0]} in common"
            ctx.warning(text, resource=resource, shared=shared[:10], ids=owners)
    if not judged and not ctx.findings:
        ctx.skip("the answers for single devices have no device nodes or CDI names that differ")


def _nodes(response_: ContainerResponse) -> set[str]:
    return {each.host_path for each in response_.devices} | set(cdi_names(response_))


@GROUP.check(
    "alloc-two-containers-one-pod",
    "Each of two containers gets its own devices",
    level=Level.ERROR,
    what="Allocate is called for one device, at once for another, and for the other once more: both answers for it have to be the same, "
    "and name no other device.",
    why="The containers of a pod are asked for one right after the other. A plugin that keeps an answer for the pod, or adds to it, "
    "gives a container the other one's devices.",
    fix="Make each answer from the ids of its call; begin with an empty one.",
    source="the code of the kubelet; public reports",
    rules="DM-98 DM-123",
)
async def two_containers(ctx: CheckContext) -> None:
    for resource, ids in with_devices(ctx, 2):
        one, other = ids[:2]
        async with ctx.connection(resource) as plugin:
            await response(ctx, plugin, [one])
            after_one = await response(ctx, plugin, [other])
            after_itself = await response(ctx, plugin, [other])
        if likeness(after_one) != likeness(after_itself):
            text = f"{resource}: {other!r} is granted otherwise right after {one!r}"
            ctx.error(text, resource=resource, differs=difference(after_one, after_itself))
        elif _names(after_one, one) and _names(after_one, other):
            text = f"{resource}: Allocate of {other!r} grants {one!r} of the call before as well"
            ctx.error(text, resource=resource, ids=[one, other])


@GROUP.check(
    "alloc-order-independent",
    "What is granted does not depend on the order of calls",
    level=Level.ERROR,
    stage=Stage.OWN,
    what="An instance of its own is asked for up to four devices one by one, another one for the same in the opposite order; if the "
    "answers differ, a third one in the first order shows whether it is the order that matters.",
    why="Pods come in any order, and after a restart of the plugin in another one: running containers and the plugin would disagree "
    "about who has what.",
    fix="Make each answer from the ids of its call; count nothing.",
    source="the code of the kubelet; public reports",
    rules="DM-98 DM-100",
)
async def order_independent(ctx: CheckContext) -> None:
    await ctx.start()
    wanted = {resource: tuple(sorted(ids))[:4] for resource, ids in with_devices(ctx, 2)}
    forward = await _in_order(ctx, wanted)
    async with ctx.aside() as aside:
        await aside.start()
        back = await _in_order(aside, {resource: ids[::-1] for resource, ids in wanted.items()})
    different = sorted(key for key in forward if likeness(forward[key]) != likeness(back[key]))
    if not different:
        return
    async with ctx.aside() as aside:
        await aside.start()
        again = await _in_order(aside, wanted)
    if any(likeness(forward[key]) != likeness(again[key]) for key in different):
        ctx.note("every instance grants something else, whatever the order: nothing can be said")
        return
    resource, id_ = different[0]
    text = f"{resource}: {id_!r} is granted otherwise if the devices are asked for in the opposite order"
    ctx.error(text, resource=resource, id=id_, differs=difference(forward[different[0]], back[different[0]]))


async def _in_order(ctx: CheckContext, wanted: dict[str, tuple[str, ...]]) -> dict[tuple[str, str], ContainerResponse]:
    found = {}
    for resource, ids in wanted.items():
        async with ctx.connection(resource) as plugin:
            for id_ in ids:
                found[resource, id_] = await response(ctx, plugin, [id_])
    return found
