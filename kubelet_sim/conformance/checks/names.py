"""Checks of the group Resource names."""

from __future__ import annotations

from kubelet_sim.conformance.bench import Bench
from kubelet_sim.conformance.check import Group, Level, Stage, check
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.resource_name import is_qualified_name

GROUP = Group.NAMES
LONGEST_TYPE = 63
LONGEST_PREFIX = 244
QUOTA = "requests."
NATIVE = "kubernetes.io/"
BACK_WITHIN_S = 60.0


@check(
    "name-valid",
    GROUP,
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
async def valid(bench: Bench) -> None:
    """Every registered name is one."""
    for name in _known(bench):
        if why := problem(name):
            bench.error(f"{name!r} is no name of a resource: {why}", name=str(name))


def _known(bench: Bench) -> tuple[ResourceName, ...]:
    """The names that there are; the check is skipped without any."""
    if not bench.resources:
        bench.skip("no Register call came: see reg-happens")
    return bench.resources


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


@check(
    "name-not-native",
    GROUP,
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
async def not_native(bench: Bench) -> None:
    """No name is taken from Kubernetes or its quotas."""
    for name in _known(bench):
        if NATIVE in name:
            bench.error(f"{name!r} holds {NATIVE!r}: such names belong to Kubernetes", name=str(name))
        if name.startswith(QUOTA):
            bench.error(f"{name!r} begins with {QUOTA!r}: such names belong to quotas", name=str(name))


@check(
    "name-stable",
    GROUP,
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
async def stable(bench: Bench) -> None:
    """The same names each time, and not one a device."""
    before = set(map(str, bench.seen.resources))
    began_s = await bench.restart_kubelet()
    await bench.recovered(began_s, BACK_WITHIN_S)
    await bench.settled(1.0)
    _compare(bench, before, began_s, "a restart of the kubelet")
    if bench.plugin.can_start:
        await bench.plugin.close()
        await bench.start()
        _compare(bench, before, bench.plugin.started_at_s or began_s, "a restart of the plugin")
    else:
        bench.note("only the kubelet was restarted: a plugin that was attached to cannot be")
    _look_for_ids(bench)


def _compare(bench: Bench, before: set[str], since_s: float, what: str) -> None:
    now = {str(each.resource) for each in bench.seen.registrations if each.at_s >= since_s}
    if now - before:
        new, gone = sorted(now - before), sorted(before - now)
        text = f"{what} brought other resources: {', '.join(new)} instead of {', '.join(gone) or 'nothing'}"
        bench.warning(text, new=new, gone=gone)


def _look_for_ids(bench: Bench) -> None:
    """Two or more resources with one device each whose id is part of the name."""
    of_one = {}
    for resource in bench.resources:
        listed = bench.seen.current_list(resource)
        if listed is not None and len(listed.devices) == 1 and listed.devices[0].id in resource:
            of_one[str(resource)] = str(listed.devices[0].id)
    if len(of_one) > 1:
        bench.warning(f"{len(of_one)} resources are named for a device each: {', '.join(sorted(of_one))}", ids=of_one)
