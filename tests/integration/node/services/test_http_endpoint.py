"""The small server, on real sockets of this machine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

from kubelet_sim.errors import TransportError
from kubelet_sim.node.services import http_endpoint
from kubelet_sim.node.services.http_address import HttpAddress
from kubelet_sim.node.services.http_endpoint import LONGEST_REQUEST, HttpEndpoint, Request, Response
from tests.patience import PATIENCE_S

Body = Callable[[HttpEndpoint, list[Request]], Awaitable[None]]


def _serving(body: Body) -> None:
    async def whole() -> None:
        seen: list[Request] = []

        def answer(request: Request) -> Response:
            seen.append(request)
            return Response(b"fine")

        endpoint = HttpEndpoint(HttpAddress(), answer)
        await endpoint.start()
        try:
            await body(endpoint, seen)
        finally:
            await endpoint.stop()

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


async def _asked(endpoint: HttpEndpoint, request: bytes) -> bytes:
    """All that comes back."""
    reader, writer = await asyncio.open_connection(endpoint.address.host, endpoint.address.port)
    try:
        writer.write(request)
        return await reader.read()
    finally:
        writer.transport.abort()


def test_a_request_is_answered_and_the_connection_closed() -> None:
    """Path, query and `Accept` reach whoever answers."""

    async def body(endpoint: HttpEndpoint, seen: list[Request]) -> None:
        came = await _asked(endpoint, b"GET /a?verbose&x=1 HTTP/1.1\r\nHost: h\r\naccept: text/plain\r\n\r\n")
        head, _, text = came.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"\r\nContent-Length: 4\r\n" in head
        assert text == b"fine"
        assert seen == [Request("/a", {"verbose": [""], "x": ["1"]}, "text/plain")]
        assert (await _asked(endpoint, b"HEAD / HTTP/1.0\r\n\r\n")).endswith(b"\r\n\r\n")

    _serving(body)


@pytest.mark.parametrize(
    "request_, status",
    [
        (b"POST /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n{}{}{}{}{}", b"405"),
        (b"POST /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{}{}{}{}{}", b"400"),
        (b"DELETE / HTTP/1.1\r\nHost: h\r\n\r\n", b"405"),
        (b"\x16\x03\x01 hello\r\n\r\n", b"400"),
        (b"GET http://[ HTTP/1.1\r\nHost: h\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTP/2\r\n\r\n", b"400"),
        (b"GET /" + b"x" * LONGEST_REQUEST, b"431"),
    ],
)
def test_nonsense_is_refused(request_: bytes, status: bytes) -> None:
    """It never reaches whoever answers, and the next request is served."""

    async def body(endpoint: HttpEndpoint, seen: list[Request]) -> None:
        came = await _asked(endpoint, request_)
        # Whoever cannot be read may not know the newer version.
        assert came.startswith((b"HTTP/1.1 " + status, b"HTTP/1.0 " + status))
        assert seen == []
        assert (await _asked(endpoint, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")).endswith(b"fine")

    _serving(body)


def test_a_client_that_says_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some time its connection is cut; meanwhile others are served."""
    monkeypatch.setattr(http_endpoint, "REQUEST_WITHIN_S", 0.2)

    async def body(endpoint: HttpEndpoint, _: list[Request]) -> None:
        silent = asyncio.ensure_future(_asked(endpoint, b"GET / HT"))
        assert (await _asked(endpoint, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")).endswith(b"fine")
        assert await silent == b""

    _serving(body)


def test_only_so_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is hung up on."""
    monkeypatch.setattr(http_endpoint, "MOST_AT_ONCE", 1)

    async def body(endpoint: HttpEndpoint, _: list[Request]) -> None:
        address = endpoint.address
        reader, writer = await asyncio.open_connection(address.host, address.port)
        assert await _asked(endpoint, b"") == b""
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (await reader.read()).endswith(b"fine")
        writer.close()

    _serving(body)


def test_stopping_cuts_connections() -> None:
    """Whoever still waits is cut off, and the port is free at once."""

    async def body(endpoint: HttpEndpoint, _: list[Request]) -> None:
        address = endpoint.address
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"GET / HT")
        await asyncio.sleep(0)
        await endpoint.stop()
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        again = HttpEndpoint(address, lambda _: Response(b""))
        await again.start()
        assert again.address == address
        await again.stop()

    _serving(body)


def test_a_port_that_is_taken() -> None:
    """The words are those of Go's network library, none of asyncio's, and something that can be done about it."""

    async def body(endpoint: HttpEndpoint, _: list[Request]) -> None:
        other = HttpEndpoint(endpoint.address, lambda _: Response(b""))
        with pytest.raises(
            TransportError, match=r"^listen tcp 127\.0\.0\.1:\d+: bind: address already in use \(take another port"
        ):
            await other.start()
        await other.stop()

    _serving(body)
