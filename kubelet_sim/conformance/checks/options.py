"""Checks of the group Options: what the plugin says it wants to be called for, and whether it means it."""

from __future__ import annotations

from kubelet_sim.conformance.check import Group, Level
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.plugin import PluginOptions

GROUP = Group.OPTIONS
ANSWERS_WITHIN_S = 1.0
UNIMPLEMENTED = "Unimplemented"
TIMES = 10


@GROUP.check(
    "opt-rpc-answers",
    "GetDevicePluginOptions is answered within a second, before any other call",
    level=Level.ERROR,
    what="The call is made first of all, while the first Register call of each resource is unanswered.",
    why="A kubelet since 1.25 makes it inside Register: an error, or no answer, ends the registration.",
    fix="Implement the call; an empty message says that the plugin wants none of the two extra calls.",
    source="the code of the kubelet; the documentation of device plugins",
    rules="DM-28",
    needs_ready=False,
    is_quick=True,
)
async def rpc_answers(ctx: CheckContext) -> None:
    if not ctx.probes:
        await _ask_now(ctx)
    for probe in ctx.probes:
        resource, took_s = str(probe.resource), probe.options_took_s
        if probe.connected_after_s is None:
            continue  # reg-serve-before-register tells of that
        if probe.failure is not None:
            ctx.error(f"{resource}: GetDevicePluginOptions failed: {probe.failure}", code=probe.failure.code)
        elif took_s is None:
            ctx.error(f"{resource}: GetDevicePluginOptions was not answered", waited_s=round(probe.waited_s, 3))
        elif took_s > ANSWERS_WITHIN_S:
            text = f"{resource}: GetDevicePluginOptions took {took_s:.1f} s, more than {ANSWERS_WITHIN_S:g} s"
            ctx.error(text, took_s=round(took_s, 3))


async def _ask_now(ctx: CheckContext) -> None:
    """For a plugin that nobody looked at while it registered: the plugin watcher found it."""
    if not ctx.resources:
        ctx.skip("no plugin was registered: see reg-happens")
    for resource in ctx.resources:
        async with ctx.connection(resource) as plugin:
            try:
                await plugin.options()
            except RpcFailed as failure:
                ctx.error(f"{resource}: GetDevicePluginOptions failed: {failure}", code=failure.code)
            else:
                if plugin.took_s[-1] > ANSWERS_WITHIN_S:
                    ctx.error(f"{resource}: GetDevicePluginOptions took {plugin.took_s[-1]:.1f} s")


@GROUP.check(
    "opt-pref-flag-consistent",
    "A plugin that advertises preferred allocation implements it",
    level=Level.ERROR,
    what="With `get_preferred_allocation_available`, GetPreferredAllocation is called for one device. With --beyond and without the "
    "flag it is called as well, on an instance of its own.",
    why="The kubelet makes the call for every container then, and rejects the pod if it fails.",
    fix="Implement GetPreferredAllocation, or leave the flag out.",
    source="the code of the kubelet; the documentation of device plugins",
    rules="DM-93 DM-95",
    is_quick=True,
)
async def pref_flag(ctx: CheckContext) -> None:
    silent = []
    for resource in ctx.resources:
        ids = ctx.healthy_ids(resource)
        async with ctx.connection(resource) as plugin:
            if not (await plugin.options()).get_preferred_allocation_available:
                silent.append(resource)
                continue
            if not ids:
                ctx.note(f"{resource} has no healthy device to ask for")
                continue
            failure = await _failure(plugin.prefer(ids, (), 1))
            if failure is not None and failure.code == UNIMPLEMENTED:
                text = f"{resource} advertises GetPreferredAllocation and does not implement it: {failure}"
                ctx.error(text, resource=resource, code=failure.code)
    if silent and ctx.config.is_beyond and ctx.plugin.can_start:
        async with ctx.aside() as aside:
            await aside.start()
            for resource in silent:
                ids = aside.healthy_ids(resource)
                async with aside.connection(resource) as plugin:
                    failure = await _failure(plugin.prefer(ids, (), 1))
                if failure is None:
                    ctx.info(
                        f"{resource} implements GetPreferredAllocation and does not advertise it: no kubelet calls it"
                    )
    elif silent:
        ctx.note(f"{', '.join(silent)}: not advertised; whether it is implemented all the same is tried with --beyond")


async def _failure(call: object) -> RpcFailed | None:
    try:
        await call  # type: ignore[misc]
    except RpcFailed as failure:
        return failure
    return None


@GROUP.check(
    "opt-prestart-flag-consistent",
    "A plugin that requires PreStartContainer implements it",
    level=Level.ERROR,
    what="With `pre_start_required`, a device is allocated and PreStartContainer is called for it.",
    why="The kubelet makes the call before every start of a container then; if it fails the container never starts.",
    fix="Implement PreStartContainer, or leave the flag out.",
    source="the code of the kubelet; the documentation of device plugins",
    rules="DM-103",
    is_quick=True,
)
async def pre_start_flag(ctx: CheckContext) -> None:
    for resource in ctx.resources:
        ids = ctx.healthy_ids(resource)[:1]
        async with ctx.connection(resource) as plugin:
            if not (await plugin.options()).pre_start_required:
                continue
            if not ids:
                ctx.note(f"{resource} has no healthy device to allocate")
                continue
            if (failure := await _failure(plugin.allocate(ids))) is not None:
                ctx.note(f"{resource}: Allocate failed, PreStartContainer was called all the same: {failure}")
            failure = await _failure(plugin.pre_start(ids))
            if failure is not None and failure.code == UNIMPLEMENTED:
                text = f"{resource} requires PreStartContainer and does not implement it: {failure}"
                ctx.error(text, resource=resource, code=failure.code)


@GROUP.check(
    "opt-register-matches-rpc",
    "The options in Register are those of GetDevicePluginOptions",
    level=Level.WARNING,
    what="Both are compared; options that Register leaves out count as none wanted.",
    why="A kubelet since 1.25 believes the call, an older one believes Register: the plugin behaves differently from release to release.",
    fix="Send the same options in both places.",
    source="the code of the kubelet",
    rules="DM-28",
)
async def register_matches(ctx: CheckContext) -> None:
    for resource in ctx.resources:
        calls = [each for each in ctx.seen.registrations_of(resource) if not each.is_watched]
        if not calls:
            continue
        said = calls[-1].registration.options or PluginOptions()
        async with ctx.connection(resource) as plugin:
            answered = await plugin.options()
        if said != answered:
            ctx.warning(
                f"{resource}: Register says {_text(said)}, GetDevicePluginOptions says {_text(answered)}",
                register=_text(said),
                answer=_text(answered),
            )


@GROUP.check(
    "opt-stable",
    "GetDevicePluginOptions answers the same every time",
    level=Level.WARNING,
    what="The call is made ten times.",
    why="The kubelet asks once, at registration, and never again.",
    fix="Decide once what the plugin wants.",
    source="the code of the kubelet",
    rules="DM-28",
)
async def stable(ctx: CheckContext) -> None:
    for resource in ctx.resources:
        async with ctx.connection(resource) as plugin:
            answers = [await plugin.options() for _ in range(TIMES)]
        if len(different := sorted(set(map(_text, answers)))) > 1:
            ctx.warning(f"{resource}: {TIMES} calls gave {len(different)} answers", answers=different)


def _text(options: PluginOptions) -> str:
    said = {
        "pre_start_required": options.pre_start_required,
        "get_preferred_allocation_available": options.get_preferred_allocation_available,
    }
    return ", ".join(name for name, value in said.items() if value) or "nothing"
