"""The sockets of a plugin and of the kubelet: their names, their addresses, and which one lies at a path now."""

from __future__ import annotations

import os
import secrets
import stat
import urllib.parse
from pathlib import Path

KUBELET_SOCKET = "kubelet.sock"
SOCKET_PATH_BYTES = 107
# The name that is derived from a socket's path is none that strict servers take.
CHANNEL_OPTIONS = (("grpc.default_authority", "localhost"), ("grpc.use_local_subchannel_pool", 1))
SERVER_OPTIONS = (("grpc.so_reuseport", 0),)

FileIdentity = tuple[int, int, int]


def socket_identity(path: Path) -> FileIdentity | None:
    """Which socket lies at this path now; None without one.

    The inode number alone would not do: file systems like to give the number of a file just removed to the next one.
    """
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_ctime_ns) if stat.S_ISSOCK(status.st_mode) else None


def grpc_address(path: Path) -> str:
    """The socket's address in gRPC's spelling, in which a percent sign would begin an escape."""
    return "unix:" + urllib.parse.quote(str(path))


def socket_stem(plugin: str, resource: str) -> str:
    """What the names of a plugin's sockets for a resource begin with."""
    return f"{plugin}-{resource.replace('/', '_')}"


def new_socket_path(directory: Path, stem: str) -> Path:
    """Where to serve next.

    The name is new each time: an old server's shutdown removes the file of its own name, and a second copy of the
    plugin, during an update, must not take the first one's place.
    """
    return directory / _socket_name(stem, secrets.token_hex(4))


def longest_socket_path(directory: Path, stem: str) -> int:
    """The length of the paths that `new_socket_path` makes, in bytes."""
    return len(os.fsencode(directory / _socket_name(stem, "0" * 8)))


def _socket_name(stem: str, token: str) -> str:
    return f"{stem}-{token}.sock"
