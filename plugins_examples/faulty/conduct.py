"""Everything that a fault can change: one object, good by default. `plugin` does what it says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import grpc

from plugins_examples.chassis.sockets import FileIdentity, new_socket_path, socket_identity, socket_stem
from plugins_examples.pb import api_pb2

HEALTHY, UNHEALTHY = "Healthy", "Unhealthy"
POLL_S = 0.1
MONITOR_DOWN = ".monitor-down"
"""A file among the hardware: nobody can tell the health of any device while it is there."""
Context = grpc.ServicerContext


class Stream:
    """One ListAndWatch call under way, as the plugin sees it."""

    def __init__(self, context: Context, stopping: threading.Event, number: int) -> None:
        self._context = context
        self._stopping = stopping
        self.number = number
        """Which stream of the process it is, counted from 1."""

    @property
    def is_open(self) -> bool:
        """Whether somebody still listens, and the plugin is not to stop."""
        return self._context.is_active() and not self._stopping.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for so long or until the stream is over; whether it is still open."""
        end = threading.Event()
        self._context.add_callback(end.set)
        while seconds > 0 and self.is_open:
            end.wait(min(seconds, POLL_S))
            seconds -= POLL_S
        return self.is_open


@dataclass
class Watch:
    """What a server looks at while it serves, to find out that its kubelet is another one."""

    kubelet: Path
    path: Path
    """Its own socket."""
    before: FileIdentity | None
    """What the kubelet's socket was when this server began."""
    number: int
    """Which server of the resource it is, counted from 1."""
    since_s: float = field(default_factory=time.monotonic)

    @property
    def age_s(self) -> float:
        """For how long it has been registered."""
        return time.monotonic() - self.since_s


@dataclass
class Conduct:
    """What the plugin does. Faults replace fields and methods by assignment."""

    hardware: Path | None = None
    folder: Path = Path("/var/lib/kubelet/device-plugins")
    resources: list[str] = field(default_factory=lambda: ["example.com/faulty"])

    # What it says
    devices: Callable[[str], list[api_pb2.Device]] = field(init=False)
    """Of a resource, now."""
    lists: Callable[[str, Stream], Iterator[list[api_pb2.Device]]] = field(init=False)
    """What goes out on a stream, as long as it is open."""
    options: Callable[[Context], api_pb2.DevicePluginOptions] = field(init=False)
    request: Callable[[api_pb2.RegisterRequest], api_pb2.RegisterRequest] = field(init=False)
    """What Register says, made from what it should say."""
    allocate: Callable[[api_pb2.AllocateRequest, Context], api_pb2.AllocateResponse] = field(init=False)
    allocate_one: Callable[[Sequence[str]], api_pb2.ContainerAllocateResponse] = field(init=False)
    prefer: Callable[[api_pb2.PreferredAllocationRequest, Context], api_pb2.PreferredAllocationResponse] = field(
        init=False
    )
    pre_start: Callable[[api_pb2.PreStartContainerRequest, Context], api_pb2.PreStartContainerResponse] = field(
        init=False
    )
    socket_path: Callable[[Path, str], Path] = field(init=False)

    # What it does
    thread_count: int = 32
    register_timeout_s: float | None = 15.0
    retry_pause_s: float = 0.5
    registers: bool = True
    serves_after_s: float = 0.0
    """Negative: only when Register was answered."""
    waits_for_kubelet: bool = True
    """Otherwise it does nothing for ever if there is none at its start."""
    retries: bool = True
    complains: bool = True
    registers_again_after_s: float | None = None
    restarted: Callable[[Watch], bool] = field(init=False)
    """Whether the kubelet is another one, as far as it notices."""
    serves_anew: bool = True
    """Otherwise it first tries to register again on the socket that it had."""
    waits_for_socket_s: float = inf
    """For how long, once it has served, it waits for a kubelet that comes back."""
    notices_lost_stream: bool = True
    exit_code: int = 0
    at_start: Callable[[], None] = lambda: None
    at_stop: Callable[[], None] = lambda: None
    """Called at SIGTERM, before anything is stopped."""
    removes_socket: bool = True
    """When it ends."""
    removes_refused_socket: bool = True
    """When its registration has failed."""
    waits_for_directory: bool = True
    """Otherwise it ends at once without one."""
    complains_of_rights: bool = True
    """If it may not write to the directory it says so and ends; otherwise it waits for better times."""
    handlers: list[grpc.GenericRpcHandler] = field(default_factory=list)
    """Asked before the service is."""

    def __post_init__(self) -> None:
        self.devices = self._devices
        self.lists = self._lists
        self.options = lambda _: api_pb2.DevicePluginOptions()
        self.request = lambda request: request
        self.allocate = self._allocate
        self.allocate_one = self._allocate_one
        self.prefer = self._prefer
        self.pre_start = self._pre_start
        self.restarted = lambda watch: (
            socket_identity(watch.kubelet) != watch.before or socket_identity(watch.path) is None
        )
        self.socket_path = lambda folder, resource: new_socket_path(folder, socket_stem("faulty", resource))

    def _devices(self, resource: str) -> list[api_pb2.Device]:
        kind = resource.rpartition("/")[2]
        if self.hardware is None:
            return [api_pb2.Device(ID=f"{kind}-{number}", health=HEALTHY) for number in range(3)]
        found = []
        is_blind = (self.hardware / MONITOR_DOWN).exists()
        for path in sorted(self.hardware.iterdir()):
            if path.name == MONITOR_DOWN:
                continue
            try:
                is_ok = not is_blind and path.read_text(encoding="utf-8").strip() == "ok"
            except OSError:
                continue
            found.append(api_pb2.Device(ID=path.name, health=HEALTHY if is_ok else UNHEALTHY))
        return found

    def _lists(self, resource: str, stream: Stream) -> Iterator[list[api_pb2.Device]]:
        before = None
        while stream.is_open:
            now = self.devices(resource)
            if now != before:
                yield now
                before = now
            stream.wait(POLL_S)

    def _allocate(self, request: api_pb2.AllocateRequest, context: Context) -> api_pb2.AllocateResponse:
        known = {device.ID for resource in self.resources for device in self.devices(resource)}
        for container in request.container_requests:
            for unknown in set(container.devices_ids) - known:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"unknown device {unknown!a}")
        answers = [self.allocate_one(sorted(container.devices_ids)) for container in request.container_requests]
        return api_pb2.AllocateResponse(container_responses=answers)

    def _allocate_one(self, ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        kind = ids[0].rpartition("-")[0] if ids else "none"
        answer = api_pb2.ContainerAllocateResponse(envs={f"{kind.upper().replace('-', '_') or 'X'}_IDS": ",".join(ids)})
        for device_id in ids:
            answer.devices.add(container_path=f"/dev/{device_id}", host_path="/dev/null", permissions="rw")
        return answer

    def _prefer(
        self, request: api_pb2.PreferredAllocationRequest, context: Context
    ) -> api_pb2.PreferredAllocationResponse:
        if not self.options(context).get_preferred_allocation_available:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "not advertised")
        answer = api_pb2.PreferredAllocationResponse()
        for each in request.container_requests:
            ids = list(dict.fromkeys([*each.must_include_deviceIDs, *sorted(each.available_deviceIDs)]))
            answer.container_responses.add(deviceIDs=ids[: each.allocation_size])
        return answer

    def _pre_start(
        self, request: api_pb2.PreStartContainerRequest, context: Context
    ) -> api_pb2.PreStartContainerResponse:
        if not self.options(context).pre_start_required:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "not advertised")
        known = {device.ID for resource in self.resources for device in self.devices(resource)}
        for unknown in set(request.devices_ids) - known:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"unknown device {unknown!a}")
        return api_pb2.PreStartContainerResponse()
