"""Checks of the group Socket and process lifecycle: the plugin's files, and what it does when things are not as usual."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from posixpath import normpath

from kubelet_sim.conformance.bench import Bench
from kubelet_sim.conformance.check import Group, Level, Stage, check
from kubelet_sim.conformance.checks.registration import calls
from kubelet_sim.errors import RpcFailed, TransportError
from kubelet_sim.wire.unix_socket import LONGEST_PATH

GROUP = Group.LIFECYCLE
CANONICAL = "/var/lib/kubelet/device-plugins"
REFUSALS = 5
REFUSED_WITHIN_S = 60.0
READY_WITHIN_S = 30.0
ENDS_WITHIN_S = 30.0
RECOVERS_WITHIN_S = 60.0
NO_HARDWARE_S = 60.0


@check(
    "sock-path-length",
    GROUP,
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
async def path_length(bench: Bench) -> None:
    """As it would be on a real node."""
    if not bench.seen.registrations:
        bench.skip("no Register call has named a socket: see reg-happens")
    for registered in bench.seen.registrations:
        if registered.is_watched:
            continue
        path = normpath(f"{CANONICAL}/{registered.registration.socket_name}")
        size = len(os.fsencode(path))
        if size > LONGEST_PATH:
            text = (
                f"{registered.resource}: the socket path would have {size} bytes on a node, at most {LONGEST_PATH} work"
            )
            bench.error(text, resource=str(registered.resource), path=path, bytes=size)


@check(
    "sock-stale-file-replaced",
    GROUP,
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
async def stale_file(bench: Bench) -> None:
    """The same name, and nobody behind it."""
    await bench.start_or_skip()
    paths = [Path(each.socket_path) for each in bench.seen.registrations]
    await bench.plugin.kill()
    with _dead_sockets(paths):
        if not await bench.start():
            last = bench.plugin.output().splitlines()[-3:]
            bench.error("with a dead socket of its name in the directory the plugin did not register again", said=last)
    fresh = [Path(each.socket_path) for each in bench.seen.registrations[len(paths) :]]
    if fresh and not set(fresh) & set(paths):
        bench.skip("the plugin has another socket name at each start")


@contextmanager
def _dead_sockets(paths: list[Path]) -> Iterator[None]:
    for path in paths:
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
            dead.bind(str(path))
    yield


@check(
    "sock-no-leak-on-failed-register",
    GROUP,
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
async def no_leak(bench: Bench) -> None:
    """At most one a resource."""
    with bench.refuse_register("kubelet-sim refuses this registration") as held:
        await bench.start(settled=False)
        calls_at_start = 0
        while len(held.calls) < REFUSALS:
            count = len(held.calls)
            came = await bench.holds(
                lambda count=count: len(held.calls) > count or bench.plugin.has_ended,  # type: ignore[misc]
                REFUSED_WITHIN_S,
            )
            if not came:
                bench.note(f"{len(held.calls)} registrations were refused; no further one came")
                break
            if bench.plugin.has_ended:
                if len(held.calls) == calls_at_start:
                    bench.note(f"{len(held.calls)} registrations were refused; then the plugin ended before the next")
                    break
                calls_at_start = len(held.calls)
                await bench.start(settled=False)
        if not held.calls:
            calls(bench)  # says why it is skipped
        resources = {each.resource for each in held.calls}
        names = sorted(bench.sockets())
    if len(names) > len(resources):
        text = f"{len(names)} sockets for {len(resources)} resources are left after {len(held.calls)} refused registrations"
        bench.warning(text, sockets=names[:10], resources=len(resources))


@check(
    "sock-leaves-others-alone",
    GROUP,
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
async def others_alone(bench: Bench) -> None:
    """Before, during and after."""
    foreign, file = bench.directory / "another-vendor.sock", bench.directory / "README"
    file.write_text("of somebody else\n", "ascii")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(foreign))
        listener.listen()
        kept = {path: _identity(path) for path in (foreign, file, bench.node.root.layout.registration_socket)}
        await bench.start()
        await bench.stop_plugin()
        for path, before in kept.items():
            after = _identity(path)
            if after != before:
                what = "removed" if after is None else "replaced or changed"
                bench.error(f"the plugin {what} {path.name!r}", path=path.name)
        if bench.seen.lists and not bench.node.root.layout.checkpoint.exists():
            bench.error("the plugin removed the kubelet's checkpoint")


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        facts = path.lstat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mode, facts.st_size


@check(
    "sock-dir-configurable",
    GROUP,
    "A flag or variable says where the kubelet's directory is",
    level=Level.INFO,
    what="Whether the command line or environment of this run gives the plugin its directory: {dir} or {socket} stands in it.",
    why="Distributions and tests have other directories; a path that is compiled in needs a mount namespace.",
    fix="Take the directory from a flag or a variable, for both the plugin's own socket and the kubelet's.",
    source="public reports",
    rules="DM-1",
    needs_ready=False,
)
async def dir_configurable(bench: Bench) -> None:
    """Told, or found where it always is."""
    if not bench.plugin.can_start:
        bench.skip("needs the plugin's command")
    if not bench.seen.registrations:
        bench.skip("no Register call came: see reg-happens")
    if not bench.config.tells_directory:
        bench.info("the plugin found the directory by itself: it has the path compiled in, or a default")


@check(
    "sock-missing-dir-error",
    GROUP,
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
async def missing_dir(bench: Bench) -> None:
    """Its name in the output, or a plugin that recovers."""
    if not bench.config.tells_directory:
        bench.skip("needs a plugin that is told its directory: {dir} or {socket} in its command line")
    await bench.node.crash()
    shutil.rmtree(bench.directory)
    try:
        await bench.start(settled=False)
        has_ended = await bench.plugin.ended(bench.window_s(ENDS_WITHIN_S))
    except TransportError as failure:
        bench.skip(f"the plugin cannot be started without the directory: {failure}")
    finally:
        await bench.node.start_kubelet()
    if not has_ended:
        bench.note("the plugin waited for the directory")
        if not await bench.settled(RECOVERS_WITHIN_S):
            bench.warning(f"{RECOVERS_WITHIN_S:g} s after the directory was there the plugin had not registered")
    elif bench.plugin.exit_code == 0:
        bench.warning("without the directory the plugin ended with 0, as if all were well")
    elif str(bench.directory) not in bench.plugin.output():
        bench.warning("without the directory the plugin ended and did not name it", said=bench.plugin.output()[-300:])


@check(
    "grpc-authority-tolerant",
    GROUP,
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
async def authority(bench: Bench) -> None:
    """The old one and the new one."""
    for resource in bench.resources:
        path = bench.seen.registrations_of(resource)[-1].socket_path
        ids = bench.healthy_ids(resource)[:1]
        for name in ("localhost", path):
            try:
                async with bench.connection(resource, authority=name) as plugin:
                    await plugin.options()
                    if ids:
                        await plugin.allocate(ids)
            except RpcFailed as failure:
                is_old = name == path and bench.profile.authority_is_localhost
                level = Level.WARNING if is_old else Level.ERROR
                bench.find(level, f"{resource}: with the authority {name!r} a call fails: {failure}", authority=name)


@check(
    "life-no-hardware-stays-up",
    GROUP,
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
async def stays_up(bench: Bench) -> None:
    """Ended with 0 or by a signal: an error; with a message and another code: a warning."""
    async with bench.surroundings("no-hardware"):
        await bench.start(settled=False)
        await bench.observe(NO_HARDWARE_S, lambda: bench.plugin.has_ended)
        code = bench.plugin.exit_code
        if code is None:
            _judge_empty(bench)
        elif code <= 0 or code > 128:  # noqa: PLR2004 - what shells say of signals
            bench.error(f"without hardware the plugin ended with {code}", exit_code=code)
        else:
            said = "" if bench.plugin.output().strip() else ", and said nothing"
            bench.warning(f"without hardware the plugin ended with {code}{said}", exit_code=code)


def _judge_empty(bench: Bench) -> None:
    for resource in bench.seen.resources:
        current = bench.seen.current_list(resource)
        if current is not None and any(device.is_healthy for device in current.devices):
            count = len(current.devices)
            bench.warning(f"{resource}: without hardware the plugin lists {count} devices", resource=str(resource))


@check(
    "life-no-hardware-visible",
    GROUP,
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
async def visible(bench: Bench) -> None:
    """Something to find it by."""
    async with bench.surroundings("no-hardware"):
        await bench.start(settled=False)

        def sign() -> bool:
            has_list = any(not listed.devices for listed in bench.seen.lists)
            return has_list or bool(bench.plugin.output().strip())

        if not await bench.holds(sign, bench.window_s(NO_HARDWARE_S)):
            bench.info("without hardware the plugin says nothing, and lists nothing")
