"""The door of the control API: a socket that asks the kernel who is there before it passes a byte on.

Our gRPC library tells nobody who its peer is. So the door listens where callers look, closes the connection of every
user but our own and root, and passes the bytes of the others on to a socket behind it, both ways, no faster than they
are taken. What is said on a connection is none of its business.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path

from kubelet_sim.errors import TransportError
from kubelet_sim.tasks import Tasks
from kubelet_sim.wire.unix_socket import SocketFile

_MODE = 0o600
_BACKLOG = 128
_PIECE = 64 * 1024
_CREDENTIALS = struct.Struct("3i")
"""Process, user and group of the peer: `struct ucred`."""
_PAUSE_S = 0.1


def peer_uid(connection: socket.socket) -> int:
    """Return the user who opened the other end, as the kernel knows it."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(data)[1]
    return uid


class ControlDoor:
    """Listens at `path` and leads to the socket at `inner`.

    Args:
        path: where callers look. What lies there is replaced: it can only be the socket of a node that is dead, because
            the directory is ours and locked.
        inner: the socket behind the door, in a directory that nobody else can enter.
        read_uid: who the peer of a connection is.
    """

    def __init__(self, path: Path, inner: Path, *, read_uid: Callable[[socket.socket], int] = peer_uid) -> None:
        self._path = path
        self._inner = inner
        self._read_uid = read_uid
        self._file: SocketFile | None = None
        self._listening = Tasks()
        self._connections = Tasks()

    @property
    def connection_count(self) -> int:
        """How many programs are connected through the door."""
        return len(self._connections)

    async def open(self) -> None:
        """Begin to listen. The socket's file is for our user alone from its first moment. Raises `TransportError`."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.setblocking(False)
            self._file = _listen(listener, self._path)
        except OSError as error:
            listener.close()
            raise TransportError(f"cannot listen on {self._path}: {error.strerror or error}") from error
        self._listening.run(self._accept(listener))

    async def close(self) -> None:
        """Take nobody in any more; the file is gone when this returns. Connections stay. May be called again."""
        file, self._file = self._file, None
        if file is not None:
            file.remove()
        await self._listening.cancel()

    async def cut(self) -> None:
        """Closes every connection that passed the door."""
        await self._connections.cancel()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listener:
            while True:
                try:
                    connection, _ = await loop.sock_accept(listener)
                except OSError:
                    # Too many open files, or a caller that has gone again: no reason to shut the door for good.
                    await asyncio.sleep(_PAUSE_S)
                    continue
                self._connections.run(self._serve(connection))

    async def _serve(self, outer: socket.socket) -> None:
        """One connection, from the look at who it is to its end, whichever side ends it."""
        with outer, contextlib.suppress(OSError):
            if self._read_uid(outer) not in {os.geteuid(), 0}:
                return
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as inner:
                inner.setblocking(False)
                await asyncio.get_running_loop().sock_connect(inner, os.fsencode(self._inner))
                await _join(outer, inner)


async def _join(outer: socket.socket, inner: socket.socket) -> None:
    """Pass bytes on both ways until the inner side has ended: a server ends its side once the caller has ended theirs."""
    ways = Tasks()
    there, back = ways.run(_pass_on(outer, inner)), ways.run(_pass_on(inner, outer))
    open_ways = {there, back}
    try:
        while back in open_ways:
            ended, open_ways = await asyncio.wait(open_ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ended:
                way.result()  # raises: a side that is gone takes the other with it
    finally:
        await ways.cancel()


async def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Pass on what comes until it ends, and the end, too. The next piece is read when the last one was taken."""
    loop = asyncio.get_running_loop()
    while piece := await loop.sock_recv(source, _PIECE):
        await loop.sock_sendall(target, piece)
    target.shutdown(socket.SHUT_WR)


def _listen(listener: socket.socket, path: Path) -> SocketFile:
    """Bind under another name first, so that what is at the path can be replaced and nobody comes too early."""
    first_path = path.with_name(f".{path.stem}.new")  # no longer than the path itself
    first_path.unlink(missing_ok=True)
    os.fchmod(listener.fileno(), _MODE)  # what the file will have; changing it afterwards would leave a gap
    listener.bind(os.fsencode(first_path))
    try:
        file = SocketFile(first_path)
        listener.listen(_BACKLOG)
        file.rename(path)
    except BaseException:
        first_path.unlink(missing_ok=True)
        raise
    return file
