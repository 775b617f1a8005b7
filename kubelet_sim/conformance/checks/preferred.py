"""Checks of the group Preferred allocation: what the plugin answers when it is asked which devices it would choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from attrs import frozen

from kubelet_sim.conformance.answers import (
    UNKNOWN_ID,
    answers,
    has_fallen,
    judge_latency,
    outcome,
    quoted,
    shuffled,
    with_option,
)
from kubelet_sim.conformance.check import Group, Level, Run, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.connection import RecordedConnection
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.plugin import PluginOptions

GROUP = Group.PREFERRED
UNHEALTHY_WITHIN_S = 30.0
TIMES = 3
CALL = "GetPreferredAllocation"


@frozen
class Question:
    """What was asked, and the answer."""

    resource: str
    available: tuple[str, ...]
    must_include: tuple[str, ...]
    size: int
    answer: tuple[str, ...]

    def __str__(self) -> str:
        must = f" with {quoted(self.must_include)}" if self.must_include else ""
        return f"{self.resource}: asked for {self.size} of {len(self.available)} devices{must}"


def _wants(options: PluginOptions) -> bool:
    return options.get_preferred_allocation_available


async def preferring(ctx: CheckContext, at_least: int = 1) -> list[tuple[str, tuple[str, ...]]]:
    """Resources that advertise the call, and their healthy ids in any order."""
    return await with_option(ctx, _wants, "preferred allocation", at_least)


async def questions(ctx: CheckContext) -> tuple[Question, ...]:
    """What a kubelet asks, in all shapes, and the answers; asked once for all checks. Skipped if no call succeeds."""
    found = await preferring(ctx)
    kept = ctx.remembered.get("questions")
    if kept is None:
        kept = ctx.remembered["questions"] = await _ask(ctx, found)
    asked, failures = kept
    if not asked:
        ctx.skip(f"{CALL} fails: {failures[0]}; see pref-no-error-on-bad-device")
    if failures:
        ctx.note(f"{len(failures)} calls failed: see pref-no-error-on-bad-device")
    return asked


async def _ask(
    ctx: CheckContext, found: list[tuple[str, tuple[str, ...]]]
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    asked, failures = [], []
    for resource, ids in found:
        half, most = ids[: max(1, len(ids) // 2)], len(ids)
        shapes: dict[tuple[tuple[str, ...], tuple[str, ...], int], None] = {}
        for size in (1, 2, most // 2, most):
            shapes[ids, (), size] = shapes[ids, ids[-1:], size] = None
        shapes[half, (), 1] = shapes[half, half[-1:], len(half)] = None
        async with ctx.connection(resource) as plugin:
            for available, must_include, size in shapes:
                if not 0 < size <= len(available):
                    continue
                came = await outcome(plugin.prefer(available, must_include, size))
                if isinstance(came, RpcFailed):
                    failures.append(f"{resource}: {came}")
                    continue
                asked.append(Question(resource, available, must_include, size, tuple(map(str, came))))
    return tuple(asked), tuple(failures)


def of_each_answer(wrong: Callable[[Question], str]) -> Run:
    """The check that reports, for each resource, the first answer of which there is something to say."""

    async def run(ctx: CheckContext) -> None:
        told = set()
        for each in await questions(ctx):
            if each.resource not in told and (what := wrong(each)):
                told.add(each.resource)
                ctx.warning(f"{each}, {what}", resource=each.resource, answer=list(each.answer[:10]), size=each.size)

    return run


@GROUP.check(
    "pref-no-error-on-bad-device",
    "A preference is given whatever is among the available devices",
    level=Level.ERROR,
    needs="BH",
    optional="H",
    what="The call is made for healthy devices, then with an id among them that the plugin does not know; with --break and --mend "
    "also with a broken device among them, on an instance of its own.",
    why="What the kubelet calls available may be older than the plugin's last list. An error rejects the pod, although there may be "
    "good devices enough.",
    fix="Leave out of the answer what is unknown or broken; never fail because of it.",
    source="the code of the kubelet; public reports",
    rules="DM-96 DM-97",
    is_quick=True,
)
async def no_error(ctx: CheckContext) -> None:
    found = await preferring(ctx)
    for resource, ids in found:
        async with ctx.connection(resource) as plugin:
            for available, what in ((ids, "healthy devices"), ((*ids, UNKNOWN_ID), "an unknown id among the devices")):
                came = await outcome(plugin.prefer(available, (), 1))
                if isinstance(came, RpcFailed):
                    ctx.error(f"{resource}: {CALL} failed with {what}: {came}", resource=resource, code=came.code)
                    break
                if ctx.plugin.has_ended:
                    return
    if not {"break", "mend"} <= set(ctx.config.hooks) or not ctx.plugin.can_start:
        ctx.note("an unknown id was tried; a broken device needs --break CMD, --mend CMD and the plugin's command")
        return
    async with ctx.aside() as aside:
        await aside.start()
        for resource, ids in await preferring(aside):
            async with aside.connection(resource) as plugin, aside.broken(ids[0], resource):
                came = await outcome(plugin.prefer(ids, (), 1))
            if isinstance(came, RpcFailed):
                ctx.error(f"{resource}: {CALL} failed with a broken device among the available ones: {came}")
    ctx.note("an unknown id and a broken device were tried")


@GROUP.check(
    "pref-error-implies-unhealthy",
    "A plugin that fails to prefer says what is broken",
    level=Level.WARNING,
    needs="H",
    hooks="break mend",
    stage=Stage.OWN,
    what="A device is broken and the call is made at once with all devices. If it fails, an unhealthy device in the list, or the end of "
    "the plugin, is waited for 30 s.",
    why="Each pod that asks for the resource is rejected for as long as the call fails and the node offers the device.",
    fix="Report the device as unhealthy as soon as a call finds that it is.",
    source="public reports",
    rules="DM-96",
)
async def error_implies_unhealthy(ctx: CheckContext) -> None:
    await ctx.start()
    for resource, ids in await preferring(ctx):
        async with ctx.broken(ids[0], resource):
            async with ctx.connection(resource) as plugin:
                came = await outcome(plugin.prefer(ids, (), len(ids)))
            if not isinstance(came, RpcFailed):
                continue
            is_told = await ctx.holds(
                lambda of=resource, id_=ids[0]: ctx.plugin.has_ended or id_ not in ctx.healthy_ids(of),  # type: ignore[misc]
                UNHEALTHY_WITHIN_S,
            )
            if not is_told:
                text = f"{resource}: {CALL} failed ({came}), and {UNHEALTHY_WITHIN_S:g} s later the list says that all is well"
                ctx.warning(text, resource=resource, code=came.code)
            if ctx.plugin.has_ended:
                return


@GROUP.check(
    "pref-size",
    "A preference has as many ids as were asked for",
    level=Level.WARNING,
    what="The call is made for one, two, half and all of the devices, with and without an id that must be included.",
    why="The kubelet fills up what is missing with any devices, and drops what is too much: the pod gets others than the plugin meant.",
    fix="Answer with exactly `allocation_size` ids.",
    source="the API file; public reports",
    rules="DM-94 DM-95",
)
@of_each_answer
def size(question: Question) -> str:
    return "" if len(question.answer) == question.size else f"the answer has {len(question.answer)} ids"


@GROUP.check(
    "pref-subset",
    "A preference has only ids that are available",
    level=Level.WARNING,
    what="The same calls; some of them offer only half of the devices.",
    why="The kubelet drops the others and takes any instead.",
    fix="Choose among `available_deviceIDs` only.",
    source="the code of the kubelet; public reports",
    rules="DM-94 DM-95",
)
@of_each_answer
def subset(question: Question) -> str:
    others = sorted(set(question.answer) - set(question.available))
    return f"the answer has {quoted(others)}, not available" if others else ""


@GROUP.check(
    "pref-includes-must-include",
    "A preference has all ids that must be in it",
    level=Level.WARNING,
    what="The same calls; half of them name an id that must be included.",
    why="Those are devices that the container gets in any case. A choice that ignores them is a choice for another set.",
    fix="Begin with `must_include_deviceIDs`, then add what goes well with them.",
    source="the API file; public reports",
    rules="DM-94 DM-95",
)
@of_each_answer
def includes(question: Question) -> str:
    missing = sorted(set(question.must_include) - set(question.answer))
    return f"the answer lacks {quoted(missing)}" if missing else ""


@GROUP.check(
    "pref-no-duplicates",
    "A preference has no id twice",
    level=Level.WARNING,
    what="The same calls.",
    why="The kubelet counts an id once and fills up with any others.",
    fix="Answer with a set.",
    source="the code of the kubelet",
    rules="DM-95",
)
@of_each_answer
def no_duplicates(question: Question) -> str:
    twice = sorted(id_ for id_, times in Counter(question.answer).items() if times > 1)
    return f"the answer has {quoted(twice)} more than once" if twice else ""


@GROUP.check(
    "pref-no-side-effects",
    "To be asked for a preference changes nothing",
    level=Level.ERROR,
    what="The call is made three times for one device, then another device is allocated.",
    why="A preference is no allocation: the kubelet may ask and then reject the pod, or take other devices. What a plugin has put aside "
    "is never given back.",
    fix="Keep nothing from one call to the next.",
    source="the API file",
    rules="DM-95 DM-97",
)
async def no_side_effects(ctx: CheckContext) -> None:
    for resource, ids in await preferring(ctx):
        async with ctx.connection(resource) as plugin:
            chosen: set[str] = set()
            for _ in range(TIMES):
                came = await outcome(plugin.prefer(shuffled(ctx, ids), (), 1))
                if isinstance(came, RpcFailed):
                    ctx.skip(f"{resource}: {CALL} fails: see pref-no-error-on-bad-device")
                chosen.update(map(str, came))
            await _allocate_another(ctx, plugin, resource, ids, chosen)


async def _allocate_another(
    ctx: CheckContext, plugin: RecordedConnection, resource: str, ids: tuple[str, ...], chosen: set[str]
) -> None:
    # A plugin that takes no call for a single device is told so by other checks.
    other = next((each for each in ids if each not in chosen), ids[0])
    came = await outcome(plugin.allocate([other]))
    if not isinstance(came, RpcFailed):
        return
    again = await outcome(plugin.allocate([other]))
    if isinstance(again, RpcFailed) and (await answers(ctx)).single(resource, other) is None:
        ctx.skip(f"{resource}: Allocate of {other!r} fails anyway: see alloc-response-count")
    text = f"{resource}: after {TIMES} calls of {CALL} Allocate of {other!r} failed: {came}"
    ctx.error(text, resource=resource, id=other, code=came.code)


@GROUP.check(
    "pref-edge-sizes",
    "A preference for all devices, and for odd numbers of them, does no harm",
    level=Level.ERROR,
    what="The call is made for all devices. With --beyond it is also made for none and for more than there are, on an instance of its own.",
    why="A loop over combinations may never end, an index may be out of range: the plugin hangs or ends, and with it its devices.",
    fix="Answer with what there is; choose by a method that does not try all combinations.",
    source="public reports",
    rules="DM-94 DM-95",
)
async def edge_sizes(ctx: CheckContext) -> None:
    for resource, ids in await preferring(ctx):
        async with ctx.connection(resource) as plugin:
            fell = await _edge(ctx, plugin, resource, ids, len(ids), Level.ERROR)
        if fell:
            return
    if not ctx.config.is_beyond or not ctx.plugin.can_start:
        ctx.note("all devices were asked for; none, and more than there are, are tried with --beyond")
        return
    async with ctx.aside() as aside:
        await aside.start()
        for resource, ids in await preferring(aside):
            for wanted in (0, len(ids) + 1):
                async with aside.connection(resource) as plugin:
                    if await _edge(aside, plugin, resource, ids, wanted, Level.WARNING):
                        return


async def _edge(
    ctx: CheckContext, plugin: RecordedConnection, resource: str, ids: tuple[str, ...], size_: int, at_worst: Level
) -> bool:
    """Whether the plugin ended over it."""
    came = await outcome(plugin.prefer(ids, (), size_))
    asked = f"{resource}: asked for a preference of {size_} among {len(ids)}"
    if await has_fallen(ctx, came):
        ctx.find(at_worst, f"{asked}, the plugin ended with {ctx.plugin.exit_code}", size=size_)
        return True
    if isinstance(came, RpcFailed):
        if at_worst is Level.ERROR:  # what no kubelet asks may well be refused
            ctx.warning(f"{asked}, the plugin failed: {came}", size=size_, code=came.code)
    elif others := sorted(set(came) - set(ids)):
        ctx.warning(f"{asked}, the plugin answered with {quoted(others)}, not among them", size=size_)
    return False


@GROUP.check(
    "pref-latency",
    "A preference is given within a second",
    level=Level.ERROR,
    what="The call is made up to a hundred times, for half of all devices; 99 of 100 count.",
    why="The kubelet admits one pod at a time and waits for the answer without a deadline: nothing starts on the node meanwhile. Slower "
    "than a second is a warning, than ten an error.",
    fix="Do not try all combinations, and do not look at hardware during the call.",
    source="the code of the kubelet; public reports",
    rules="DM-93 DM-94",
)
async def latency(ctx: CheckContext) -> None:
    for resource, ids in await preferring(ctx):
        async with ctx.connection(resource) as plugin:
            wanted = max(1, len(ids) // 2)
            await judge_latency(
                ctx,
                plugin,
                resource,
                CALL,
                lambda p=plugin, i=ids, w=wanted: p.prefer(shuffled(ctx, i), (), w),  # type: ignore[misc]
            )
