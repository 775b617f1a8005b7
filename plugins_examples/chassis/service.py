"""The gRPC side that the kubelet calls, and the socket it is served on.

An `Endpoint` lives from one registration to the next. After a kubelet restart a new one takes its place: the kubelet has
swept the old socket away, and two open streams for one resource would undo each other.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path

import grpc

from plugins_examples.chassis.devices import Inventory
from plugins_examples.chassis.plugin import Plugin, Refused, in_list_order, known_of, to_message
from plugins_examples.chassis.sockets import SERVER_OPTIONS, grpc_address, new_socket_path, socket_identity
from plugins_examples.pb import api_pb2, api_pb2_grpc

STREAM_END_S = 2.0
# A stream occupies its thread for as long as it is open; calls must find one beside it.
THREADS = 32


class Service(api_pb2_grpc.DevicePluginServicer):
    """Answers the kubelet for one plugin."""

    def __init__(self, plugin: Plugin, inventory: Inventory) -> None:
        self._plugin = plugin
        self._inventory = inventory
        self._closing = False
        self._lock = threading.Lock()
        self._streams = 0
        self.had_stream = False

    @property
    def streams(self) -> int:
        """How many ListAndWatch streams are open."""
        return self._streams

    def close(self) -> None:
        """End every stream, with OK."""
        self._closing = True
        self._inventory.wake()

    def GetDevicePluginOptions(  # noqa: N802
        self,
        request: api_pb2.Empty,  # noqa: ARG002
        context: grpc.ServicerContext,  # noqa: ARG002
    ) -> api_pb2.DevicePluginOptions:
        """The extras: the kubelet believes this answer, not the registration."""
        return self._plugin.options()

    def ListAndWatch(  # noqa: N802
        self,
        request: api_pb2.Empty,  # noqa: ARG002
        context: grpc.ServicerContext,
    ) -> Iterator[api_pb2.ListAndWatchResponse]:
        """The whole list at once, and again whenever it has changed."""
        context.add_callback(self._inventory.wake)
        with self._counted():
            version = 0
            while listing := self._inventory.wait_newer(
                version, while_=lambda: context.is_active() and not self._closing
            ):
                yield to_message(listing.devices)
                version = listing.version

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            self._streams += 1
            self.had_stream = True
        try:
            yield
        finally:
            with self._lock:
                self._streams -= 1

    def Allocate(  # noqa: N802
        self, request: api_pb2.AllocateRequest, context: grpc.ServicerContext
    ) -> api_pb2.AllocateResponse:
        """One answer for each container, in the order of the containers."""
        answer = api_pb2.AllocateResponse()
        with _refusing(context):
            for container in request.container_requests:
                ids = in_list_order(container.devices_ids, self._inventory.ids)
                answer.container_responses.append(self._plugin.allocate(ids))
        return answer

    def GetPreferredAllocation(  # noqa: N802
        self, request: api_pb2.PreferredAllocationRequest, context: grpc.ServicerContext
    ) -> api_pb2.PreferredAllocationResponse:
        """One choice for each container. Nothing is given away yet: the kubelet may still take others.

        What it calls available may be older than our list. An id that is gone is left out: an error would reject the pod.
        """
        answer = api_pb2.PreferredAllocationResponse()
        known = self._inventory.ids
        with _refusing(context):
            for container in request.container_requests:
                available = in_list_order(known_of(container.available_deviceIDs, known), known)
                must_include = in_list_order(known_of(container.must_include_deviceIDs, known), known)
                chosen = self._plugin.prefer(available, must_include, container.allocation_size)
                answer.container_responses.add(deviceIDs=chosen)
        return answer

    def PreStartContainer(  # noqa: N802
        self, request: api_pb2.PreStartContainerRequest, context: grpc.ServicerContext
    ) -> api_pb2.PreStartContainerResponse:
        """Whatever has to be done to the devices first; the container starts after the answer, if it is OK."""
        with _refusing(context):
            self._plugin.pre_start(in_list_order(request.devices_ids, self._inventory.ids))
        return api_pb2.PreStartContainerResponse()


@contextlib.contextmanager
def _refusing(context: grpc.ServicerContext) -> Iterator[None]:
    try:
        yield
    except Refused as refusal:
        context.abort(refusal.code, str(refusal))


class Endpoint:
    """A served socket."""

    def __init__(
        self,
        directory: Path,
        stem: str,
        plugin: Plugin,
        inventory: Inventory,
        also: Callable[[grpc.Server], None] = lambda _: None,
    ) -> None:
        """Listens when it returns. Raises `OSError` if the socket cannot be made. `also` adds what else it serves."""
        self.socket = new_socket_path(directory, stem)
        self._service = Service(plugin, inventory)
        self._server = grpc.server(
            futures.ThreadPoolExecutor(THREADS, thread_name_prefix="rpc"), options=SERVER_OPTIONS
        )
        api_pb2_grpc.add_DevicePluginServicer_to_server(self._service, self._server)
        also(self._server)
        try:
            self._server.add_insecure_port(grpc_address(self.socket))
        except RuntimeError as error:
            self._server.stop(None)
            raise OSError(f"cannot listen on {self.socket}: {error}") from error
        self._server.start()
        self._identity = socket_identity(self.socket)

    def is_reachable(self) -> bool:
        """Whether the socket file is still there, and still ours."""
        return self._identity is not None and socket_identity(self.socket) == self._identity

    def stream_lost(self) -> bool:
        """Whether the kubelet had a stream and has none now."""
        return self._service.had_stream and self._service.streams == 0

    def close(self) -> bool:
        """End the streams, stop serving, remove the socket file. Returns whether a stream was open."""
        streaming = self._service.streams > 0
        reachable = self.is_reachable()
        self._service.close()
        self._server.stop(STREAM_END_S).wait()
        if reachable:
            with contextlib.suppress(FileNotFoundError):
                self.socket.unlink()
        return streaming
