"""The device-plugin directory: made as the kubelet makes it, and cleaned as a starting kubelet does.

Which directory that is, and whether we may touch it at all, is decided in `root`.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from kubelet_sim.errors import TransportError
from kubelet_sim.model.life import Comeback
from kubelet_sim.model.plugin import CHECKPOINT_NAME
from kubelet_sim.node.root_directory.layout import RootLayout
from kubelet_sim.node.root_directory.os_errors import os_error_text
from kubelet_sim.profiles import Sweep

_DIRECTORY_MODE = 0o755
DEPRECATION_NAME = "DEPRECATION"


def make_directory(directory: Path) -> list[Path]:
    """Make the directory and its missing parents, 0755 less the umask; one that exists keeps its mode.

    Returns the directories made, parents first. Raises `TransportError` in the kubelet's words for the first that
    could not be made; those made before it stay.

    Rules: DM-2, DM-9, DM-135
    """
    made: list[Path] = []
    missing = [path for path in (directory, *directory.parents) if not os.path.exists(path)]  # noqa: PTH110 - it never raises
    for path in reversed(missing):
        try:
            path.mkdir(_DIRECTORY_MODE)
        except OSError as exc:
            if not path.is_dir():  # else somebody was faster
                raise TransportError(os_error_text("mkdir", path, exc)) from exc
        else:
            made.append(path)
    return made


def clean_directory(directory: Path, sweep: Sweep = Sweep.SOCKETS) -> tuple[str, ...]:
    """Remove what a starting kubelet removes, of what lies directly in the directory; returns the names, sorted.

    Mostly that is sockets. A symbolic link counts as what it leads to, unless the sweep says otherwise, and it is the link
    that is removed. The checkpoint stays, whatever it is. The kubelet visits the entries in no fixed order, here they are visited sorted: a link to a socket of the same
    directory goes with it if its name comes first, and is left dangling otherwise.

    Raises `TransportError` in the kubelet's words if the directory cannot be listed, or, after all entries were
    visited, if something could not be removed; several such errors stand in one pair of brackets.

    Nothing is made here. Sockets in sub-directories and elsewhere stay, so a plugin with one there need only register again.

    Rules: DM-8, DM-9, DM-18, DM-163, DM-164, DM-174, DM-176, DM-212, CP-4
    Follows: CleanupPluginDirectory
    """
    removed, failures = [], []
    for name in _names(directory):
        path = directory / name
        if name == CHECKPOINT_NAME or not _is_swept(path, sweep):
            continue
        try:
            path.unlink(missing_ok=True)
        except OSError as exc:
            failures.append(os_error_text("unlinkat", path, exc))
        else:
            removed.append(name)
    if failures:
        raise TransportError(failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]")
    return tuple(removed)


def make_deprecation_file(directory: Path) -> None:
    """Make the empty file that told plugins of the watcher up to 1.24: its absence is a call to register.

    Raises `TransportError`, which a kubelet logs.

    Rules: DM-15, DM-163, DM-168
    """
    path = directory / DEPRECATION_NAME
    try:
        path.write_bytes(b"")
    except OSError as exc:
        raise TransportError(os_error_text("open", path, exc)) from exc


def lose_files(layout: RootLayout, how: Comeback) -> tuple[str, ...]:
    """Remove what is lost while no kubelet runs, and say of what; the root is ours.

    Rules: DM-113
    """
    if not how.keeps_directory:
        shutil.rmtree(layout.device_plugins, ignore_errors=True)
        return ("the device-plugin directory",)
    if not how.keeps_checkpoint and layout.checkpoint.is_file():
        layout.checkpoint.unlink()
        return ("the checkpoint",)
    return ()


def looks_new(directory: Path) -> bool:
    """Whether nothing lies there, which a kubelet takes for a node that was made anew; not so if nobody can look.

    Names that begin with a dot do not count, all others do, sockets too.

    Rules: DM-68, CP-4
    """
    try:
        return all(name.startswith(".") for name in _names(directory))
    except TransportError:
        return False


def _names(directory: Path) -> list[str]:
    try:
        return sorted(path.name for path in directory.iterdir())
    except NotADirectoryError as exc:
        raise TransportError(os_error_text("readdirent", directory, exc)) from exc
    except OSError as exc:
        raise TransportError(os_error_text("open", directory, exc)) from exc


def _is_swept(path: Path, sweep: Sweep) -> bool:
    try:
        mode = path.lstat().st_mode if sweep is Sweep.NOT_DIRECTORIES_UNFOLLOWED else path.stat().st_mode
        return stat.S_ISSOCK(mode) if sweep is Sweep.SOCKETS else not stat.S_ISDIR(mode)
    except OSError:  # a dangling link, or a circle of them: the kubelet logs it and goes on
        return False
