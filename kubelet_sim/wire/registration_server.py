"""The kubelet's own socket: the service on which plugins register.

Knows how the socket file appears and disappears, and how a refusal reaches a plugin; what a registration means is the
business of the coroutine it is given. Sweeping the directory and keeping a second node out of it is the node's.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, Protocol

from kubelet_sim.errors import RegistrationRefused, TransportError
from kubelet_sim.model.plugin import Registration
from kubelet_sim.wire import messages, noise, unix_socket
from kubelet_sim.wire.library import grpc
from kubelet_sim.wire.socket_server import SocketServer
from kubelet_sim.wire.unimplemented import unknown_method, unknown_service

Register = Callable[[Registration], Awaitable[None]]
Malformed = Callable[[str], None]


class RegistrationObserver(Protocol):
    """Who watches the calls; `kubelet_sim.node.hooks.Hooks` fits by shape."""

    async def register_called(self, registration: Registration, deadline_s: float | None) -> None:
        """Hears of a Register call before anybody looks at it, with the seconds that its caller has left. Raises `RegistrationRefused`."""

    async def register_answering(self, registration: Registration) -> None:
        """Hears that the answer to a Register call is about to go out."""

    def register_over(self, registration: Registration) -> None:
        """Hears that a Register call is over, answered or not."""


Appears = Literal["bind", "rename"]
"""How the socket file comes into being. `bind`: as the kubelet's, visible a moment before it can be dialled. `rename`: under
a hidden name first, so that a watcher who sees it can dial it at once."""

_Context = grpc.aio.ServicerContext[bytes, bytes]


class GrpcRegistrationServer(SocketServer):
    """One kubelet process's Registration service; fits `kubelet_sim.node.ports.RegistrationServer`.

    It listens once: nobody watches the socket's file, and a listener that is lost is not replaced. Connections to plugins
    are none of its business.

    Rules: DM-11, DM-12, DM-13
    """

    def __init__(
        self,
        register: Register,
        malformed: Malformed = lambda _: None,
        *,
        appears: Appears = "rename",
        watching: RegistrationObserver | None = None,
    ) -> None:
        super().__init__()
        self._register = register
        self._malformed = malformed
        self._appears = appears
        self._watching = watching

    async def listen(self, socket_path: str, before_bind: Callable[[Path | None], None] = lambda _: None) -> None:
        """Listen and serve at that absolute path, once in the life of this object.

        `before_bind` is told where the file will be made, right before it is; a socket that it puts there is replaced. It is told
        nothing (`None`) if plugins would see that one.

        Raises `TransportError` in the words of Go's network library. Anything that is already at the path is in the
        way, a socket too: nothing is removed.

        Rules: DM-9, DM-10, DM-11
        """
        path = Path(socket_path)
        if (problem := unix_socket.bind_problem(path)) is not None:
            raise _listen_failed(path, problem)
        first_path = path if self._appears == "bind" else path.with_name(f".{secrets.token_hex(4)}")
        noise.hush(asyncio.get_running_loop())
        server = grpc.aio.server()

        def bind(target: str) -> None:
            before_bind(None if first_path == path else first_path)
            try:
                server.add_insecure_port(target)
            except RuntimeError:
                if first_path != path:
                    first_path.unlink(missing_ok=True)  # what was put there
                raise

        def failed(cause: str) -> TransportError:
            return _listen_failed(path, cause)

        handlers = [_RegistrationMethods(self._answer)]
        await self._serve(server, handlers, path, failed, first_path=first_path, bind=bind)

    async def _answer(self, request: bytes, context: _Context) -> bytes:
        try:
            registration = messages.decode_registration(request)
        except ValueError as error:
            self._malformed(str(error))
            await context.abort(grpc.StatusCode.INTERNAL, f"grpc: error unmarshalling request: {error}")
        try:
            await self._registered(registration, context)
        except RegistrationRefused as refusal:
            # Raised through, the library would put words of its own around the text. Rules: DM-29
            await context.abort(grpc.StatusCode.UNKNOWN, refusal.text)
        return messages.EMPTY

    async def _registered(self, registration: Registration, context: _Context) -> None:
        watching = self._watching
        if watching is None:
            return await self._register(registration)

        def over(_: object) -> None:
            watching.register_over(registration)

        context.add_done_callback(over)  # type: ignore[arg-type] # the stub's type is a class, not a protocol
        await watching.register_called(registration, context.time_remaining())
        await self._register(registration)
        return await watching.register_answering(registration)


class GrpcRegistrationServers:
    """Makes one server for each kubelet process; fits `kubelet_sim.node.ports.RegistrationServers`."""

    def __init__(self, *, appears: Appears = "rename", watching: RegistrationObserver | None = None) -> None:
        self._appears = appears
        self._watching = watching

    def server(self, register: Register, malformed: Malformed = lambda _: None) -> GrpcRegistrationServer:
        """Return a server that does not listen yet; `register` is cancelled when its caller has gone. Rules: DM-30

        `malformed` is told why a request could not be decoded.
        """
        return GrpcRegistrationServer(register, malformed, appears=self._appears, watching=self._watching)


class _RegistrationMethods(grpc.GenericRpcHandler):
    """Register, and what the kubelet's library says of every other method. Rules: DM-11, DM-29"""

    def __init__(self, answer: Callable[[bytes, _Context], Awaitable[bytes]]) -> None:
        self._answer = answer

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        service, _, method = handler_call_details.method.removeprefix("/").rpartition("/")
        if service != messages.REGISTRATION_SERVICE:
            return unknown_service(service)
        if method != "Register":
            return unknown_method(service, method)
        return grpc.unary_unary_rpc_method_handler(self._answer)


def _listen_failed(path: Path, cause: str) -> TransportError:
    return TransportError(f"listen unix {path}: bind: {cause}")
