"""The gRPC side on asyncio: everything happens in one thread, so there is no lock, and nothing here may block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import grpc

from plugins_examples.chassis.devices import Device
from plugins_examples.chassis.plugin import Refused, in_list_order, to_message
from plugins_examples.chassis.sockets import SERVER_OPTIONS, grpc_address, new_socket_path, socket_identity
from plugins_examples.pb import api_pb2, api_pb2_grpc

STREAM_END_S = 2.0
ANNOTATION = "example.com/sensor."

Context = grpc.aio.ServicerContext[Any, Any]


class Board:
    """The list of devices, and a bell that is rung when it has changed."""

    def __init__(self, devices: Sequence[Device]) -> None:
        self.devices = tuple(devices)
        self._bell = asyncio.Event()

    def put(self, devices: Sequence[Device]) -> bool:
        """Make these the devices. Returns whether anything changed."""
        if self.devices == tuple(devices):
            return False
        self.devices = tuple(devices)
        self.ring()
        return True

    def ring(self) -> None:
        """Wake everybody who waits; whoever comes later waits for the next time."""
        self._bell.set()
        self._bell = asyncio.Event()

    async def changed(self) -> None:
        """Returns at the next `ring`."""
        await self._bell.wait()


class Service(api_pb2_grpc.DevicePluginServicer):
    """Answers the kubelet: a variable with the ids, and an annotation for each."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._closing = False
        self.streams = 0
        self.had_stream = False

    def close(self) -> None:
        """End every stream, with OK."""
        self._closing = True
        self._board.ring()

    async def GetDevicePluginOptions(  # noqa: N802
        self,
        request: api_pb2.Empty,  # noqa: ARG002
        context: Context,  # noqa: ARG002
    ) -> api_pb2.DevicePluginOptions:
        """No extras."""
        return api_pb2.DevicePluginOptions()

    async def ListAndWatch(  # noqa: N802
        self,
        request: api_pb2.Empty,  # noqa: ARG002
        context: Context,  # noqa: ARG002
    ) -> AsyncIterator[api_pb2.ListAndWatchResponse]:
        """The whole list at once, and again whenever it has changed. A kubelet that goes away cancels this."""
        self.streams += 1
        self.had_stream = True
        sent = None
        try:
            while not self._closing:
                # Sending takes a while, and the list may change meanwhile: look before waiting for the bell.
                if sent != self._board.devices:
                    sent = self._board.devices
                    yield to_message(sent)
                else:
                    await self._board.changed()
        finally:
            self.streams -= 1

    async def Allocate(  # noqa: N802
        self, request: api_pb2.AllocateRequest, context: Context
    ) -> api_pb2.AllocateResponse:
        """One answer for each container, in the order of the containers."""
        answer = api_pb2.AllocateResponse()
        known = [device.id for device in self._board.devices]
        for container in request.container_requests:
            try:
                ids = in_list_order(container.devices_ids, known)
            except Refused as refusal:
                await context.abort(refusal.code, str(refusal))
            answer.container_responses.add(
                envs={"SENSORS": ",".join(ids)}, annotations={f"{ANNOTATION}{each}": "granted" for each in ids}
            )
        return answer

    async def GetPreferredAllocation(  # noqa: N802
        self,
        request: api_pb2.PreferredAllocationRequest,  # noqa: ARG002
        context: Context,
    ) -> api_pb2.PreferredAllocationResponse:
        """Not advertised, so no kubelet calls it."""
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "one sensor is as good as another")

    async def PreStartContainer(  # noqa: N802
        self,
        request: api_pb2.PreStartContainerRequest,  # noqa: ARG002
        context: Context,
    ) -> api_pb2.PreStartContainerResponse:
        """Not advertised, so no kubelet calls it."""
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "nothing to do before a container starts")


class Endpoint:
    """A served socket, for as long as the context lasts."""

    def __init__(self, directory: Path, stem: str, board: Board) -> None:
        self.socket = new_socket_path(directory, stem)
        self._service = Service(board)
        self._server = grpc.aio.server(options=SERVER_OPTIONS)
        api_pb2_grpc.add_DevicePluginServicer_to_server(self._service, self._server)

    async def __aenter__(self) -> Self:
        """Listens when it returns. Raises `OSError` if the socket cannot be made."""
        try:
            self._server.add_insecure_port(grpc_address(self.socket))
            await self._server.start()
        except BaseException as error:
            await self._close(unlink=True)
            if isinstance(error, RuntimeError):
                raise OSError(f"cannot listen on {self.socket}: {error}") from error
            raise
        self._identity = socket_identity(self.socket)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the streams, stop serving, remove the socket file."""
        self._service.close()
        await self._close(unlink=self.is_reachable())

    async def _close(self, *, unlink: bool) -> None:
        try:
            await self._server.stop(STREAM_END_S)
        finally:  # when we are cancelled meanwhile, too
            if unlink:
                self.socket.unlink(missing_ok=True)

    def is_reachable(self) -> bool:
        """Whether the socket file is still there, and still ours."""
        return self._identity is not None and socket_identity(self.socket) == self._identity

    def stream_lost(self) -> bool:
        """Whether the kubelet had a stream and has none now."""
        return self._service.had_stream and self._service.streams == 0
