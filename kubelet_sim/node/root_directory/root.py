"""The root directory of a node: opened for one node at a time, and never that of a real kubelet.

What lies where is `layout`, what is refused is `root_checks`; cleaning the device-plugin directory belongs to the
start of a kubelet (`directory`).
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from attrs import field, frozen

from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.node.root_directory.device_plugin_directory import make_directory
from kubelet_sim.node.root_directory.layout import RootLayout
from kubelet_sim.node.root_directory.os_errors import os_error_text
from kubelet_sim.node.root_directory.root_checks import (
    check_no_real_node,
    check_paths,
    check_permissions,
    is_regular_file,
)

_PRIVATE_MODE = 0o700
_FILE_MODE = 0o600
_LOCK_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MARKER_TEXT = "This directory belongs to kubelet-sim, and not to a kubelet.\n"
_PID_LENGTH = 20


@frozen(eq=False)
class Root:
    """A root directory that is ours until `close`; a context manager."""

    layout: RootLayout
    _held: ExitStack = field(repr=False, alias="held")

    @classmethod
    def open(cls, path: Path) -> Self:
        """The root at `path`, made if it is missing, and locked.

        Everything is checked before anything is made. Raises `UsageError` with one line that says what is wrong,
        where, and what to do; what was made until then is removed again.

        Rules: DM-2
        """
        layout = RootLayout(_resolved(path))
        with ExitStack() as undo, _refusing(layout):
            check_paths(layout)
            lock = _take_lock(layout, undo)  # first: a node of ours that runs here is better news than its socket
            check_permissions(layout)
            check_no_real_node(layout)
            lock = _make(layout, lock, undo)
            undo.pop_all()
        held = ExitStack()
        held.callback(os.close, lock)
        return cls(layout, held)

    def close(self) -> None:
        """Let another node use the root. Its files stay, the checkpoint above all. May be called again."""
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def default_root() -> Path:
    """The root of a user who names none: in the run directory of their session, else below `/tmp`, made if missing.

    Raises `UsageError` if the one below `/tmp` is somebody else's, or open to others.
    """
    user_id = os.geteuid()
    if run_directory := os.environ.get("XDG_RUNTIME_DIR"):
        path = Path(run_directory)
        if path.is_absolute() and path.is_dir() and path.stat().st_uid == user_id:
            return path / "kubelet-sim"
    path = _SHARED / f"kubelet-sim-{user_id}"
    try:
        path.mkdir(_PRIVATE_MODE, exist_ok=True)
        found = path.lstat()
    except OSError as exc:
        raise UsageError(f"{os_error_text('cannot use', path, exc)}: name a directory with --root") from exc
    # Anybody may make a directory of this name before us.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user_id or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UsageError(f"{path} is not a directory of yours alone: remove it, or name another one with --root")
    return path


_SHARED = Path("/tmp")  # noqa: S108 - short enough for sockets, and checked


def _resolved(path: Path) -> Path:
    """Absolute, so that every socket path is: the kubelet refuses any other. Rules: DM-3"""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as exc:  # a circle of links, a name that is too long
        raise UsageError(f"{path} cannot be a root directory: {exc}") from exc


@contextmanager
def _refusing(layout: RootLayout) -> Iterator[None]:
    try:
        yield
    except TransportError as exc:
        raise UsageError(f"cannot {exc}: choose another directory with --root") from exc
    except OSError as exc:
        text = os_error_text("cannot use", exc.filename or layout.path, exc)
        raise UsageError(f"{text}: choose another directory with --root") from exc


def _take_lock(layout: RootLayout, undo: ExitStack, *, make: bool = False) -> int | None:
    """The locked lock file, or None if there is none and none shall be made. Raises `UsageError` if it is held.

    The file of a node that has died is free: the lock goes with the process, not with the file.
    """
    try:
        descriptor = os.open(layout.lock, _LOCK_FLAGS | (os.O_CREAT if make else 0), _FILE_MODE)
    except (FileNotFoundError, NotADirectoryError):
        if make:
            raise
        return None
    undo.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        raise _held(layout, descriptor) from exc
    if make:
        undo.callback(layout.lock.unlink)
    # Another opening may just have failed and have removed the file that we have locked.
    if not os.path.samestat(os.fstat(descriptor), layout.lock.lstat()):
        raise _held(layout, descriptor)
    return descriptor


def _held(layout: RootLayout, descriptor: int) -> UsageError:
    holder = os.pread(descriptor, _PID_LENGTH, 0).decode("ascii", "replace").strip()
    who = f" (process {holder})" if holder.isdecimal() else ""
    return UsageError(
        f"a node is running in {layout.path} already{who}: stop it, or choose another directory with --root"
    )


def _make(layout: RootLayout, lock: int | None, undo: ExitStack) -> int:
    """Make what is missing. What changes things that were there comes last, for it is not undone."""
    _make_directory(layout.path, undo)
    if not layout.private.exists():
        layout.private.mkdir(_PRIVATE_MODE)
        undo.callback(_remove_directory, layout.private)
    if lock is None:
        lock = _take_lock(layout, undo, make=True)
        assert lock is not None  # noqa: S101 - it was to be made
    _make_directory(layout.device_plugins, undo)
    if not is_regular_file(layout.marker):
        undo.callback(layout.marker.unlink, missing_ok=True)
        layout.marker.write_text(_MARKER_TEXT, encoding="ascii")
    layout.private.chmod(_PRIVATE_MODE)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode("ascii"), 0)
    return lock


def _make_directory(directory: Path, undo: ExitStack) -> None:
    for path in make_directory(directory):
        undo.callback(_remove_directory, path)


def _remove_directory(path: Path) -> None:
    with suppress(OSError):  # somebody has put something into it
        path.rmdir()
