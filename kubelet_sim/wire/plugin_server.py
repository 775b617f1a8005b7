"""The plugin's side of a socket: serves the plugin's APIs from objects that say how the plugin behaves.

For plugins of our own making: scripted ones, fakes, hostile ones. What a plugin answers is its behaviour's business; here
is how a socket appears, how a status is sent, and how a process dies.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from kubelet_sim.errors import RpcFailed, TransportError
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer, PluginInfo, PluginOptions, PreferredAllocationRequest
from kubelet_sim.wire import messages, registry_messages, unix_socket
from kubelet_sim.wire.library import grpc
from kubelet_sim.wire.socket_server import SocketServer
from kubelet_sim.wire.status import status_code

_Context = grpc.aio.ServicerContext[bytes, bytes]
_Unary = Callable[[bytes, _Context], Awaitable[bytes]]


class PluginBehaviour(Protocol):
    """How a plugin answers. A method that raises `RpcFailed` ends its call with that status."""

    async def options(self) -> PluginOptions:
        """The plugin's answer to GetDevicePluginOptions."""

    def lists(self) -> AsyncGenerator[tuple[Device, ...], None]:
        """The lists of one ListAndWatch stream; its end is the end of the stream. Closed when the stream is cut."""

    async def allocate(self, requests: Sequence[tuple[DeviceID, ...]]) -> AllocateAnswer:
        """The answer to Allocate for the ids of each container request."""

    async def preferred(self, requests: Sequence[PreferredAllocationRequest]) -> Sequence[Sequence[DeviceID]]:
        """The answer to GetPreferredAllocation: ids for each container request."""

    async def pre_start(self, device_ids: tuple[DeviceID, ...]) -> None:
        """Does what the plugin does at PreStartContainer."""


class RegistryBehaviour(Protocol):
    """How a plugin answers a kubelet that found its socket. A method that raises `RpcFailed` ends its call with that."""

    async def info(self) -> PluginInfo:
        """The plugin's answer to GetInfo."""

    async def notified(self, *, registered: bool, error: str) -> None:
        """Does what the plugin does at NotifyRegistrationStatus."""


class PluginServer(SocketServer):
    """One plugin process's server on one socket; serve again after `stop` as a new process would.

    Args:
        behaviour: of the device plugin API; not served there if there is none.
        registry: of the plugin registration API; likewise.
    """

    def __init__(self, behaviour: PluginBehaviour | None, registry: RegistryBehaviour | None = None) -> None:
        super().__init__()
        self._handlers: list[grpc.GenericRpcHandler] = []
        if behaviour is not None:
            self._handlers.append(_PluginMethods(behaviour))
        if registry is not None:
            self._handlers.append(_RegistryMethods(registry))

    @property
    def is_serving(self) -> bool:
        """Whether the plugin listens on its socket."""
        return self._server is not None

    async def serve(self, socket_path: str | Path) -> None:
        """Listen and serve at that path; a socket that lies there is replaced, as plugins do. Missing folders are made.

        Raises `TransportError` if the path cannot be bound.
        """
        path = Path(socket_path)
        with contextlib.suppress(OSError):  # a file in the way, or no right to it: the look at the path tells which
            path.parent.mkdir(parents=True, exist_ok=True)
        _remove_socket(path)

        def failed(cause: str) -> TransportError:
            return TransportError(f"a plugin cannot listen on {path}: {cause}")

        if (problem := unix_socket.bind_problem(path)) is not None:
            raise failed(problem)
        server = grpc.aio.server(options=[("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0)])
        await self._serve(server, self._handlers, path, failed)


class _PluginMethods(grpc.GenericRpcHandler):
    """The five methods; the library answers for all others. Rules: DM-42, DM-98, DM-103"""

    def __init__(self, behaviour: PluginBehaviour) -> None:
        self._behaviour = behaviour
        self._unary: dict[str, Callable[[bytes], Awaitable[bytes]]] = {
            "GetDevicePluginOptions": self._options,
            "Allocate": self._allocate,
            "GetPreferredAllocation": self._preferred,
            "PreStartContainer": self._pre_start,
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        service, _, method = handler_call_details.method.removeprefix("/").rpartition("/")
        if service != messages.PLUGIN_SERVICE:
            return None
        if method == "ListAndWatch":
            return grpc.unary_stream_rpc_method_handler(self._list)
        if method in self._unary:
            return grpc.unary_unary_rpc_method_handler(_answering(self._unary[method]))
        return None

    async def _options(self, _: bytes) -> bytes:
        return messages.encode_options(await self._behaviour.options())

    async def _allocate(self, request: bytes) -> bytes:
        return messages.encode_allocate_answer(
            await self._behaviour.allocate(messages.decode_allocate_request(request))
        )

    async def _preferred(self, request: bytes) -> bytes:
        asked = messages.decode_preferred_allocation_request(request)
        return messages.encode_preferred_allocation_answer(await self._behaviour.preferred(asked))

    async def _pre_start(self, request: bytes) -> bytes:
        await self._behaviour.pre_start(messages.decode_pre_start_request(request))
        return messages.EMPTY

    async def _list(self, _: bytes, context: _Context) -> None:
        """Written, not yielded: so the behaviour's generator is closed in this task, whatever ends the stream."""
        try:
            async with contextlib.aclosing(self._behaviour.lists()) as lists:
                async for devices in lists:
                    await context.write(messages.encode_devices(devices))
        except RpcFailed as failure:
            await context.abort(status_code(failure.code), failure.description)


class _RegistryMethods(grpc.GenericRpcHandler):
    """The two methods of the plugin registration API. Rules: DM-146, DM-148"""

    def __init__(self, registry: RegistryBehaviour) -> None:
        self._registry = registry
        self._methods = {
            registry_messages.GET_INFO: self._info,
            registry_messages.NOTIFY: self._notified,
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        method = self._methods.get(handler_call_details.method)
        return None if method is None else grpc.unary_unary_rpc_method_handler(_answering(method))

    async def _info(self, _: bytes) -> bytes:
        return registry_messages.encode_info(await self._registry.info())

    async def _notified(self, request: bytes) -> bytes:
        registered, error = registry_messages.decode_status(request)
        await self._registry.notified(registered=registered, error=error)
        return messages.EMPTY


def _answering(answer: Callable[[bytes], Awaitable[bytes]]) -> _Unary:
    async def handle(request: bytes, context: _Context) -> bytes:
        try:
            return await answer(request)
        except RpcFailed as failure:
            await context.abort(status_code(failure.code), failure.description)

    return handle


def _remove_socket(path: Path) -> None:
    with contextlib.suppress(OSError):  # what cannot be removed is in the way, and says so when it is bound
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            path.unlink()
