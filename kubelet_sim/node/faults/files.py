"""Faults of sockets and directories, all below a root that is ours.

An inotify that is refused is left out: the limit is one of the whole machine, so that everybody else on it would meet the
fault, too. `sysctl fs.inotify.max_user_instances` in a virtual machine does it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from stat import S_IMODE, S_ISSOCK

from kubelet_sim.errors import UsageError
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.arguments import number, text
from kubelet_sim.node.faults.kinds import PLUGIN, kind
from kubelet_sim.wire.unix_socket import is_possible

_MOST = 0o777


@kind(
    "delete-kubelet-socket",
    "files",
    "Somebody deletes kubelet.sock. Nobody notices: plugins that are connected stay so, and nobody can register until the"
    " kubelet restarts.",
    rules=("DM-13",),
)
async def _delete_kubelet_socket(active: ActiveFault) -> str:
    _unlink(active.reach.own(active.reach.layout.registration_socket))
    active.once("kubelet", "kubelet.sock is deleted")
    return "kubelet.sock is deleted; a restart of the kubelet makes it anew"


@kind(
    "delete-plugin-socket",
    "files",
    "Somebody deletes the plugin's socket file. The kubelet does not notice while its connection lives; a plugin that"
    " watches its socket registers again.",
    rules=("DM-13",),
    filters=PLUGIN,
)
async def _delete_plugin_socket(active: ActiveFault) -> str:
    path = active.reach.own(active.reach.plugin_socket(active.fault))
    subject = active.reach.subject(str(path))
    _unlink(path)
    active.once(subject, f"{path.name} is deleted")
    return f"{path.name} is deleted"


@kind(
    "stale-socket",
    "files",
    "A socket file that nobody listens on, as one killed plugin leaves it for the next; with a foreign owner, one that the"
    " next cannot remove where the directory is sticky.",
    undo="and the file is removed",
    arguments=(
        text("name", "stale.sock", "The file's name."),
        number("owner", None, "A user's number, to whom the file is given; needs root. Else it is yours."),
    ),
    rules=("DM-8",),
)
async def _stale_socket(active: ActiveFault) -> str:
    name, owner = active.arguments["name"], active.arguments["owner"]
    if not name or Path(name).name != name:
        raise UsageError(f"a socket's name is that of a file in the directory, not {name!r}")
    path = active.reach.own(active.reach.layout.device_plugins / name)
    if not is_possible(path):
        raise UsageError(f"a socket cannot have the path {str(path)!r}: the kernel takes 107 bytes")
    if owner not in {None, os.geteuid()} and os.geteuid() != 0:
        raise UsageError("only root can give a file to somebody else")
    with socket.socket(socket.AF_UNIX) as unheard:
        _done(f"make {name}", lambda: unheard.bind(os.fsencode(path)))
    made = path.lstat()
    active.at_the_end(lambda: _unlink_if(path, (made.st_dev, made.st_ino)))
    if owner is not None:
        _done(f"give {name} away", lambda: os.chown(path, owner, -1, follow_symlinks=False))
    active.once("node", f"the stale socket {name} lies in the directory")
    return f"the stale socket {name} lies in the directory" + ("" if owner is None else f", and belongs to {owner}")


@kind(
    "no-rights",
    "files",
    "The device-plugin directory has a mode that lets nobody in. Processes of root do not notice.",
    undo="and the directory has its mode back",
    arguments=(text("mode", "000", "The mode, in octal digits."),),
    rules=("DM-2",),
)
async def _no_rights(active: ActiveFault) -> str:
    try:
        mode = int(active.arguments["mode"], 8)
    except ValueError:
        mode = -1
    if not 0 <= mode <= _MOST:
        raise UsageError(f"a mode is three octal digits, not {active.arguments['mode']!r}")
    path = active.reach.own(active.reach.layout.device_plugins)
    before = S_IMODE(path.stat().st_mode)
    _done("change the mode of the directory", lambda: path.chmod(mode))
    active.at_the_end(lambda: path.chmod(before))
    active.once("node", f"the directory has the mode {mode:03o}")
    as_root = "; processes of root, such as this node, do not notice" if os.geteuid() == 0 else ""
    return f"the device-plugin directory has the mode {mode:03o} instead of {before:03o}{as_root}"


@kind(
    "missing-directory",
    "files",
    "The device-plugin directory is gone, though the kubelet runs: sockets in it cannot be found by their paths.",
    undo="and the directory is back",
    rules=("DM-2", "DM-135"),
)
async def _missing_directory(active: ActiveFault) -> str:
    path = active.reach.own(active.reach.layout.device_plugins)
    away = path.with_name("device-plugins.away")
    _done("move the directory away", lambda: _move_away(path, away))
    active.at_the_end(lambda: _bring_back(away, path))
    active.once("node", "the directory is gone")
    return f"the device-plugin directory is away, at {away.name}"


def _move_away(path: Path, away: Path) -> None:
    if os.path.lexists(away):
        raise UsageError("it is gone already")
    path.rename(away)


def _bring_back(away: Path, path: Path) -> None:
    """What was made at its place meanwhile is newer."""
    if path.is_dir():
        for entry in path.iterdir():
            if not S_ISSOCK(entry.lstat().st_mode) or not os.path.lexists(away / entry.name):
                entry.replace(away / entry.name)
        shutil.rmtree(path)
    away.rename(path)


def _unlink(path: Path) -> None:
    _done(f"delete {path.name}", path.unlink)


def _unlink_if(path: Path, identity: tuple[int, int]) -> None:
    with contextlib.suppress(FileNotFoundError):
        found = path.lstat()
        if (found.st_dev, found.st_ino) == identity:
            path.unlink()


def _done(what: str, do: Callable[[], None]) -> None:
    try:
        do()
    except OSError as error:
        raise UsageError(f"cannot {what}: {error.strerror or error}") from error
