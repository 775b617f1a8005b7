"""Plugins without sockets: what `PluginCalls` reaches in tests of the node that need no gRPC.

For speed, never for proof: what a real connection does is tested on real sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import PurePath
from typing import TypeVar

from attrs import define, field

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions, PreferredAllocationRequest
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.node.kubelet_process.caller import unless_set

T = TypeVar("T")

_CLOSING = ("Canceled", "grpc: the client connection is closing")


async def _empty_answer(_: tuple[DeviceID, ...]) -> AllocateAnswer:
    return AllocateAnswer((ContainerResponse(),))


async def _no_preference(_: PreferredAllocationRequest) -> tuple[DeviceID, ...]:
    return ()


async def _started(_: tuple[DeviceID, ...]) -> None:
    return


async def _no_options() -> PluginOptions:
    return PluginOptions()


@define(eq=False)
class FakePeer:
    """The plugin behind one socket name. Replace what answers a call to script it; each may raise `RpcFailed`."""

    options: Callable[[], Awaitable[PluginOptions]] = _no_options
    allocate: Callable[[tuple[DeviceID, ...]], Awaitable[AllocateAnswer]] = _empty_answer
    preferred: Callable[[PreferredAllocationRequest], Awaitable[tuple[DeviceID, ...]]] = _no_preference
    pre_start: Callable[[tuple[DeviceID, ...]], Awaitable[None]] = _started
    listening: asyncio.Event = field(factory=asyncio.Event)
    allocated: list[tuple[DeviceID, ...]] = field(factory=list)
    """The ids of each Allocate call, as they came."""
    streams: list[FakeStream] = field(factory=list)
    """Open streams, oldest first."""
    stream_opened: asyncio.Event = field(factory=asyncio.Event)

    async def send(self, *devices: Device) -> None:
        """Send a list on every open stream; waits for a stream if there is none, and until the list was dealt with."""
        if not self.streams:
            self.stream_opened.clear()
            await self.stream_opened.wait()
        for stream in tuple(self.streams):
            await stream.send(devices)

    def end_streams(self, error: RpcFailed | None = None) -> None:
        """End every open stream, normally or with a status."""
        for stream in tuple(self.streams):
            stream.end(error)


@define(eq=False)
class FakeStream:
    """One ListAndWatch stream of a fake plugin."""

    _messages: asyncio.Queue[tuple[Device, ...] | RpcFailed | None] = field(factory=asyncio.Queue)
    _taken: asyncio.Event = field(factory=asyncio.Event)

    async def send(self, devices: tuple[Device, ...]) -> None:
        """Return when the reader asks for the next message, or is gone."""
        self._taken.clear()
        self._messages.put_nowait(devices)
        await self._taken.wait()

    def end(self, error: RpcFailed | None) -> None:
        """The last thing that is read."""
        self._messages.put_nowait(error)

    async def read(self, peer: FakePeer) -> AsyncIterator[tuple[Device, ...]]:
        """Yields the lists that the fake plugin sends, as the kubelet gets them."""
        peer.streams.append(self)
        peer.stream_opened.set()
        try:
            while isinstance(message := await self._messages.get(), tuple):
                yield message
                self._taken.set()
            if message is not None:
                raise message
        finally:
            peer.streams.remove(self)
            self._taken.set()


@define(eq=False)
class FakeConnection:
    """A connection to a `FakePeer`; fits `kubelet_sim.node.ports.PluginConnection`."""

    _peer: FakePeer
    _closed: asyncio.Event = field(factory=asyncio.Event)
    _stream: FakeStream | None = None

    async def ready(self) -> None:
        """Waits until the fake plugin listens."""
        await self._peer.listening.wait()

    async def get_device_plugin_options(self) -> PluginOptions:
        """Asks the fake plugin for its options."""
        return await self._unless_closed(self._peer.options())

    def list_and_watch(self) -> AsyncIterator[tuple[Device, ...]]:
        """Reads the lists that the fake plugin sends."""
        self._stream = FakeStream()
        return self._stream.read(self._peer)

    async def allocate(self, device_ids: Sequence[DeviceID]) -> AllocateAnswer:
        """Asks the fake plugin for the answer to Allocate."""
        self._peer.allocated.append(tuple(device_ids))
        return await self._unless_closed(self._peer.allocate(tuple(device_ids)))

    async def get_preferred_allocation(
        self, available: Sequence[DeviceID], must_include: Sequence[DeviceID], size: int
    ) -> tuple[DeviceID, ...]:
        """Asks the fake plugin which devices it prefers."""
        request = PreferredAllocationRequest(tuple(available), tuple(must_include), size)
        return await self._unless_closed(self._peer.preferred(request))

    async def pre_start_container(self, device_ids: Sequence[DeviceID], timeout_s: float) -> None:  # noqa: ARG002
        """Ask the peer, which has no time of its own."""
        await self._unless_closed(self._peer.pre_start(tuple(device_ids)))

    async def close(self) -> None:
        """End calls in progress and the stream."""
        self._closed.set()
        if self._stream is not None:
            self._stream.end(RpcFailed(*_CLOSING))

    async def _unless_closed(self, answer: Awaitable[T]) -> T:
        return await unless_set(self._closed, answer, lambda: RpcFailed(*_CLOSING))


@define
class FakeCalls:
    """The way to fake plugins; fits `kubelet_sim.node.ports.PluginCalls`."""

    _peers: dict[str, FakePeer] = field(factory=dict)

    def peer(self, socket_name: str, *, listening: bool = True) -> FakePeer:
        """The plugin behind that name, made when it is first asked for."""
        peer = self._peers.setdefault(socket_name, FakePeer())
        if listening:
            peer.listening.set()
        return peer

    def connection(self, socket_path: str) -> FakeConnection:
        """A connection to the peer of that file name; one that nobody made never listens."""
        return FakeConnection(self._peers.setdefault(PurePath(socket_path).name, FakePeer()))
