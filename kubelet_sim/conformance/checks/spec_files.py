"""Checks of the group Container spec content, second part: whether what is named is there, and the names of CDI."""

from __future__ import annotations

import re

from kubelet_sim.conformance.answers import (
    SINGLES,
    Granted,
    annotated_names,
    cdi_names,
    granted,
    outcome,
    quoted,
    with_devices,
)
from kubelet_sim.conformance.check import Group, Level
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.host_files import host_of
from kubelet_sim.container.cdi.annotations import PREFIX
from kubelet_sim.container.cdi.decoder import BadSpec, decode
from kubelet_sim.container.cdi.names import BadName, parse_name
from kubelet_sim.container.cdi.registry import Registry, read_registry
from kubelet_sim.container.host import FileKind
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.response import DeviceNode, Mount

GROUP = Group.SPEC
DIGIT_SINCE = (0, 5)
_VERSION = re.compile(r"v?(\d+)\.(\d+)")


async def entries(ctx: CheckContext, *kinds: str) -> list[tuple[Granted, str, DeviceNode | Mount]]:
    """Every device or mount, as the kinds say, those that are the same once; the check is skipped if there is none."""
    found: dict[tuple[str, str], tuple[Granted, str, DeviceNode | Mount]] = {}
    for each in await granted(ctx):
        for kind, listed in (("device", each.response.devices), ("mount", each.response.mounts)):
            for entry in listed if kind in kinds else ():
                found.setdefault((kind, entry.host_path), (each, kind, entry))
    if not found:
        ctx.skip(f"no answer has {' or '.join(f'a {kind}' for kind in sorted(kinds, reverse=True))}")
    return list(found.values())


@GROUP.check(
    "spec-host-path-exists",
    "Every host path exists",
    level=Level.ERROR,
    needs="F",
    what="The host paths of mounts and devices in the answers to Allocate are looked up below the host root of the configuration.",
    why="The container does not start; the kubelet tries again and again, and the pod holds its devices meanwhile.",
    fix="Look before answering: report the device unhealthy, or refuse the call, if something is missing.",
    source="public reports",
    rules="DM-125",
)
async def host_path_exists(ctx: CheckContext) -> None:
    files = host_of(ctx)
    for each, what, entry in await entries(ctx, "device", "mount"):
        if files.resolved(entry.host_path) is None:
            text = f"{each}: the host path {entry.host_path!r} of a {what} does not exist"
            ctx.error(text, resource=each.resource, path=entry.host_path)


@GROUP.check(
    "spec-device-is-device",
    "What is granted as a device is one",
    level=Level.ERROR,
    needs="F",
    what="The host paths of devices are looked up: character or block devices are expected. Paths that do not exist are left to "
    "spec-host-path-exists.",
    why="Runtimes refuse a container with a file for a device; some look into a directory and grant all that lies there.",
    fix="Grant files and directories by mounts.",
    source="the API file; public reports",
    rules="DM-125 DM-126",
)
async def is_device(ctx: CheckContext) -> None:
    files = host_of(ctx)
    for each, _, entry in await entries(ctx, "device"):
        real = files.resolved(entry.host_path)
        found = files.look(real) if real is not None else None
        if found is not None and found.kind not in {FileKind.CHARACTER, FileKind.BLOCK}:
            kind = {FileKind.OTHER: "socket", FileKind.FIFO: "pipe"}.get(found.kind, found.kind.value)
            text = f"{each}: {entry.host_path!r} is granted as a device, and is a {kind}"
            ctx.error(text, resource=each.resource, path=entry.host_path, kind=kind)


@GROUP.check(
    "spec-symlink-host-path",
    "No host path is a symbolic link",
    level=Level.WARNING,
    needs="F",
    what="The last part of each host path of mounts and devices is looked at.",
    why="A link is followed: the container gets its target, under the target's number, and a later change of the link is not seen. Not "
    "every runtime follows it for a device.",
    fix="Resolve the link, and give the target as host path; the container path may keep the name.",
    source="public reports",
    rules="DM-125 DM-126",
)
async def symlink(ctx: CheckContext) -> None:
    files = host_of(ctx)
    for each, what, entry in await entries(ctx, "device", "mount"):
        found = files.look(entry.host_path)
        if found is not None and found.kind is FileKind.LINK:
            target = files.resolved(entry.host_path) or "nowhere"
            text = f"{each}: the host path {entry.host_path!r} of a {what} is a link to {target!r}"
            ctx.warning(text, resource=each.resource, path=entry.host_path, target=target)


# --- CDI


async def named(ctx: CheckContext) -> list[tuple[Granted, str]]:
    """Every CDI name, once, with the first answer that has it; skipped if there is none."""
    found: dict[str, Granted] = {}
    for each in await granted(ctx):
        for name in cdi_names(each.response):
            found.setdefault(name, each)
    if not found:
        ctx.skip("no answer names a CDI device")
    return [(each, name) for name, each in found.items()]


def registry(ctx: CheckContext) -> Registry:
    """All CDI spec files, as they are now."""
    return read_registry(host_of(ctx), tuple(map(str, ctx.config.cdi_dirs)))


@GROUP.check(
    "cdi-name-grammar",
    "CDI names are well formed",
    level=Level.ERROR,
    what="The CDI names in the field and in annotations of answers to Allocate. A device name that begins with a digit is a warning if "
    "its spec file is of CDI before 0.5.",
    why="A runtime refuses the container.",
    fix="Use vendor/class=name, made of letters, digits, dashes, dots and underscores.",
    source="the CDI specification; the API file",
    rules="DM-132 DM-133",
)
async def grammar(ctx: CheckContext) -> None:
    known = None
    for each, name in await named(ctx):
        try:
            parsed = parse_name(name)
        except BadName as bad:
            ctx.error(f"{each}: {bad}", resource=each.resource, name=name)
            continue
        if not parsed.device[0].isdigit():
            continue
        known = known or registry(ctx)
        if old := _old_file(ctx, known, parsed.kind):
            text = f"{each}: the device in {name!r} begins with a digit, and {old}"
            ctx.warning(text, resource=each.resource, name=name)
        elif name not in known.devices:
            ctx.note(f"the device in {name!r} begins with a digit, as it may from CDI 0.5 on; no file says which it is")


def _old_file(ctx: CheckContext, known: Registry, kind: str) -> str:
    """Which spec file of that kind is too old for digits; empty: none. Runtimes do not use such a file at all."""
    for file in known.files:
        try:
            spec = file.spec or decode(host_of(ctx).text(file.path))
        except (BadSpec, OSError, ValueError):
            continue
        version = _VERSION.match(spec.version)
        if spec.kind == kind and version is not None and (int(version[1]), int(version[2])) < DIGIT_SINCE:
            return f"{file.path} is of CDI {spec.version}"
    return ""


@GROUP.check(
    "cdi-name-resolvable",
    "Every CDI name is defined when Allocate returns",
    level=Level.ERROR,
    needs="F",
    what="Up to eight devices of each resource are allocated one by one; right after each answer its CDI names are looked up in the spec "
    "files of the given directories.",
    why="The runtime reads the files when it makes the container, a moment later: a name that is not there fails the container.",
    fix="Write the spec file before the device is listed, whole, and rename it into place.",
    source="the CDI specification; public reports",
    rules="DM-132",
)
async def resolvable(ctx: CheckContext) -> None:
    await named(ctx)
    missing, there = await _missing(ctx)
    if missing and ctx.plugin.can_start:
        # Other instances in this run may have taken the spec file along when they ended.
        await ctx.stop_plugin()
        if not await ctx.start():
            ctx.skip("names were not found; the plugin, started alone to make sure, did not get ready")
        missing, there = await _missing(ctx)
        ctx.note("the plugin was started anew and asked again, alone")
    for name, whose in missing.items():
        why = f"conflicts in {quoted(there.conflicts[name])}" if name in there.conflicts else "no spec file defines it"
        broken = [f"{each.path}: {each.problem}" for each in there.files if each.problem]
        more = f"; not used: {quoted(broken)}" if broken else ""
        text = f"{whose}: {name!r} is not to be found, {why} (of {', '.join(there.directories)}{more})"
        ctx.error(text, name=name, directories=list(there.directories))


async def _missing(ctx: CheckContext) -> tuple[dict[str, str], Registry]:
    """The names that were not defined right after an answer, with whose they are; and the spec files of that moment."""
    missing: dict[str, str] = {}
    there = registry(ctx)
    for resource, ids in with_devices(ctx):
        async with ctx.connection(resource) as plugin:
            for id_ in ids[:SINGLES]:
                came = await outcome(plugin.allocate([id_]))
                now = registry(ctx)
                if isinstance(came, RpcFailed) or not came.responses:
                    continue
                if new := [name for name in cdi_names(came.responses[0]) if name not in now.devices]:
                    missing.update(dict.fromkeys(new, f"{resource}, {id_!r}"))
                    there = now
    return missing, there


@GROUP.check(
    "cdi-not-both-channels",
    "No device is named both in the field and in an annotation",
    level=Level.WARNING,
    what="The CDI names in the field and in annotations of each answer.",
    why="A runtime that reads both injects the device twice, or refuses it; releases of the kubelet from 1.28 to 1.31 make annotations "
    "of the field by themselves.",
    fix="Use the field alone, on every release that has it.",
    source="public reports",
    rules="DM-132 DM-133",
)
async def both_channels(ctx: CheckContext) -> None:
    told: set[str] = set()
    await named(ctx)
    for each in await granted(ctx):
        both = sorted(set(each.response.cdi_devices) & set(annotated_names(each.response)))
        if both and each.resource not in told:
            told.add(each.resource)
            ctx.warning(f"{each}: {quoted(both)} named in the field and in an annotation", resource=each.resource)


@GROUP.check(
    "cdi-annotation-key-unique",
    "CDI annotations of two resources have different keys",
    level=Level.ERROR,
    what="The keys of CDI annotations in the answers of all resources are compared.",
    why="For a container with both resources one annotation wins, and the devices of the other are not injected.",
    fix="Put the resource, or something unique, into the key.",
    source="public reports",
    rules="DM-124 DM-133",
)
async def annotation_key(ctx: CheckContext) -> None:
    owners: dict[str, set[str]] = {}
    for each in await granted(ctx):
        for key in each.response.annotations:
            if key.startswith(PREFIX):
                owners.setdefault(key, set()).add(each.resource)
    if not owners:
        ctx.skip("no answer has a CDI annotation")
    if len(ctx.resources) <= 1:
        ctx.skip("needs a plugin with two resources")
    for key, of in sorted(owners.items()):
        if len(of) > 1:
            ctx.error(f"{' and '.join(sorted(of))} use the same CDI annotation {key!r}", key=key, resources=sorted(of))
