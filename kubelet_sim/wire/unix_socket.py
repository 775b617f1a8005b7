"""Unix sockets by path: what a kernel and Go's network library do with a path that our gRPC library treats differently."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

from kubelet_sim.errors import UsageError

LONGEST_PATH = 107
"""Bytes that the kernel takes for the path of a Unix socket."""


def target(path: str | Path) -> str:
    """Return the path as the gRPC library wants it: a URI, in which `100%#1.sock` has to be quoted."""
    return f"unix:{quote(os.fsencode(path))}"


def is_possible(path: str | Path) -> bool:
    """Whether the kernel would look at the path at all."""
    encoded = os.fsencode(path)
    return 0 < len(encoded) <= LONGEST_PATH and b"\0" not in encoded


def knock(path: str | Path) -> None:
    """Return at once if somebody listens there. The gRPC library would try again and again, and not say what is wrong.

    Raises:
        UsageError: the path can be no socket's.
        OSError: nobody listens, or we may not connect; which of them is the kernel's word.
    """
    if not is_possible(path):
        raise UsageError(f"{path} cannot be the path of a socket, which has at most {LONGEST_PATH} bytes")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        with contextlib.suppress(BlockingIOError):  # its queue is full: somebody is there
            probe.connect(os.fsencode(path))


def accepts(path: str | Path) -> bool:
    """Whether somebody listens there right now."""
    try:
        knock(path)
    except (OSError, UsageError):
        return False
    return True


def bind_problem(path: Path) -> str | None:
    """Return why the kernel would refuse to bind the path, in Go's words; `None` if it would not.

    Asked before the gRPC library is: that one removes a socket which is in the way, and writes to stderr about all else.

    Rules: DM-9
    """
    if not is_possible(path):
        return "invalid argument"
    if not os.path.lexists(path.parent):
        return "no such file or directory"
    if not path.parent.is_dir():
        return "not a directory"
    if os.path.lexists(path):
        return "address already in use"
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return "permission denied"
    return None


@contextlib.contextmanager
def passing_name(directory: Path) -> Iterator[Path]:
    """Give the directory a second path for as long as the context lasts.

    The gRPC library removes the path that it has bound when it stops, whatever lies there by then. A path that no longer
    leads anywhere leaves the file to us: we can keep it, for a kubelet that dies, and see whether it is still ours.
    """
    with tempfile.TemporaryDirectory(prefix="ks-", dir=short_folder()) as parent:
        alias = Path(parent) / "d"
        alias.symlink_to(directory.absolute())
        yield alias


def bound(path: Path, bind: Callable[[str], object]) -> SocketFile:
    """The file of the socket at that path, which `bind` makes from what the gRPC library calls its target."""
    with passing_name(path.parent) as alias:
        bind(target(alias / path.name))
    return SocketFile(path)


def short_folder() -> Path | None:
    """Where a temporary folder leaves room for sockets, whatever `TMPDIR` says; `None` if none of these can be written to."""
    folders = map(Path, ("/tmp", "/dev/shm", "/var/tmp"))  # noqa: S108 - a folder of a random name is made in it
    return next((folder for folder in folders if os.access(folder, os.W_OK | os.X_OK)), None)


class SocketFile:
    """The file of a socket of ours, known by device and inode: a path may be taken over by somebody else."""

    def __init__(self, path: Path) -> None:
        found = path.lstat()
        self._path = path
        self._identity = found.st_dev, found.st_ino

    def rename(self, path: Path) -> None:
        """Move it; replaces what is at the new path."""
        self._path.rename(path)
        self._path = path

    def remove(self) -> None:
        """Remove it, unless it is gone or what lies at its path is not ours."""
        with contextlib.suppress(FileNotFoundError):
            found = self._path.lstat()
            if (found.st_dev, found.st_ino) == self._identity:
                self._path.unlink()
