"""A socket with the inode number of one that is gone: programs that compare numbers take the two for the same file.

Which number a new file gets is the file system's choice. Many hand out the lowest one that is free, some never the same again.
"""

from __future__ import annotations

import contextlib
import stat
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
    socket in its way, and the number is free for the few microseconds that it takes from that to the new one. Files of
    ours have the numbers that would come first then.
    """

    number: int
    _link: Path
    _in_front: list[Path] = field(factory=list)

    @classmethod
    def of(cls, socket: Path, link: Path) -> HeldInode | None:
        """That of the socket, with a second link to it on the same file system, where nothing else may lie.

        `None` if nothing is there. Of what is no socket, and where no link can be made, the number is known, and anybody may get
        it.
        """
        try:
            found = socket.lstat()
        except OSError:
            return None
        held = cls(found.st_ino, link)
        held.let_go()  # of a process that was killed
        if stat.S_ISSOCK(found.st_mode):
            with contextlib.suppress(OSError):
                link.hardlink_to(socket)
        return held

    def lead_to(self, path: Path | None) -> None:
        """A socket is bound at that path next, by a library that removes a socket in its way; then this is to be let go.

        Without a path nothing may lie in the way, and anybody may get the number.
        """
        if path is None:
            self.let_go()
            return
        with contextlib.suppress(OSError):
            self._take_those_in_front(path.parent)
            self._link.rename(path)

    def let_go(self) -> None:
        """Whoever comes may have the number. May be called again."""
        for path in (self._link, *self._in_front):
            with contextlib.suppress(OSError):
                path.unlink()
        self._in_front.clear()

    def _take_those_in_front(self, directory: Path) -> None:
        # In that directory, for numbers come from the part of the disk where it lies; hidden, as the socket is until it is renamed.
        for count in range(_MOST_IN_FRONT):
            path = directory / f".inode-{count}"
            path.touch()
            self._in_front.append(path)
            if path.stat().st_ino > self.number:
                return
