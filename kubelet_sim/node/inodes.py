"""A socket with the inode number of one that is gone: programs that compare numbers take the two for the same file.

Which number a new file gets is the file system's choice. Many hand out the lowest one that is free, some never the same again.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from attrs import define, field

_MOST_IN_FRONT = 256


def inode_of(path: Path) -> int | None:
    """The inode number of what lies there, a symbolic link itself; `None` if there is nothing."""
    try:
        return path.lstat().st_ino
    except OSError:
        return None


@define
class HeldInode:
    """The inode number of a socket that is about to go, kept from everybody else until the next one is bound.

    A second link keeps it. Led to the path of the new socket, it goes when that one is bound there: the gRPC library removes a
    socket in its way, and the number is free for the few microseconds that it takes from that to the new one. Files of ours have
    the numbers that would come first then.
    """

    number: int
    _link: Path
    _in_front: list[Path] = field(factory=list)

    @classmethod
    def of(cls, socket: Path, link: Path) -> HeldInode | None:
        """That of the socket, with a second link to it on the same file system, where nothing else may lie.

        `None` if there is no socket. Where no link can be made the number is known, and anybody may get it.
        """
        if (number := inode_of(socket)) is None:
            return None
        held = cls(number, link)
        held.let_go()  # of a process that was killed
        with contextlib.suppress(OSError):
            link.hardlink_to(socket)
        return held

    def lead_to(self, path: Path) -> None:
        """A socket is bound at that path next, by a library that removes a socket in its way; then this is to be let go."""
        with contextlib.suppress(OSError):
            self._link.rename(path)
            self._take_those_in_front(path.parent)

    def let_go(self) -> None:
        """Whoever comes may have the number. May be called again."""
        for path in (self._link, *self._in_front):
            with contextlib.suppress(OSError):
                path.unlink()
        self._in_front.clear()

    def _take_those_in_front(self, directory: Path) -> None:
        for count in range(_MOST_IN_FRONT):
            path = directory / f".inode-{count}"
            path.touch(exist_ok=False)
            self._in_front.append(path)
            if path.stat().st_ino > self.number:
                return
