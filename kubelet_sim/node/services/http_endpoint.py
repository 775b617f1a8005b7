"""A small HTTP server for whoever wants to look: GET and HEAD, one request a connection, nothing that changes anything.

It knows no metric and no check; a function answers. What a client sends is bounded in size, time and number.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from collections.abc import Callable, Mapping
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

from attrs import field, frozen

from kubelet_sim.errors import TransportError, UsageError

LONGEST_REQUEST = 16_384
REQUEST_WITHIN_S = 10.0
"""Of real time, whatever the node's clock is: whoever asks is outside of the node."""
MOST_AT_ONCE = 64
LAST_PORT = 65_535
LOCAL_HOST = "127.0.0.1"


@frozen
class HttpAddress:
    """Where to listen."""

    host: str = LOCAL_HOST
    port: int = 0
    """0: any that is free."""

    @classmethod
    def parse(cls, text: str) -> HttpAddress:
        """`HOST:PORT`, `[IPV6]:PORT`, or `PORT` alone, which is that of this machine only.

        Raises:
            UsageError: it is none of these.
        """
        host, _, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
        is_port = port.isascii() and port.isdecimal() and len(port) <= len(str(LAST_PORT)) and int(port) <= LAST_PORT
        if not is_port or (":" in host and not text.startswith("[")):
            raise UsageError(f"{text!r} is no address to listen on; write HOST:PORT, such as {LOCAL_HOST}:10248")
        return cls(LOCAL_HOST if host in ("", "localhost") else host, int(port))

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@frozen
class Request:
    """What somebody wants to see."""

    path: str
    query: Mapping[str, list[str]] = field(factory=dict, hash=False)
    accept: str = ""


@frozen
class Response:
    """What is shown."""

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
    """Listens between `start` and `stop`; fits `kubelet_sim.node.kubelet_process.kubelet_process.Part`.

    Args:
        address: where.
        answer: makes the response to a request. It runs between two steps of everything else on the loop.
    """

    def __init__(self, address: HttpAddress, answer: Callable[[Request], Response]) -> None:
        self._address = address
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> HttpAddress:
        """Where it listens; once it has started, with the port that was found."""
        return self._address

    async def start(self) -> None:
        """Listen. Raises `TransportError` in the words of Go's network library."""
        try:
            self._server = await asyncio.start_server(
                self._connected, self._address.host, self._address.port, limit=LONGEST_REQUEST
            )
        except OSError as error:
            raise TransportError(f"listen tcp {self._address}: bind: {_problem(error)}") from error
        self._address = HttpAddress(self._address.host, self._server.sockets[0].getsockname()[1])

    async def stop(self, *, leave_socket: bool = False) -> None:
        """Stop at once; a TCP socket leaves nothing behind."""
        del leave_socket
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if server is not None:
            await server.wait_closed()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= MOST_AT_ONCE:
            writer.close()
            return
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, EOFError, TimeoutError):
                async with asyncio.timeout(REQUEST_WITHIN_S):
                    writer.write(await self._reply(reader))
                    await writer.drain()
                    writer.close()
                    await writer.wait_closed()
        finally:
            writer.transport.abort()

    async def _reply(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return _encoded(Response(b"", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE))
        line, *fields = head.decode("latin-1").split("\r\n")
        match line.split(" "):
            case ["GET" | "HEAD" as method, target, version] if version.startswith("HTTP/1."):
                response = self._response(target, fields)
                return _encoded(response, has_body=method == "GET")
            case [_, _, version] if version.startswith("HTTP/1."):
                return _encoded(
                    Response(b"Method Not Allowed\n", HTTPStatus.METHOD_NOT_ALLOWED), "Allow: GET, HEAD\r\n"
                )
        return _encoded(Response(b"400 Bad Request\n", HTTPStatus.BAD_REQUEST))

    def _response(self, target: str, fields: list[str]) -> Response:
        headers = {name.strip().lower(): value.strip() for name, _, value in (each.partition(":") for each in fields)}
        try:
            parts = urlsplit(target)
            query = parse_qs(parts.query, keep_blank_values=True, max_num_fields=100)
        except ValueError:
            return Response(b"400 Bad Request\n", HTTPStatus.BAD_REQUEST)
        return self._answer(Request(parts.path, query, headers.get("accept", "")))


def _encoded(response: Response, further: str = "", *, has_body: bool = True) -> bytes:
    status = HTTPStatus(response.status)
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {response.content_type}\r\n"
        f"Content-Length: {len(response.body)}\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        f"{further}"
        "Connection: close\r\n\r\n"
    )
    return head.encode("ascii") + (response.body if has_body else b"")
