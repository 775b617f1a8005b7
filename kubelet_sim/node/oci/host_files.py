"""The files of this machine, for whom a container's configuration is made: the real side of `container.host`."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kubelet_sim.container.host import FileKind, HostFile

_KINDS = {
    stat.S_IFCHR: FileKind.CHARACTER,
    stat.S_IFBLK: FileKind.BLOCK,
    stat.S_IFIFO: FileKind.FIFO,
    stat.S_IFDIR: FileKind.DIRECTORY,
    stat.S_IFREG: FileKind.FILE,
    stat.S_IFLNK: FileKind.LINK,
}
_NOTHING = (FileNotFoundError, NotADirectoryError)


class LocalFiles:
    """Looks at the machine it runs on; fits `HostFiles` by shape. Paths that no system could have lead nowhere."""

    def look(self, path: str) -> HostFile | None:
        """What lies at a path of the host, links not followed."""
        if "\0" in path:
            return None
        try:
            found = os.lstat(path)
        except _NOTHING:
            return None
        return HostFile(
            _KINDS.get(stat.S_IFMT(found.st_mode), FileKind.OTHER),
            os.major(found.st_rdev),
            os.minor(found.st_rdev),
            stat.S_IMODE(found.st_mode),
            found.st_uid,
            found.st_gid,
        )

    def resolved(self, path: str) -> str | None:
        """A path of the host with its links resolved."""
        if not path or "\0" in path:
            return None
        try:
            return os.path.realpath(path, strict=True)
        except _NOTHING:
            return None

    def entries(self, directory: str) -> tuple[str, ...] | None:
        """The names in a directory of the host."""
        try:
            return tuple(sorted(os.listdir(directory)))  # noqa: PTH208 - names, not paths
        except FileNotFoundError:
            return None

    def text(self, path: str) -> str:
        """The text of a file of the host."""
        return Path(path).read_bytes().decode("utf-8")
