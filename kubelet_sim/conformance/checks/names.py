"""Checks of the group Resource names: whether they are valid, a vendor's own, and the same each time."""

from __future__ import annotations

from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.resource_name import is_qualified_name

GROUP = Group.NAMES
LONGEST_TYPE = 63
LONGEST_PREFIX = 244
QUOTA = "requests."
NATIVE = "kubernetes.io/"
BACK_WITHIN_S = 60.0


@GROUP.check(
    "name-valid",
    "Resource names are `vendor-domain/type`",
    level=Level.ERROR,
    what="The resource name of every registration.",
    why="The kubelet refuses a name that is none, and the scheduler knows no resource of it.",
    fix="A DNS domain of yours in lower case, one slash, and up to 63 letters, digits, dashes, underscores and dots: `example.com/gpu`.",
    source="the code of the kubelet",
    rules="DM-23 DM-24",
    needs_ready=False,
    is_quick=True,
)
async def valid(ctx: CheckContext) -> None:
    for name in _known(ctx):
        if why := problem(name):
            ctx.error(f"{name!r} is no name of a resource: {why}", name=str(name))


def _known(ctx: CheckContext) -> tuple[ResourceName, ...]:
    """The names that there are; the check is skipped without any."""
    if not ctx.resources:
        ctx.skip("no Register call came: see reg-happens")
    return ctx.resources


def problem(name: str) -> str:
    """What is wrong with a name; empty if nothing is."""
    prefix, slash, kind = name.partition("/")
    if not slash or "/" in kind:
        return "it has not exactly one slash"
    if len(kind) > LONGEST_TYPE:
        return f"{len(kind)} characters behind the slash, {LONGEST_TYPE} are possible"
    if not is_qualified_name(kind):
        return "behind the slash are letters, digits, dashes, underscores and dots, a letter or digit at both ends"
    if len(prefix) > LONGEST_PREFIX:
        return f"{len(prefix)} characters before the slash: with {QUOTA!r} in front {LONGEST_PREFIX} are possible"
    if not is_qualified_name(name) or not is_qualified_name(QUOTA + name):
        return "before the slash is no DNS domain in lower case"
    return ""


@GROUP.check(
    "name-not-native",
    "Resource names are not those of Kubernetes itself",
    level=Level.ERROR,
    what="The resource name of every registration.",
    why="A name with `kubernetes.io/`, also as the end of a longer domain, belongs to Kubernetes, and one that begins with "
    "`requests.` to quotas: the kubelet refuses both.",
    fix="Use a domain of your own.",
    source="the code of the kubelet; public reports",
    rules="DM-23 DM-24",
    needs_ready=False,
    is_quick=True,
)
async def not_native(ctx: CheckContext) -> None:
    for name in _known(ctx):
        if NATIVE in name:
            ctx.error(f"{name!r} holds {NATIVE!r}: such names belong to Kubernetes", name=str(name))
        if name.startswith(QUOTA):
            ctx.error(f"{name!r} begins with {QUOTA!r}: such names belong to quotas", name=str(name))


@GROUP.check(
    "name-stable",
    "The set of resources stays the same over restarts",
    level=Level.WARNING,
    stage=Stage.RESTARTS,
    what="The names before and after a restart of the kubelet and, if it was started by us, of the plugin; and whether names are "
    "made of device ids.",
    why="The kubelet keeps a name for ever: capacity 0 of a name that never comes back stays in the node object. Pods ask by name, "
    "and cannot ask for one name or another.",
    fix="Derive names from the kind of device or from configuration; devices differ by their ids.",
    source="public reports",
    rules="DM-70",
    leads=True,
    limit_s=170.0,
)
async def stable(ctx: CheckContext) -> None:
    before = set(map(str, ctx.seen.resources))
    began_s = await ctx.restart_kubelet()
    await ctx.recovered(began_s, BACK_WITHIN_S)
    await ctx.settled(1.0)
    _compare(ctx, before, began_s, "a restart of the kubelet")
    if ctx.plugin.can_start:
        await ctx.plugin.close()
        await ctx.start()
        _compare(ctx, before, ctx.plugin.started_at_s or began_s, "a restart of the plugin")
    else:
        ctx.note("only the kubelet was restarted: a plugin that was attached to cannot be")
    _look_for_ids(ctx)


def _compare(ctx: CheckContext, before: set[str], since_s: float, what: str) -> None:
    now = {str(each.resource) for each in ctx.seen.registrations if each.at_s >= since_s}
    if now - before:
        new, gone = sorted(now - before), sorted(before - now)
        text = f"{what} brought other resources: {', '.join(new)} instead of {', '.join(gone) or 'nothing'}"
        ctx.warning(text, new=new, gone=gone)


def _look_for_ids(ctx: CheckContext) -> None:
    """Two or more resources with one device each whose id is part of the name."""
    of_one = {}
    for resource in ctx.resources:
        listed = ctx.seen.current_list(resource)
        if listed is not None and len(listed.devices) == 1 and listed.devices[0].id in resource:
            of_one[str(resource)] = str(listed.devices[0].id)
    if len(of_one) > 1:
        ctx.warning(f"{len(of_one)} resources are named for a device each: {', '.join(sorted(of_one))}", ids=of_one)
