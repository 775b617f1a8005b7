"""Checks of the group Socket and process lifecycle: the plugin's files, and what it does when things are not as usual."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from posixpath import normpath

from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.checks.registration import calls
from kubelet_sim.errors import RpcFailed, TransportError
from kubelet_sim.wire.unix_socket import LONGEST_PATH

GROUP = Group.LIFECYCLE
CANONICAL = "/var/lib/kubelet/device-plugins"
REFUSALS = 5
REFUSED_WITHIN_S = 60.0
ENDS_WITHIN_S = 30.0
RECOVERS_WITHIN_S = 60.0
NO_HARDWARE_S = 60.0


@GROUP.check(
    "sock-path-length",
    "The plugin's socket path fits into the 107 bytes that a Unix socket may have",
    level=Level.ERROR,
    what="The endpoint of each Register call, joined to the canonical directory: the suite's own is shorter or longer.",
    why="bind() fails with a longer path. Names made of the resource work until somebody has a long domain.",
    fix="Use a short file name; hash what would be too long.",
    source="the kernel; public reports",
    rules="DM-25 DM-40",
    needs="BF",
    needs_ready=False,
    is_quick=True,
)
async def path_length(ctx: CheckContext) -> None:
    if not ctx.seen.registrations:
        ctx.skip("no Register call has named a socket: see reg-happens")
    for registered in ctx.seen.registrations:
        if registered.is_watched:
            continue
        path = normpath(f"{CANONICAL}/{registered.registration.socket_name}")
        size = len(os.fsencode(path))
        if size > LONGEST_PATH:
            text = (
                f"{registered.resource}: the socket path would have {size} bytes on a node, at most {LONGEST_PATH} work"
            )
            ctx.error(text, resource=registered.resource, path=path, bytes=size)


@GROUP.check(
    "sock-stale-file-replaced",
    "A dead socket of an earlier run does not keep the plugin from serving",
    level=Level.ERROR,
    what="The plugin is started once to learn its socket's name, and killed; a socket that nobody listens on is left there, and the "
    "plugin is started again.",
    why="A plugin that was killed leaves its file behind; bind() fails with `address already in use` until somebody removes it.",
    fix="Remove the file before bind(), or use a new name at each start.",
    source="public reports",
    rules="DM-8",
    needs="BF",
    stage=Stage.OWN,
)
async def stale_file(ctx: CheckContext) -> None:
    await ctx.start_or_skip()
    paths = [Path(each.socket_path) for each in ctx.seen.registrations]
    await ctx.plugin.kill()
    with _dead_sockets(paths):
        if not await ctx.start():
            last = ctx.plugin.output().splitlines()[-3:]
            ctx.error("with a dead socket of its name in the directory the plugin did not register again", said=last)
    fresh = [Path(each.socket_path) for each in ctx.seen.registrations[len(paths) :]]
    if fresh and not set(fresh) & set(paths):
        ctx.skip("the plugin has another socket name at each start")


@contextmanager
def _dead_sockets(paths: list[Path]) -> Iterator[None]:
    for path in paths:
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
            dead.bind(str(path))
    yield


@GROUP.check(
    "sock-no-leak-on-failed-register",
    "Registrations that fail leave no sockets behind",
    level=Level.WARNING,
    what="Five registrations are refused (a plugin that ends is started again); then the sockets in the directory are counted.",
    why="A kubelet that refuses for an hour ends up with a directory full of sockets, until its next start.",
    fix="Stop the server and remove its socket before the next try, or keep both.",
    source="public reports",
    rules="DM-8 DM-29",
    needs="F",
    stage=Stage.OWN,
)
async def no_leak(ctx: CheckContext) -> None:
    with ctx.refuse_register("kubelet-sim refuses this registration") as held:
        await ctx.start(settled=False)
        calls_at_start = 0
        while len(held.calls) < REFUSALS:
            count = len(held.calls)
            came = await ctx.holds(
                lambda count=count: len(held.calls) > count or ctx.plugin.has_ended,  # type: ignore[misc]
                REFUSED_WITHIN_S,
            )
            if not came:
                ctx.note(f"{len(held.calls)} registrations were refused; no further one came")
                break
            if ctx.plugin.has_ended:
                if len(held.calls) == calls_at_start:
                    ctx.note(f"{len(held.calls)} registrations were refused; then the plugin ended before the next")
                    break
                calls_at_start = len(held.calls)
                await ctx.start(settled=False)
        if not held.calls:
            calls(ctx)  # says why it is skipped
        resources = {each.resource for each in held.calls}
        names = sorted(ctx.sockets())
    if len(names) > len(resources):
        text = f"{len(names)} sockets for {len(resources)} resources are left after {len(held.calls)} refused registrations"
        ctx.warning(text, sockets=names[:10], resources=len(resources))


@GROUP.check(
    "sock-leaves-others-alone",
    "The plugin touches nobody else's files",
    level=Level.ERROR,
    what="A foreign socket, a regular file and the kubelet's own socket and checkpoint lie in the directory while the plugin starts and "
    "stops.",
    why="The directory belongs to all plugins of the node. A plugin that sweeps it cuts the others off.",
    fix="Remove your own socket only, by its whole name.",
    source="the code of the kubelet",
    rules="DM-8 DM-13 DM-135",
    needs="F",
    stage=Stage.OWN,
)
async def others_alone(ctx: CheckContext) -> None:
    foreign, file = ctx.directory / "another-vendor.sock", ctx.directory / "README"
    file.write_text("of somebody else\n", "ascii")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(foreign))
        listener.listen()
        kept = {path: _identity(path) for path in (foreign, file, ctx.node.root.layout.registration_socket)}
        await ctx.start()
        await ctx.stop_plugin()
        for path, before in kept.items():
            after = _identity(path)
            if after != before:
                what = "removed" if after is None else "replaced or changed"
                ctx.error(f"the plugin {what} {path.name!r}", path=path.name)
        if ctx.seen.lists and not ctx.node.root.layout.checkpoint.exists():
            ctx.error("the plugin removed the kubelet's checkpoint")


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        facts = path.lstat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mode, facts.st_size


@GROUP.check(
    "sock-dir-configurable",
    "A flag or variable says where the kubelet's directory is",
    level=Level.INFO,
    what="Whether the command line or environment of this run gives the plugin its directory: {dir} or {socket} stands in it.",
    why="Distributions and tests have other directories; a path that is compiled in needs a mount namespace.",
    fix="Take the directory from a flag or a variable, for both the plugin's own socket and the kubelet's.",
    source="public reports",
    rules="DM-1",
    needs_ready=False,
)
async def dir_configurable(ctx: CheckContext) -> None:
    if not ctx.plugin.can_start:
        ctx.skip("needs the plugin's command")
    if not ctx.seen.registrations:
        ctx.skip("no Register call came: see reg-happens")
    if not ctx.config.tells_directory:
        ctx.info("the plugin found the directory by itself: it has the path compiled in, or a default")


@GROUP.check(
    "sock-missing-dir-error",
    "Without the directory the plugin says so and ends, or waits until it is there",
    level=Level.WARNING,
    what="The directory is removed, the plugin started, and after its end or a while the directory made anew.",
    why="On a node whose kubelet has not started yet the directory is missing. A plugin that hangs then never registers.",
    fix="Write the path that is missing and exit with a code that is not 0, or watch for it.",
    source="public reports",
    rules="DM-2",
    needs="FP",
    stage=Stage.OWN,
)
async def missing_dir(ctx: CheckContext) -> None:
    if not ctx.config.tells_directory:
        ctx.skip("needs a plugin that is told its directory: {dir} or {socket} in its command line")
    await ctx.node.crash()
    shutil.rmtree(ctx.directory)
    try:
        await ctx.start(settled=False)
        has_ended = await ctx.plugin.ended(ctx.window_s(ENDS_WITHIN_S))
    except TransportError as failure:
        ctx.skip(f"the plugin cannot be started without the directory: {failure}")
    finally:
        await ctx.node.start_kubelet()
    if not has_ended:
        ctx.note("the plugin waited for the directory")
        if not await ctx.settled(RECOVERS_WITHIN_S):
            ctx.warning(f"{RECOVERS_WITHIN_S:g} s after the directory was there the plugin had not registered")
    elif ctx.plugin.exit_code == 0:
        ctx.warning("without the directory the plugin ended with 0, as if all were well")
    elif str(ctx.directory) not in ctx.plugin.output():
        ctx.warning("without the directory the plugin ended and did not name it", said=ctx.plugin.output()[-300:])


@GROUP.check(
    "grpc-authority-tolerant",
    "Calls work with either `:authority` that kubelets send",
    level=Level.ERROR,
    what="GetDevicePluginOptions and Allocate with `localhost` and with the socket's path as authority. The path is an error for "
    "kubelets up to 1.25, which send it, else a warning.",
    why="Strict HTTP/2 servers reset a stream whose authority they cannot parse: the plugin registers and never gets a call.",
    fix="Use a server that takes any authority on a Unix socket, or normalise it before it is looked at.",
    source="public reports; the code of the kubelet",
    rules="DM-40 DM-163 DM-169",
    is_quick=True,
)
async def authority(ctx: CheckContext) -> None:
    for resource in ctx.resources:
        path = ctx.seen.registrations_of(resource)[-1].socket_path
        ids = ctx.healthy_ids(resource)[:1]
        for name in ("localhost", path):
            try:
                async with ctx.connection(resource, authority=name) as plugin:
                    await plugin.options()
                    if ids:
                        await plugin.allocate(ids)
            except RpcFailed as failure:
                is_old = name == path and ctx.profile.authority_is_localhost
                level = Level.WARNING if is_old else Level.ERROR
                ctx.find(level, f"{resource}: with the authority {name!r} a call fails: {failure}", authority=name)


@GROUP.check(
    "life-no-hardware-stays-up",
    "Without hardware the plugin stays up, with an empty list or unregistered",
    level=Level.ERROR,
    what="The hardware is taken away by --no-hardware, the plugin started and watched.",
    why="A DaemonSet puts the plugin on every node. One that ends is started again for ever, and fills the event log of the cluster.",
    fix="Register an empty list, or wait; write a line that says so.",
    source="public reports",
    rules="DM-54",
    needs="HP",
    hooks="no-hardware",
    stage=Stage.OWN,
)
async def stays_up(ctx: CheckContext) -> None:
    """Ended with 0 or by a signal: an error; with a message and another code: a warning."""
    async with ctx.surroundings("no-hardware"):
        await ctx.start(settled=False)
        await ctx.observe(NO_HARDWARE_S, lambda: ctx.plugin.has_ended)
        code = ctx.plugin.exit_code
        if code is None:
            _judge_empty(ctx)
        elif code <= 0 or code > 128:  # noqa: PLR2004 - what shells say of signals
            ctx.error(f"without hardware the plugin ended with {code}", exit_code=code)
        else:
            said = "" if ctx.plugin.output().strip() else ", and said nothing"
            ctx.warning(f"without hardware the plugin ended with {code}{said}", exit_code=code)


def _judge_empty(ctx: CheckContext) -> None:
    for resource in ctx.seen.resources:
        current = ctx.seen.current_list(resource)
        if current is not None and any(device.is_healthy for device in current.devices):
            count = len(current.devices)
            ctx.warning(f"{resource}: without hardware the plugin lists {count} devices", resource=resource)


@GROUP.check(
    "life-no-hardware-visible",
    "Without hardware there is an outward sign of it",
    level=Level.INFO,
    what="A line of output, or an empty list, while the hardware is away.",
    why="Somebody has to find out why a node has no devices.",
    fix="Write what was looked for, and where.",
    source="public reports",
    needs="HP",
    hooks="no-hardware",
    stage=Stage.OWN,
)
async def visible(ctx: CheckContext) -> None:
    async with ctx.surroundings("no-hardware"):
        await ctx.start(settled=False)

        def sign() -> bool:
            has_list = any(not listed.devices for listed in ctx.seen.lists)
            return has_list or bool(ctx.plugin.output().strip())

        if not await ctx.holds(sign, ctx.window_s(NO_HARDWARE_S)):
            ctx.info("without hardware the plugin says nothing, and lists nothing")
