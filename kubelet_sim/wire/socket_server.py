"""What the gRPC servers of a kubelet and of a plugin share: how one begins on a Unix socket, and how it stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kubelet_sim.errors import TransportError
from kubelet_sim.tasks import to_its_end
from kubelet_sim.wire import unix_socket
from kubelet_sim.wire.library import grpc


class SocketServer:
    """A gRPC server on the socket at one path; each kind says when it listens, and in which words it cannot."""

    def __init__(self) -> None:
        self._server: grpc.aio.Server | None = None
        self._file: unix_socket.SocketFile | None = None

    async def _serve(
        self,
        server: grpc.aio.Server,
        handlers: Sequence[grpc.GenericRpcHandler],
        path: Path,
        failed: Callable[[str], TransportError],
        *,
        first_path: Path | None = None,
        bind: Callable[[str], object] | None = None,
    ) -> None:
        """Serve at the path; nothing of ours is left where that fails.

        Args:
            server: that is not started.
            handlers: of its methods.
            path: where the socket is to appear.
            failed: makes the error of a cause.
            first_path: where the socket is made, to be renamed when it is served; `None`: at `path`.
            bind: what binds the server's port, if more is to be done then.
        """
        server.add_generic_rpc_handlers(handlers)
        self._server = server
        try:
            self._file = unix_socket.bound(first_path or path, bind or server.add_insecure_port)
            await to_its_end(server.start())
            if first_path not in (None, path):
                self._file.rename(path)
        except (OSError, RuntimeError) as error:
            await self.stop(leave_socket=False)
            raise failed(str(error)) from error
        except BaseException:
            await self.stop(leave_socket=False)
            raise

    async def stop(self, *, leave_socket: bool = False) -> None:
        """Stop at once, as the death of the process does: calls in progress and connections are cut.

        The socket's file goes too, if it is still ours. With `leave_socket` it stays, as after a kill, and connecting to it is
        refused. Does nothing if it does not listen.

        Rules: DM-14, DM-16
        """
        server, self._server = self._server, None
        file, self._file = self._file, None
        if file is not None and not leave_socket:
            file.remove()
        if server is not None:
            await server.stop(None)
