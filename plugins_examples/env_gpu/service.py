"""The gRPC side that the kubelet calls, and the socket it is served on.

An `Endpoint` lives from one registration to the next. After a kubelet restart a new one takes its place: the kubelet has
swept the old socket away, and two open streams for one resource would undo each other.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import stat
import threading
import urllib.parse
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc

from plugins_examples.env_gpu.inventory import Inventory, Listing
from plugins_examples.pb import api_pb2, api_pb2_grpc

LOG = logging.getLogger(__name__)

STREAM_END_S = 2.0
# A stream occupies its thread for as long as it is open; calls must find one beside it.
THREADS = 32
SOCKET_PATH_BYTES = 107

FileIdentity = tuple[int, int, int]


def socket_identity(path: Path) -> FileIdentity | None:
    """Which socket lies at this path now; None without one.

    The inode number alone would not do: file systems like to give the number of a file just removed to the next one.
    """
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_ctime_ns) if stat.S_ISSOCK(status.st_mode) else None


def grpc_address(path: Path) -> str:
    """The socket's address in gRPC's spelling, in which a percent sign would begin an escape."""
    return "unix:" + urllib.parse.quote(str(path))


class Service(api_pb2_grpc.DevicePluginServicer):
    """Answers the kubelet."""

    def __init__(self, inventory: Inventory, variable: str) -> None:
        self._inventory = inventory
        self._variable = variable
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
        """No extras."""
        return api_pb2.DevicePluginOptions()

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
                yield to_message(listing)
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
        """The variable with the granted ids, in the order of the list, for each container."""
        known = self._inventory.ids
        answer = api_pb2.AllocateResponse()
        for container in request.container_requests:
            asked = set(container.devices_ids)
            if unknown := sorted(asked - set(known)):
                context.abort(
                    grpc.StatusCode.INVALID_ARGUMENT, f"unknown devices: {', '.join(ascii(each) for each in unknown)}"
                )
            granted = ",".join(gpu_id for gpu_id in known if gpu_id in asked)
            answer.container_responses.add(envs={self._variable: granted})
            LOG.info("granted %s=%s", self._variable, granted)
        return answer

    def GetPreferredAllocation(  # noqa: N802
        self,
        request: api_pb2.PreferredAllocationRequest,  # noqa: ARG002
        context: grpc.ServicerContext,
    ) -> api_pb2.PreferredAllocationResponse:
        """Not advertised, so no kubelet calls it."""
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "every GPU is as good as another")

    def PreStartContainer(  # noqa: N802
        self,
        request: api_pb2.PreStartContainerRequest,  # noqa: ARG002
        context: grpc.ServicerContext,
    ) -> api_pb2.PreStartContainerResponse:
        """Not advertised, so no kubelet calls it."""
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "nothing to do before a container starts")


def to_message(listing: Listing) -> api_pb2.ListAndWatchResponse:
    """The list as the kubelet reads it."""
    return api_pb2.ListAndWatchResponse(
        devices=[api_pb2.Device(ID=gpu.id, health="Healthy" if gpu.healthy else "Unhealthy") for gpu in listing.gpus]
    )


class Endpoint:
    """A served socket.

    Its name is new each time: an old server's shutdown removes the file of its own name, and a second copy of this
    plugin, during an update, must not take the first one's place.
    """

    def __init__(self, directory: Path, stem: str, inventory: Inventory, variable: str) -> None:
        """Listens when it returns. Raises `OSError` if the socket cannot be made."""
        self.socket = directory / socket_name(stem, secrets.token_hex(4))
        self._service = Service(inventory, variable)
        self._server = grpc.server(
            futures.ThreadPoolExecutor(THREADS, thread_name_prefix="rpc"), options=[("grpc.so_reuseport", 0)]
        )
        api_pb2_grpc.add_DevicePluginServicer_to_server(self._service, self._server)
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


def socket_name(stem: str, token: str) -> str:
    """The file name of a socket."""
    return f"{stem}-{token}.sock"


def longest_socket_path(directory: Path, stem: str) -> int:
    """The length of the socket paths that `Endpoint` makes, in bytes."""
    return len(os.fsencode(directory / socket_name(stem, "0" * 8)))
