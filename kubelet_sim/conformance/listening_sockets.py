"""Where a plugin's processes listen, as the machine tells: a socket that is not where Register says is somewhere else, or nowhere.

The kernel's table is read by hand: psutil tells which unix sockets a process has, and not on which of them it listens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_LISTENS = 0x0001_0000
"""The kernel's flag for a socket on which listen() was called."""
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def listening_paths(pids: Iterable[int]) -> tuple[str, ...]:
    """The paths of unix sockets on which one of these processes listens, as it named them; sorted, none where it cannot be told.

    A process in a mount namespace names them by what it sees. The file need not be there any more.
    """
    found: set[str] = set()
    for pid in pids:
        try:
            links = [str(each.readlink()) for each in Path("/proc", str(pid), "fd").iterdir()]
            table = Path("/proc", str(pid), "net", "unix").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:  # it is gone, or somebody else's
            continue
        held = {match[1] for link in links if (match := _SOCKET.fullmatch(link))}
        for line in table.splitlines()[1:]:
            _, _, _, flags, _, _, inode, *path = line.split(maxsplit=7)
            if int(flags, 16) & _LISTENS and inode in held and path:
                found.add(path[0])
    return tuple(sorted(found))
