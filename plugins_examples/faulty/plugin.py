"""The plugin: each resource in a thread of its own serves, registers, watches, and begins again, as its conduct says."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc

from plugins_examples.chassis.sockets import CHANNEL_OPTIONS, SERVER_OPTIONS, grpc_address, socket_identity
from plugins_examples.faulty.conduct import POLL_S, Conduct, Context, Stream, Watch
from plugins_examples.pb import api_pb2, api_pb2_grpc

LOG = logging.getLogger(__name__)
API_VERSION = "v1beta1"
STREAM_LOST_S = 0.5
_streams = itertools.count(1)


class Service(api_pb2_grpc.DevicePluginServicer):
    """Answers the kubelet for one resource."""

    def __init__(self, conduct: Conduct, resource: str) -> None:
        self._conduct = conduct
        self._resource = resource
        self.stopping = threading.Event()
        self.open = 0
        self.had_stream = False

    def GetDevicePluginOptions(  # noqa: N802
        self,
        request: api_pb2.Empty,  # noqa: ARG002
        context: Context,
    ) -> api_pb2.DevicePluginOptions:
        """As the conduct says."""
        return self._conduct.options(context)

    def ListAndWatch(  # noqa: N802
        self,
        request: api_pb2.Empty,  # noqa: ARG002
        context: Context,
    ) -> Iterator[api_pb2.ListAndWatchResponse]:
        """As the conduct says."""
        self.open += 1
        self.had_stream = True
        try:
            for devices in self._conduct.lists(self._resource, Stream(context, self.stopping, next(_streams))):
                yield api_pb2.ListAndWatchResponse(devices=devices)
        finally:
            self.open -= 1

    def Allocate(self, request: api_pb2.AllocateRequest, context: Context) -> api_pb2.AllocateResponse:  # noqa: N802
        """As the conduct says."""
        return self._conduct.allocate(request, context)

    def GetPreferredAllocation(  # noqa: N802
        self, request: api_pb2.PreferredAllocationRequest, context: Context
    ) -> api_pb2.PreferredAllocationResponse:
        """As the conduct says."""
        return self._conduct.prefer(request, context)

    def PreStartContainer(  # noqa: N802
        self, request: api_pb2.PreStartContainerRequest, context: Context
    ) -> api_pb2.PreStartContainerResponse:
        """As the conduct says."""
        return self._conduct.pre_start(request, context)


class Resource:
    """One resource's life, in a thread; `stopping` ends it."""

    def __init__(self, conduct: Conduct, folder: Path, resource: str, stopping: threading.Event) -> None:
        self._conduct = conduct
        self._folder = folder
        self._kubelet = folder / "kubelet.sock"
        self._resource = resource
        self._stopping = stopping
        self._served = 0

    def run(self) -> None:
        """Until it is to stop."""
        conduct = self._conduct
        if not conduct.registers or (not conduct.waits_for_kubelet and not self._somebody_listens()):
            self._stopping.wait()
            return
        missing_s = 0.0
        while not self._stopping.is_set():
            if socket_identity(self._kubelet) is None:
                self._stopping.wait(POLL_S)
                missing_s += POLL_S
                if self._served and missing_s > conduct.waits_for_socket_s:
                    LOG.warning("%s is given up: there is no kubelet", self._resource)
                    self._stopping.wait()
                continue
            missing_s = 0.0
            try:
                again = self._serve()
            except OSError as error:
                LOG.warning("%s", error)
                again = True
            if not again:
                self._stopping.wait()
            self._stopping.wait(conduct.retry_pause_s)

    def _somebody_listens(self) -> bool:
        with grpc.insecure_channel(grpc_address(self._kubelet), options=CHANNEL_OPTIONS) as channel:
            try:
                grpc.channel_ready_future(channel).result(timeout=0.5)
            except grpc.FutureTimeoutError:
                return False
        return True

    def _serve(self) -> bool:
        """One server, from its socket to its end; whether to begin again."""
        conduct, kubelet = self._conduct, socket_identity(self._kubelet)
        path = conduct.socket_path(self._folder, self._resource)
        service = Service(conduct, self._resource)
        pool = futures.ThreadPoolExecutor(conduct.thread_count)
        server = grpc.server(pool, handlers=conduct.handlers, options=SERVER_OPTIONS)
        api_pb2_grpc.add_DevicePluginServicer_to_server(service, server)

        def listen() -> None:
            server.add_insecure_port(grpc_address(path))
            server.start()

        later, is_refused = None, False
        if conduct.serves_after_s == 0:
            listen()
        elif conduct.serves_after_s > 0:
            later = threading.Timer(conduct.serves_after_s, listen)
            later.start()
        try:
            is_refused = not self._register(path)
            if is_refused:
                return conduct.retries
            self._served += 1
            if conduct.serves_after_s < 0:
                listen()
            self._watch(service, Watch(self._kubelet, path, kubelet, self._served))
        finally:
            if later is not None:
                later.join()
            identity = socket_identity(path)
            service.stopping.set()
            server.stop(1).wait()
            removes = conduct.removes_refused_socket if is_refused else conduct.removes_socket
            if removes and identity is not None and socket_identity(path) == identity:
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
            elif not removes and identity is not None:
                _leave_dead_socket(path)
        return True

    def _register(self, path: Path) -> bool:
        conduct = self._conduct
        request = api_pb2.RegisterRequest(version=API_VERSION, endpoint=path.name, resource_name=self._resource)
        with grpc.insecure_channel(grpc_address(self._kubelet), options=CHANNEL_OPTIONS) as channel:
            call = api_pb2_grpc.RegistrationStub(channel).Register.future(
                conduct.request(request), timeout=conduct.register_timeout_s
            )
            while not call.done():
                if self._stopping.wait(0.02):
                    call.cancel()
                    return False
            if call.code() is grpc.StatusCode.OK:
                return True
            if conduct.complains:
                LOG.warning("%s was not registered: %s", self._resource, call.details())
            return False

    def _watch(self, service: Service, watch: Watch) -> None:
        """Until this server is of no more use, or is to stop."""
        conduct, begun_s, lost_s = self._conduct, time.monotonic(), None
        again_s, has_only_registered = conduct.registers_again_after_s, False
        while not self._stopping.wait(POLL_S):
            now_s = time.monotonic()
            if conduct.restarted(watch):
                if conduct.serves_anew or has_only_registered:
                    return
                has_only_registered = True
                if socket_identity(self._kubelet) is None or not self._register(watch.path):
                    return
            is_lost = service.had_stream and not service.open
            lost_s = None if not is_lost else lost_s or now_s
            if conduct.notices_lost_stream and lost_s is not None and now_s - lost_s > STREAM_LOST_S:
                return
            if again_s is not None and now_s - begun_s > again_s:
                self._register(watch.path)
                begun_s = now_s


def _leave_dead_socket(path: Path) -> None:
    """What a plugin leaves that was killed: a socket on which nobody listens. gRPC has removed the one that it made."""
    import socket

    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as dead:
        dead.bind(os.fspath(path))


def run(conduct: Conduct, folder: Path, stopping: threading.Event) -> None:
    """Serve all resources until it is to stop."""
    if not conduct.waits_for_directory and not folder.is_dir():
        return
    if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
        if conduct.complains_of_rights:
            LOG.error("cannot make a socket in %s: permission denied", folder)
            conduct.exit_code = 1
        else:
            stopping.wait()
        return
    conduct.at_start()
    threads = [
        threading.Thread(target=Resource(conduct, folder, name, stopping).run, name=name) for name in conduct.resources
    ]
    for thread in threads:
        thread.start()
    stopping.wait()
    for thread in threads:
        thread.join()
