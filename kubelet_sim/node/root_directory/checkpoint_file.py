"""Reading a checkpoint file within bounds, and what to do about one that can be neither read nor written.

A kubelet reads whatever is there, and is killed for it if need be. We stop before: a node and a command line on somebody's
machine share its memory with other work. The bounds lie far above what a node can come to: 10,000 devices and 1,000 pods
make a file of 0.6 MB with 25,000 values.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from kubelet_sim.errors import CheckpointMissing, CheckpointTooLarge, CheckpointUnreadable, UsageError
from kubelet_sim.model.plugin import CHECKPOINT_NAME
from kubelet_sim.node.root_directory.os_errors import os_error_text

MOST_BYTES = 64 * 2**20
MOST_VALUES = 1_000_000
"""Of texts, numbers, lists and objects together: in memory, a value takes up to some hundred bytes."""
_AT_MOST = f"{MOST_BYTES // 2**20} MiB and {MOST_VALUES:,} values"
# Without O_NONBLOCK a named pipe of the checkpoint's name would hold the thread for ever.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def read_file(path: Path) -> bytes:
    """The bytes of the file, links followed.

    Raises `CheckpointMissing`, `CheckpointUnreadable` in the kubelet's words, also for what is no regular file, or
    `CheckpointTooLarge`, for which a start has to end: the next write would replace what a kubelet might have read.

    Rules: CP-14, CP-15, DM-143
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError as exc:
        raise CheckpointMissing from exc
    except OSError as exc:
        raise CheckpointUnreadable(os_error_text("open", path, exc)) from exc
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            cause = "is a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise CheckpointUnreadable(f"read {path}: {cause}")
        check_size(str(path), status.st_size)
        with open(descriptor, "rb", closefd=False) as file:
            return within_bounds(str(path), file.read(MOST_BYTES + 1))  # it may grow meanwhile, or tell no size
    except OSError as exc:
        raise CheckpointUnreadable(os_error_text("read", path, exc)) from exc
    finally:
        os.close(descriptor)


def within_bounds(name: str, data: bytes) -> bytes:
    """The same bytes. Raises `CheckpointTooLarge` if there are too many of them, or of what they stand for."""
    check_size(name, len(data))
    count = sum(data.count(mark) for mark in (b",", b"[", b"{", b":"))
    if count > MOST_VALUES:
        raise CheckpointTooLarge(name, f"it holds about {count:,} values", _AT_MOST)
    return data


def check_size(name: str, size: int) -> None:
    """Raises `CheckpointTooLarge` for more bytes than are read."""
    if size > MOST_BYTES:
        raise CheckpointTooLarge(name, f"it has {size / 2**20:,.0f} MiB or more", _AT_MOST)


def read_for_people(path: Path) -> bytes:
    """The bytes of a file that somebody named. Raises `UsageError`: one line that says what is there instead, and what helps."""
    try:
        return read_file(path)
    except CheckpointMissing as exc:
        if path.is_symlink():
            raise UsageError(f"{path} is a symbolic link to {path.readlink()}, which is not there") from exc
        raise UsageError(f"there is no {path}") from exc
    except CheckpointUnreadable as exc:
        raise UsageError(_explained(path, exc)) from exc


def _explained(path: Path, failure: CheckpointUnreadable) -> str:
    cause = failure.__cause__
    if isinstance(cause, PermissionError):
        return f"no permission to read {path}: a kubelet's checkpoint is readable by its owner only, mostly root (sudo)"
    try:
        mode = path.stat().st_mode
    except OSError:  # a circle of links, a directory that may not be entered
        return failure.cause
    if stat.S_ISDIR(mode):
        inside = path / CHECKPOINT_NAME
        return f"{path} is a directory{f'; did you mean {inside}?' if inside.is_file() else ', not a checkpoint file'}"
    for is_kind, kind in ((stat.S_ISSOCK, "a socket"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISREG, "")):
        if is_kind(mode):
            return f"{path} is {kind}, not a file (`-` reads standard input)" if kind else failure.cause
    return f"{path} is a device, not a file (`-` reads standard input)"


def write_advice(path: Path, failure: OSError) -> str:
    """What to do about a write of that file which failed; the file itself is still what it was."""
    directory = path.parent
    match failure.errno:
        case errno.ENOSPC | errno.EDQUOT:
            remedy = f"free some space on the file system of {directory}"
        case errno.EFBIG:
            remedy = "raise the limit on the size of files (ulimit -f)"
        case errno.EROFS:
            remedy = f"make the file system of {directory} writable"
        case errno.EACCES | errno.EPERM:
            remedy = f"make {directory} writable for the user that runs the node"
        case _ if path.is_dir():
            remedy = f"move {path} away: it is a directory"
        case errno.EIO:
            remedy = f"look at the disk of {directory}"
        case _:
            remedy = f"look at {directory}"
    return (
        f"the checkpoint {path} was not written: {remedy}. What was there before is still there; "
        "the node goes on, and the next write stores everything"
    )
