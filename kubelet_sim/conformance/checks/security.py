"""Checks of the group Security: what a plugin grants, what it lets others do, and what it survives."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import stat
from contextlib import suppress
from pathlib import PurePosixPath

from kubelet_sim.conformance.answers import one_each
from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.errors import RpcFailed

GROUP = Group.SECURITY
ENDS_WITHIN_S = 30.0
STILL_ANSWERS_WITHIN_S = 10.0
HUGE_BYTES = 16 * 1024 * 1024
_HOST = ("/", "/etc", "/root", "/proc", "/var/lib/kubelet")
_RUNTIMES = (
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/run/docker.sock",
    "/run/dockershim.sock",
    "/run/podman/podman.sock",
)
_MEMORY = ("/dev/mem", "/dev/kmem", "/dev/port")
_DISK = re.compile(r"/dev/(?:[hsv]d[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+|dm-\d+|md\d+)")
_REFUSED = re.compile(r"permission denied|operation not permitted|EACCES|EPERM|access denied", re.IGNORECASE)
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@GROUP.check(
    "sec-clear-permission-error",
    "Without the right to use the directory the plugin says so, and ends",
    level=Level.WARNING,
    what="The plugin is started where it may not write in the device-plugin directory, nor connect to the kubelet.",
    why="A plugin without its privileges that waits in silence looks like one that has no devices.",
    fix="Write the path and the system's reason, and exit with a code that is not 0.",
    source="public reports",
    rules="DM-10",
    needs="FP",
    stage=Stage.OWN,
)
async def permission_error(ctx: CheckContext) -> None:
    kubelet_socket = ctx.node.root.layout.registration_socket
    ctx.directory.chmod(0o500)
    kubelet_socket.chmod(0)
    try:
        if os.access(ctx.directory, os.W_OK):
            ctx.skip("needs a plugin that does not run as root: root may write everywhere")
        await ctx.start(settled=False)
        await ctx.holds(lambda: ctx.plugin.has_ended or ctx.sockets() or ctx.seen.registrations, ENDS_WITHIN_S)
        has_ended = ctx.plugin.has_ended
        if ctx.sockets() or ctx.seen.registrations:
            # In a user namespace it is root, whoever we are.
            ctx.skip("needs a plugin without rights: this one made its socket all the same; --isolate none may help")
    finally:
        ctx.directory.chmod(0o755)
        kubelet_socket.chmod(0o755)
    output = ctx.plugin.output()
    if not has_ended:
        ctx.warning(f"the plugin did not end within {ENDS_WITHIN_S:g} s")
    elif ctx.plugin.exit_code == 0:
        ctx.warning("the plugin ended with 0, as if all were well")
    if str(ctx.directory) not in output and "/var/lib/kubelet/device-plugins" not in output:
        ctx.warning("the plugin's output does not name the directory")
    if not _REFUSED.search(output):
        ctx.warning("the plugin's output does not say that permission was denied")


@GROUP.check(
    "sec-mount-not-host-root",
    "No grant mounts the host's own directories or a runtime's socket",
    level=Level.ERROR,
    what="The mounts of an Allocate answer for one device. Writable ones are errors, read-only ones warnings.",
    why="Whoever may ask for the device owns the node then: the kubelet hands mounts of a plugin to the runtime unchecked.",
    fix="Mount the files that the device needs, read-only where that will do.",
    source="the code of the kubelet",
    rules="DM-125 DM-126",
)
async def host_mounts(ctx: CheckContext) -> None:
    for resource, granted in (await one_each(ctx)).items():
        for mount in granted.mounts:
            path = _clean(mount.host_path)
            if path in _HOST or path in _RUNTIMES or path.removeprefix("/var") in _RUNTIMES:
                level = Level.WARNING if mount.read_only else Level.ERROR
                how = "read-only" if mount.read_only else "writable"
                text = (
                    f"{resource}: Allocate mounts {mount.host_path!r} of the host, {how}, at {mount.container_path!r}"
                )
                ctx.find(level, text, resource=resource, host_path=mount.host_path, read_only=mount.read_only)


@GROUP.check(
    "sec-device-not-memory-or-disk",
    "No grant gives the machine's memory or a whole disk",
    level=Level.WARNING,
    what="The device nodes of an Allocate answer for one device.",
    why="Such a node is the whole machine: no container boundary holds behind it.",
    fix="Grant the node of the device itself; a partition or a volume instead of the disk.",
    source="the code of the kubelet",
    rules="DM-125 DM-126",
)
async def memory_or_disk(ctx: CheckContext) -> None:
    for resource, granted in (await one_each(ctx)).items():
        for node in granted.devices:
            path = _clean(node.host_path)
            if path in _MEMORY or _DISK.fullmatch(path):
                ctx.warning(f"{resource}: Allocate grants {node.host_path!r}", resource=resource, host_path=path)


@GROUP.check(
    "sec-env-only-grant",
    "A grant is more than an environment variable",
    level=Level.WARNING,
    what="Whether an Allocate answer for one device has a device node, a mount, a CDI name or an annotation beside its variables.",
    why="Any pod can set the same variable in its own manifest, without asking for the device: the runtime cannot tell the two apart.",
    fix="Grant device nodes or CDI names; let a variable only say which they are.",
    source="public reports",
    rules="DM-126 DM-128",
)
async def env_only(ctx: CheckContext) -> None:
    for resource, granted in (await one_each(ctx)).items():
        if granted.envs and not (granted.devices or granted.mounts or granted.cdi_devices or granted.annotations):
            names = sorted(granted.envs)
            ctx.warning(
                f"{resource}: Allocate grants only variables: {', '.join(names)}", resource=resource, envs=names
            )


@GROUP.check(
    "sec-socket-mode",
    "The plugin's socket is not writable by everyone",
    level=Level.WARNING,
    what="The mode of each of the plugin's socket files.",
    why="Whoever can connect can call Allocate, and learn or trigger what it does. The directory's mode is what protects it otherwise.",
    fix="Set a umask before the socket is made, or its mode after that.",
    source="the code of the kubelet",
    rules="DM-10",
    needs="F",
)
async def socket_mode(ctx: CheckContext) -> None:
    sockets = ctx.sockets()
    if not sockets:
        ctx.skip("the plugin has no socket in the device-plugin directory")
    for name, path in sockets.items():
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError:
            continue  # gone meanwhile
        if mode & stat.S_IWOTH:
            ctx.warning(
                f"the socket {name!r} has the mode {mode:04o}: everyone may write", name=name, mode=f"{mode:04o}"
            )


@GROUP.check(
    "sec-survives-bad-input",
    "Nonsense on its socket does not end the plugin",
    level=Level.WARNING,
    what="An unknown method, an HTTP/2 connection that breaks off, and a request of 16 MiB; then GetDevicePluginOptions has to be "
    "answered, and the process to be there.",
    why="The socket is open to everything on the node that may write to it.",
    fix="Let the gRPC library answer what it does not know, and keep its limits on sizes.",
    source="the gRPC libraries",
    rules="DM-41",
    needs="BP",
    stage=Stage.OWN,
)
async def bad_input(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    for resource in ctx.resources:
        path = ctx.seen.registrations_of(resource)[-1].socket_path
        for what, nonsense in (("an unknown method", _unknown), ("a broken connection", _broken), ("16 MiB", _huge)):
            await nonsense(ctx, str(resource), path)
            if not await _still_answers(ctx, str(resource)):
                ended = " and ended" if ctx.plugin.has_ended else ""
                ctx.warning(f"{resource}: after {what} the plugin did not answer any more{ended}", resource=resource)
                return


async def _unknown(ctx: CheckContext, resource: str, _: str) -> None:
    async with ctx.connection(resource) as plugin:
        with suppress(RpcFailed):  # refused, as it should be
            await plugin.timed("Nonsense", plugin.inner.call("/v1beta1.DevicePlugin/Nonsense", b"", bytes))


async def _broken(_ctx: CheckContext, _resource: str, path: str) -> None:
    for data in (_PREFACE[:10], _PREFACE + b"\x00\x00\xff\x04", b"\x16\x03\x01" + bytes(64)):
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dial:
                dial.settimeout(STILL_ANSWERS_WITHIN_S)
                await asyncio.to_thread(dial.connect, path)
                dial.sendall(data)
        except OSError:
            return  # it may hang up on us


async def _huge(ctx: CheckContext, resource: str, _: str) -> None:
    async with ctx.connection(resource) as plugin:
        with suppress(RpcFailed):  # refused, as it should be
            await plugin.allocate(["x" * HUGE_BYTES])


async def _still_answers(ctx: CheckContext, resource: str) -> bool:
    try:
        async with ctx.connection(resource, within_s=STILL_ANSWERS_WITHIN_S) as plugin:
            await plugin.options()
    except Exception:  # noqa: BLE001 - whatever it is, nobody answered
        return False
    return not ctx.plugin.has_ended


def _clean(path: str) -> str:
    return str(PurePosixPath(os.path.normpath(path))) if path else path
