"""A file with the inode number of one that is gone: programs that compare numbers take the two for the same file.

Which number a new file gets is the file system's choice. Many hand out the lowest one that is free, some never the same again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

_TRIES = 256


def inode_of(path: Path) -> int | None:
    """The inode number of what lies there, a symbolic link itself; `None` if there is nothing."""
    try:
        return path.lstat().st_ino
    except OSError:
        return None


@contextlib.contextmanager
def given_back(directory: Path, wanted: int | None) -> Iterator[Callable[[], None]]:
    """Yield what frees the number, to be called right before a file is made that is to have it.

    Until then a file of ours has it, and others have the numbers that would come first; nothing of that is left after the
    block. If no file gets the number, or nothing is wanted, there is nothing to free.
    """
    taken: list[Path] = []
    try:
        if wanted is not None:
            _take(directory, wanted, taken)
        yield lambda: _free(taken, wanted)
    finally:
        for path in taken:
            path.unlink(missing_ok=True)


def _free(taken: list[Path], wanted: int | None) -> None:
    for path in taken:
        if inode_of(path) == wanted:
            path.unlink()


def _take(directory: Path, wanted: int, taken: list[Path]) -> None:
    for number in range(_TRIES):
        path = directory / f".inode-{number}"
        try:
            path.touch(exist_ok=False)
        except OSError:
            return
        taken.append(path)
        if inode_of(path) == wanted:
            return
