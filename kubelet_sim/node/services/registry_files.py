"""The sockets below `plugins_registry`: which there are at the start, which come, and which go.

inotify is Linux's, and so is this. What a socket means is the plugin watcher's business.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, frozen

from kubelet_sim.errors import TransportError
from kubelet_sim.node.root_directory.os_errors import os_error_text

if TYPE_CHECKING:
    from asyncinotify import Event, Inotify

_DIRECTORY_MODE = 0o750


@frozen
class Sightings:
    """Who is told that a socket has appeared or vanished, and what goes wrong with looking."""

    appeared: Callable[[str], None]
    """A socket is there that was not there, or in the place of another one."""
    vanished: Callable[[str], None]
    """A name is gone, of a socket or of something else."""
    trouble: Callable[[str], None]
    """Something could not be looked at."""


def make_registry(directory: Path) -> None:
    """Make the directory and its missing parents, 0750 less the umask; one that is there stays as it is.

    Raises `TransportError` in the kubelet's words. Rules: DM-146
    """
    try:
        directory.mkdir(_DIRECTORY_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise TransportError(os_error_text("mkdir", directory, error)) from error


def leave_no_registry(directory: Path) -> bool:
    """Remove the directory of an earlier node if it is empty; whether it is gone. Plugins that see it do not call Register."""
    try:
        directory.rmdir()
    except OSError:
        return not os.path.lexists(directory)
    return True


@define
class RegistryFiles:
    """Watches a directory and all below it. Make one for each kubelet process."""

    _directory: Path
    _tell: Sightings
    _inotify: Inotify | None = None

    def begin(self) -> None:
        """Watch, and tell of the sockets that are there; names in sorted order.

        Raises `TransportError` if there is no inotify to be had.

        Rules: DM-146, DM-153
        """
        try:
            from asyncinotify import Inotify

            self._inotify = Inotify()
        except (ImportError, AttributeError, OSError) as error:
            raise TransportError(f"inotify cannot be used: {error}") from error
        self._enter(self._directory)

    async def read(self) -> None:
        """Tell of what comes and goes, for ever."""
        assert self._inotify is not None  # noqa: S101 - after `begin`
        while True:
            self._take(await self._inotify.get())

    def close(self) -> None:
        """Watch no longer. May be repeated, and come without a `begin`."""
        inotify, self._inotify = self._inotify, None
        if inotify is not None:
            inotify.close()

    def _take(self, event: Event) -> None:
        """A name that is moved away is not noticed, as in the kubelet; one that is moved here is new. Rules: DM-146"""
        from asyncinotify import Mask

        if event.mask & Mask.Q_OVERFLOW:
            self._tell.trouble("too much happened at once: some of it was lost")
        path = event.path
        if path is None or event.name is None:
            return
        if event.mask & (Mask.CREATE | Mask.MOVED_TO):
            self._created(path)
        elif event.mask & Mask.DELETE:
            self._tell.vanished(str(path))

    def _created(self, path: Path) -> None:
        """Links are followed; what begins with a dot is none of ours, directories too. Rules: DM-146"""
        if path.name.startswith("."):
            return
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            return  # gone already, or a link that leads nowhere
        except OSError as error:
            self._tell.trouble(os_error_text("stat", path, error))
            return
        if stat.S_ISSOCK(mode):
            self._tell.appeared(str(path))
        elif stat.S_ISDIR(mode):
            self._enter(path)

    def _enter(self, directory: Path) -> None:
        """Watch a directory, then walk it; what comes between the two is told twice.

        The walk enters directories whose name begins with a dot, but no links: one that leads to a directory is watched
        and not walked.

        Rules: DM-146, DM-153
        Follows: traversePluginDir
        """
        from asyncinotify import Mask

        assert self._inotify is not None  # noqa: S101 - after `begin`
        try:
            self._inotify.add_watch(directory, Mask.CREATE | Mask.MOVED_TO | Mask.DELETE)
            if directory.is_symlink():
                return
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError as error:
            self._tell.trouble(os_error_text("watch", directory, error))
            return
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                self._enter(directory / entry.name)
            elif _is_socket(directory / entry.name):
                self._created(directory / entry.name)


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False
