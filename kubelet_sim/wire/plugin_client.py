"""The kubelet's calls to a plugin, over a real socket.

A call is bytes in and bytes out here, so that an answer which cannot be decoded gets the kubelet's status instead of the
library's. Deadlines are the caller's: it cancels. Objects belong to the event loop in which they were first used.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import DIAL_TIMEOUT_S, AllocateAnswer, PluginOptions, PreferredAllocationRequest
from kubelet_sim.wire import messages, noise, unix_socket
from kubelet_sim.wire.device_lists import DeviceLists
from kubelet_sim.wire.library import grpc
from kubelet_sim.wire.status import connection_closing, no_message, rpc_failed, undecodable_message

T = TypeVar("T")

_AUTHORITY = "grpc.default_authority"
LOCALHOST = "localhost"
"""What a library derives from a socket path differs, and strict servers reset calls with an authority that they cannot parse.
Rules: DM-40"""
_OPTIONS: tuple[tuple[str, str | int], ...] = (
    # Two registrations on one socket are two connections. Rules: DM-37
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    # Tries as the kubelet's library does; each further pause is 1.6 times as long, ± 20 %, with either. Rules: DM-40
    ("grpc.initial_reconnect_backoff_ms", 1000),
    # How long the library waits for a server that has accepted and says nothing, even after we closed: the whole dial.
    ("grpc.min_reconnect_backoff_ms", int(DIAL_TIMEOUT_S * 1000)),
    ("grpc.max_receive_message_length", 4 * 1024 * 1024),
)
# No keep-alive either: the library's default, as the kubelet's. Rules: DM-43


class _Cancellable(Protocol):
    def cancel(self) -> bool: ...


class GrpcPluginConnection:
    """One connection to one plugin socket; fits `kubelet_sim.node.ports.PluginConnection`."""

    def __init__(self, socket_path: str, authority: str = LOCALHOST) -> None:
        self._path = socket_path
        self._authority = authority
        self._channel: grpc.aio.Channel | None = None
        self._is_closed = False
        self._in_progress: set[_Cancellable] = set()

    async def ready(self) -> None:
        """Return once the plugin's server has spoken HTTP/2; tries again until then, whatever is at the path.

        Gives the connection up when it is cancelled, as a blocking dial does. An attempt on a server that has accepted
        and says nothing may keep its socket for the rest of 10 s after that.

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

    async def get_preferred_allocation(
        self, available: Sequence[DeviceID], must_include: Sequence[DeviceID], size: int
    ) -> tuple[DeviceID, ...]:
        """Return the ids of the first container response, none without one. Raises `RpcFailed`. Rules: DM-94, DM-95"""
        request = messages.encode_preferred_allocation_request(
            PreferredAllocationRequest(tuple(available), tuple(must_include), size)
        )
        responses = await self._unary("GetPreferredAllocation", request, messages.decode_preferred_allocation_answer)
        return responses[0] if responses else ()

    async def pre_start_container(self, device_ids: Sequence[DeviceID], timeout_s: float) -> None:
        """Tell the plugin that a container with these ids is about to start. Raises `RpcFailed`. Rules: DM-103"""
        request = messages.encode_pre_start_request(device_ids)
        await self._unary("PreStartContainer", request, lambda _: None, timeout_s)

    async def list_and_watch(self) -> AsyncIterator[tuple[Device, ...]]:
        """Yield each list; the stream is opened when the first is asked for, and cut when the iterator is closed.

        A message is taken off the connection only when it is asked for: until then HTTP/2 flow control holds the plugin.
        Ends when the plugin ends the stream with OK. Raises `RpcFailed` for any other end, also for a message that is
        too large or cannot be decoded.

        Rules: DM-42, DM-60
        """
        method: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = self._opened().unary_stream(_path("ListAndWatch"))
        call, lists = method(messages.EMPTY), DeviceLists()
        with self._in_progress_until_left(call):
            while isinstance(data := await self._unless_closed(call.read()), bytes):  # else it is the library's EOF
                yield _decoded(lists.decode, data)

    async def close(self) -> None:
        """Close the connection; calls in progress and later ones fail with `Canceled`. May be repeated. Rules: DM-44"""
        self._is_closed = True
        for work in tuple(self._in_progress):
            work.cancel()
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def _unary(
        self, name: str, request: bytes, decode: Callable[[bytes], T], timeout_s: float | None = None
    ) -> T:
        return await self.call(_path(name), request, decode, timeout_s)

    async def call(self, path: str, request: bytes, decode: Callable[[bytes], T], timeout_s: float | None = None) -> T:
        """Return the decoded answer to one call of `/service/method`. Raises `RpcFailed`."""
        method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._opened().unary_unary(path)
        call = method(request, timeout=timeout_s)
        with self._in_progress_until_left(call):
            answer: bytes | None = await self._answer(call)
        if answer is None:  # the library takes a status of OK for an answer
            raise no_message()
        return _decoded(decode, answer)

    def _opened(self) -> grpc.aio.Channel:
        if self._is_closed:
            raise connection_closing()
        if self._channel is None:
            noise.hush(asyncio.get_running_loop())
            options = (*_OPTIONS, (_AUTHORITY, self._authority))
            self._channel = grpc.aio.insecure_channel(unix_socket.target(self._path), options=options)
        return self._channel

    async def _connected(self) -> None:
        if not unix_socket.is_possible(self._path):
            await asyncio.Event().wait()  # for ever: another try would end as the first
        await self._opened().channel_ready()

    async def _answer(self, call: Awaitable[T]) -> T:
        """As `_unless_closed`, for a call of the library: that is a task of its own already, one more would only cost time."""
        try:
            answer = await call
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise connection_closing() from None
        except grpc.aio.AioRpcError as error:
            raise (connection_closing() if self._is_closed else rpc_failed(error)) from error
        if self._is_closed:
            raise connection_closing()
        return answer

    async def _unless_closed(self, wanted: Awaitable[T]) -> T:
        """Return what is wanted; raise `RpcFailed` if that fails or if the connection is closed before.

        The work is a task of its own: when `close` cancels it, that is an answer to our caller, while our caller's own
        cancellation has to go on upwards as what it is.
        """
        work = asyncio.ensure_future(wanted)
        work.add_done_callback(_look_at_exception)
        with self._in_progress_until_left(work):
            await asyncio.wait({work})
        if self._is_closed or work.cancelled():
            raise connection_closing()
        try:
            return work.result()
        except grpc.aio.AioRpcError as error:
            raise rpc_failed(error) from error

    @contextlib.contextmanager
    def _in_progress_until_left(self, work: _Cancellable) -> Iterator[None]:
        """Have `close` cancel it; cancel it at the end, too, which is nothing to work that is done."""
        self._in_progress.add(work)
        try:
            yield
        finally:
            self._in_progress.discard(work)
            work.cancel()


class GrpcPluginCalls:
    """The way to plugins; fits `kubelet_sim.node.ports.PluginCalls`.

    Args:
        authority_is_localhost: otherwise the path of the socket is the authority of calls, as it is up to 1.25.

    Rules: DM-40, DM-163, DM-169
    """

    def __init__(self, *, authority_is_localhost: bool = True) -> None:
        self._authority_is_localhost = authority_is_localhost

    def connection(self, socket_path: str) -> GrpcPluginConnection:
        """Return a new connection to that absolute path, not yet connected. Never fails. Rules: DM-37"""
        return GrpcPluginConnection(socket_path, LOCALHOST if self._authority_is_localhost else socket_path)


def _look_at_exception(work: asyncio.Future[Any]) -> None:
    # Nobody else may: when the connection is closed or our caller cancelled, asyncio would log it as never retrieved.
    if not work.cancelled():
        work.exception()


def _path(method: str) -> str:
    return f"/{messages.PLUGIN_SERVICE}/{method}"


def _decoded(decode: Callable[[bytes], T], data: bytes) -> T:
    try:
        return decode(data)
    except ValueError as error:
        raise undecodable_message(error) from error
