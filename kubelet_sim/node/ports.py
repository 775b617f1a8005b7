"""What the node needs of the world, as protocols: real ones live beside this file and in `wire`, fakes in `testing`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer, PluginInfo, PluginOptions, Registration


class PluginConnection(Protocol):
    """One connection to one plugin socket; every registration makes its own. Rules: DM-37, DM-40, DM-41"""

    async def ready(self) -> None:
        """Connect, trying again until it works or the caller gives up (cancels)."""

    async def get_device_plugin_options(self) -> PluginOptions:
        """Asks the plugin for its options. Raises `RpcFailed`."""

    def list_and_watch(self) -> AsyncIterator[tuple[Device, ...]]:
        """Open the stream.

        It ends normally when the plugin ends it with OK, else with `RpcFailed`. No message is read from the stream
        before the iterator is asked for it (DM-60).
        """

    async def allocate(self, device_ids: Sequence[DeviceID]) -> AllocateAnswer:
        """Asks the plugin to allocate for one container. Raises `RpcFailed`."""

    async def get_preferred_allocation(
        self, available: Sequence[DeviceID], must_include: Sequence[DeviceID], size: int
    ) -> tuple[DeviceID, ...]:
        """The ids of the first container response, none without one. Raises `RpcFailed`. Rules: DM-94, DM-95"""

    async def pre_start_container(self, device_ids: Sequence[DeviceID], timeout_s: float) -> None:
        """Raises `RpcFailed`. The plugin is told the timeout. Rules: DM-103"""

    async def close(self) -> None:
        """Calls in progress fail with `RpcFailed("Canceled", "grpc: the client connection is closing")`. Rules: DM-44"""


class PluginCalls(Protocol):
    """The way to plugins: opens connections to their sockets."""

    def connection(self, socket_path: str) -> PluginConnection:
        """A new connection, not yet connected. Never fails: a path that cannot work fails in `ready`."""


class RegistryConnection(Protocol):
    """One connection to a socket in `plugins_registry`, for one try to register. Rules: DM-148"""

    async def ready(self) -> None:
        """Connect, trying again until it works or the caller gives up (cancels)."""

    async def get_info(self) -> PluginInfo:
        """Asks the plugin what it is. Raises `RpcFailed`."""

    async def notify(self, *, registered: bool, error: str) -> None:
        """Tells the plugin how its registration went. Raises `RpcFailed`."""

    async def close(self) -> None:
        """Closes the connection; may be repeated."""


class RegistryCalls(Protocol):
    """The way to plugins whose sockets lie in `plugins_registry`: opens connections to them."""

    def connection(self, socket_path: str) -> RegistryConnection:
        """A new connection, not yet connected. Never fails: a path that cannot work fails in `ready`."""


Register = Callable[[Registration], Awaitable[None]]
"""Answers a Register call; raises `RegistrationRefused`. It is cancelled when the caller has gone (DM-30)."""

Malformed = Callable[[str], None]
"""Told why the message of a Register call could not be decoded; the call was refused."""


class RegistrationServer(Protocol):
    """The Registration service on `kubelet.sock`. Rules: DM-11"""

    async def listen(self, socket_path: str, before_bind: Callable[[Path | None], None] = lambda _: None) -> None:
        """Listen and serve. Raises `TransportError` with the kubelet's words if the path cannot be bound (DM-9).

        `before_bind` is told where the socket's file will be made, right before it is; a socket that it puts there is replaced.
        It is told nothing (`None`) if plugins would see that one.
        """

    async def stop(self, *, leave_socket: bool = False) -> None:
        """Stop at once: calls in progress are cut, connections closed, as at the end of a process (DM-16).

        Args:
            leave_socket: whether the socket's file stays, with nobody listening, as after a kill.
        """


class RegistrationServers(Protocol):
    """Makes one server for each kubelet process."""

    def server(self, register: Register, malformed: Malformed) -> RegistrationServer:
        """A server that is not yet listening."""


class CheckpointStore(Protocol):
    """Where the checkpoint lies. Writes are stored in the order in which they were asked for (a choice: DM-137)."""

    async def write(self, document: CheckpointDocument) -> None:
        """Durable when it returns. Raises `CheckpointNotWritten`."""

    async def read(self) -> CheckpointDocument:
        """Reads the document. Raises `CheckpointMissing`, `CheckpointUnreadable` or `CheckpointCorrupt`."""


class Clock(Protocol):
    """The node's time: every deadline of ours runs on it, a plugin's own time never does."""

    def now(self) -> float:
        """Seconds since an arbitrary start; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Return when so much time has passed on this clock."""
