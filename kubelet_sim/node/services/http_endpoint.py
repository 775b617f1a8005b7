"""A small HTTP server for whoever wants to look: GET and HEAD, one request a connection, nothing that changes anything.

aiohttp speaks HTTP. Here is what it leaves open: which requests are answered at all, and what a client may send in size,
time and number. It knows no metric and no check; a function answers.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Mapping
from http import HTTPStatus

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.http_exceptions import LineTooLong
from attrs import evolve, field, frozen

from kubelet_sim.errors import TransportError
from kubelet_sim.node.services.http_address import HttpAddress

LONGEST_REQUEST = 16_384
REQUEST_WITHIN_S = 10.0
"""Of real time, whatever the node's clock is: whoever asks is outside of the node."""
MOST_AT_ONCE = 64
_ENDS_WITHIN_S = 0.1
"""How long the last answers may take when the server stops."""


@frozen
class Request:
    """A request over HTTP, as far as who answers looks at it."""

    path: str
    query: Mapping[str, list[str]] = field(factory=dict, hash=False)
    accept: str = ""


@frozen
class Response:
    """An answer over HTTP: what is shown."""

    body: bytes
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"


NOT_FOUND = Response(b"404 page not found\n", 404)


def _problem(error: OSError) -> str:
    """The system's own words, which asyncio wraps into some of its own, and what can be done."""
    if error.errno == errno.EADDRINUSE:
        return "address already in use (take another port, or 0 for any that is free)"
    if error.errno is None or error.errno not in errno.errorcode:  # as for a host's name that nobody knows
        return (error.strerror or str(error)).lower()
    return os.strerror(error.errno).lower()


class HttpEndpoint:
    """Listens between `start` and `stop`; fits `kubelet_sim.node.kubelet_process.kubelet_process.KubeletPart`.

    Args:
        address: where.
        answer: makes the response to a request. It runs between two steps of everything else on the loop.
    """

    def __init__(self, address: HttpAddress, answer: Callable[[Request], Response]) -> None:
        self._address = address
        self._answer = answer
        self._connections: _Connections | None = None
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> HttpAddress:
        """Where it listens; once it has started, with the port that was found."""
        return self._address

    async def start(self) -> None:
        """Listen. Raises `TransportError` in the words of Go's network library."""
        self._connections = _Connections(self._respond)
        loop, address = asyncio.get_running_loop(), self._address
        try:
            self._server = await loop.create_server(self._connections, address.host, address.port)
        except OSError as error:
            raise TransportError(f"listen tcp {address}: bind: {_problem(error)}") from error
        self._address = evolve(address, port=self._server.sockets[0].getsockname()[1])

    async def stop(self, *, leave_socket: bool = False) -> None:
        """Stop at once; a TCP socket leaves nothing behind."""
        del leave_socket
        server, self._server = self._server, None
        if server is not None and self._connections is not None:
            server.close()
            self._connections.pre_shutdown()
            await self._connections.shutdown(_ENDS_WITHIN_S)
            await server.wait_closed()

    async def _respond(self, request: web.BaseRequest) -> web.Response:
        if request.method not in {hdrs.METH_GET, hdrs.METH_HEAD}:
            status = HTTPStatus.METHOD_NOT_ALLOWED
            return _sent(Response(b"Method Not Allowed\n", status), {hdrs.ALLOW: "GET, HEAD"})
        if request.version >= HttpVersion11 and hdrs.HOST not in request.headers:  # aiohttp before 3.14 takes it
            return _sent(Response(b"400 Bad Request\n", HTTPStatus.BAD_REQUEST))
        url = request.rel_url
        query = {name: url.query.getall(name) for name in url.query}
        return _sent(self._answer(Request(url.raw_path, query, request.headers.get(hdrs.ACCEPT, ""))))


class _Connections(web.Server):
    """Makes a connection of ours for everybody who comes."""

    def __call__(self) -> web.RequestHandler:
        return _Connection(
            self,
            loop=asyncio.get_running_loop(),
            lingering_time=0,
            max_line_size=LONGEST_REQUEST,
            max_field_size=LONGEST_REQUEST,
        )


class _Connection(web.RequestHandler):
    """One connection for one request, which is cut when that takes too long, or when there are too many."""

    __slots__ = ("_is_late",)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - TCP
        self._is_late = asyncio.get_running_loop().call_later(REQUEST_WITHIN_S, transport.abort)
        if self._manager is not None and len(self._manager.connections) > MOST_AT_ONCE:
            transport.close()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._is_late.cancel()
        super().connection_lost(exc)

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """What comes of a request that nobody can read, and of a mistake of ours, which is logged."""
        del request, message
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log_exception("Error handling request", exc_info=exc)
        if isinstance(exc, LineTooLong):
            return _sent(Response(b"", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE))
        return _sent(Response(f"{status} {HTTPStatus(status).phrase}\n".encode(), status))


def _sent(response: Response, headers: Mapping[str, str] | None = None) -> web.Response:
    sent = web.Response(body=response.body, status=response.status, headers=headers)
    sent.headers[hdrs.CONTENT_TYPE] = response.content_type
    sent.headers[hdrs.SERVER] = "kubelet-sim"
    sent.headers["X-Content-Type-Options"] = "nosniff"
    sent.force_close()
    return sent
