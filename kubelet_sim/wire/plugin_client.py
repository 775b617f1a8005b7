"""The kubelet's calls to a plugin, over a real socket.

A call is bytes in and bytes out here, so that an answer which cannot be decoded gets the kubelet's status instead of the
library's. Deadlines are the caller's: it cancels. Objects belong to the event loop in which they were first used.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import grpc

from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions
from kubelet_sim.wire import messages, unix_socket
from kubelet_sim.wire.status import connection_closing, rpc_failed, undecodable_message

T = TypeVar("T")

_OPTIONS: tuple[tuple[str, str | int], ...] = (
    # What a library derives from a socket path differs, and strict servers reset calls with an authority that they
    # cannot parse. Rules: DM-40
    ("grpc.default_authority", "localhost"),
    # Two registrations on one socket are two connections. Rules: DM-37
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    # Only the library's own back-off differs from Go's defaults: 1 s, then 1.6 times more, each ± 20 %. Rules: DM-40
    ("grpc.initial_reconnect_backoff_ms", 1000),
    ("grpc.max_receive_message_length", 4 * 1024 * 1024),
)
# No keep-alive either: the library's default, as the kubelet's. Rules: DM-43


class GrpcPluginConnection:
    """One connection to one plugin socket; fits `kubelet_sim.node.ports.PluginConnection`."""

    def __init__(self, socket_path: str) -> None:
        self._path = socket_path
        self._channel: grpc.aio.Channel | None = None
        self._is_closed = False
        self._in_progress: set[asyncio.Future[Any]] = set()

    async def ready(self) -> None:
        """Return once the plugin's server has spoken HTTP/2; tries again until then, whatever is at the path.

        Gives the connection up when it is cancelled, as a blocking dial does.

        Rules: DM-40
        """
        try:
            await self._unless_closed(self._connected())
        except asyncio.CancelledError:
            await self.close()
            raise

    async def get_device_plugin_options(self) -> PluginOptions:
        """Return what the plugin wants to be asked. Raises `RpcFailed`. Rules: DM-28"""
        return await self._unary("GetDevicePluginOptions", messages.EMPTY, messages.decode_options)

    async def allocate(self, device_ids: Sequence[DeviceID]) -> AllocateAnswer:
        """Return the plugin's answer for one container with these ids. Raises `RpcFailed`. Rules: DM-98"""
        request = messages.encode_allocate_request(device_ids)
        return await self._unary("Allocate", request, messages.decode_allocate_answer)

    async def list_and_watch(self) -> AsyncIterator[tuple[Device, ...]]:
        """Yield each list; the stream is opened when the first is asked for, and cut when the iterator is closed.

        A message is taken off the connection only when it is asked for: until then HTTP/2 flow control holds the plugin.
        Ends when the plugin ends the stream with OK. Raises `RpcFailed` for any other end, also for a message that is
        too large or cannot be decoded.

        Rules: DM-42, DM-60
        """
        method: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = self._opened().unary_stream(_path("ListAndWatch"))
        call = method(messages.EMPTY)
        with _cancelled_at_end(call):
            while isinstance(data := await self._unless_closed(call.read()), bytes):  # else it is the library's EOF
                yield _decoded(messages.decode_devices, data)

    async def close(self) -> None:
        """Close the connection; calls in progress and later ones fail with `Canceled`. May be repeated. Rules: DM-44"""
        self._is_closed = True
        for work in self._in_progress:
            work.cancel()
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def _unary(self, name: str, request: bytes, decode: Callable[[bytes], T]) -> T:
        method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._opened().unary_unary(_path(name))
        call = method(request)
        with _cancelled_at_end(call):
            return _decoded(decode, await self._unless_closed(call))

    def _opened(self) -> grpc.aio.Channel:
        if self._is_closed:
            raise connection_closing()
        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(unix_socket.target(self._path), options=_OPTIONS)
        return self._channel

    async def _connected(self) -> None:
        if not unix_socket.is_possible(self._path):
            await asyncio.Event().wait()  # for ever: another try would end as the first
        await self._opened().channel_ready()

    async def _unless_closed(self, wanted: Awaitable[T]) -> T:
        """Return what is wanted; raise `RpcFailed` if that fails or if the connection is closed before.

        The work is a task of its own: when `close` cancels it, that is an answer to our caller, while our caller's own
        cancellation has to go on upwards as what it is.
        """
        work = asyncio.ensure_future(wanted)
        self._in_progress.add(work)
        try:
            await asyncio.wait({work})
        finally:
            self._in_progress.discard(work)
            if not work.done():
                work.cancel()
                await asyncio.wait({work})
        if self._is_closed or work.cancelled():
            raise connection_closing()
        try:
            return work.result()
        except grpc.aio.AioRpcError as error:
            raise rpc_failed(error) from error


class GrpcPluginCalls:
    """The way to plugins; fits `kubelet_sim.node.ports.PluginCalls`."""

    def connection(self, socket_path: str) -> GrpcPluginConnection:
        """Return a new connection to that absolute path, not yet connected. Never fails. Rules: DM-37"""
        return GrpcPluginConnection(socket_path)


class _Cancellable(Protocol):
    def cancel(self) -> bool: ...


@contextlib.contextmanager
def _cancelled_at_end(call: _Cancellable) -> Iterator[None]:
    try:
        yield
    finally:
        call.cancel()  # nothing happens to a call that has ended


def _path(method: str) -> str:
    return f"/{messages.PLUGIN_SERVICE}/{method}"


def _decoded(decode: Callable[[bytes], T], data: bytes) -> T:
    try:
        return decode(data)
    except ValueError as error:
        raise undecodable_message(error) from error
