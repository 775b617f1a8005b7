"""Peers that misbehave: raw sockets where a real gRPC server cannot, and a node to set them upon.

What a peer does is a few bytes of HTTP/2, written by hand.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from attrs import define, field

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.ids import ContainerName, PodUID, ResourceName
from kubelet_sim.model.plugin import Registration
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.views import PodView
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.scenario.plugins.script import read_script
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin as GoodPlugin
from kubelet_sim.transcript import Record, RecordLevel
from kubelet_sim.wire.registration_client import register
from tests.patience import PATIENCE_S

GOOD = "example.com/good"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client says first."""
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
SETTINGS_ACK = bytes([0, 0, 0, 4, 1, 0, 0, 0, 0])
HEADERS_TYPE = 1
FIRST_STREAM = 1
_TOO_LATE = "context deadline exceeded"
GARBAGE = bytes(range(255, -1, -1)) * 4
HTTP_1 = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\nContent-Type: text/html\r\n\r\nno!"

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter, asyncio.Event], Awaitable[None]]
"""What is done with a connection; the event is set when all that will be said is said."""


def frame(kind: int, payload: bytes, *, flags: int = 0, stream: int = 0) -> bytes:
    """An HTTP/2 frame."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def headers(fields: list[tuple[bytes, bytes]], stream: int, *, ends: bool) -> bytes:
    """A HEADERS frame with literal fields, none of them compressed."""
    return frame(HEADERS_TYPE, b"".join(map(_literal, fields)), flags=0x04 | (0x01 if ends else 0), stream=stream)


def _literal(pair: tuple[bytes, bytes]) -> bytes:
    name, value = pair
    return b"\x00" + _length(len(name)) + name + _length(len(value)) + value


def _length(count: int) -> bytes:
    """An integer with a prefix of seven bits, as HPACK has it."""
    if count < 127:
        return bytes([count])
    rest, out = count - 127, bytearray([127])
    while rest >= 128:
        out.append(rest % 128 | 128)
        rest //= 128
    out.append(rest)
    return bytes(out)


def message(data: bytes, *, flag: int = 0, claimed: int | None = None) -> bytes:
    """A gRPC message with its five bytes in front; `claimed` is a lie about its length."""
    return bytes([flag]) + struct.pack(">I", len(data) if claimed is None else claimed) + data


def trailers_only(*fields: tuple[bytes, bytes], status: bytes = b"200", kind: bytes = b"application/grpc") -> bytes:
    """An answer to the first call without any message."""
    return headers([(b":status", status), (b"content-type", kind), *fields], FIRST_STREAM, ends=True)


@asynccontextmanager
async def raw_server(path: Path, serve: Serve) -> AsyncIterator[asyncio.Event]:
    """Accept connections and do with each what `serve` says; yields its event."""
    spoken = asyncio.Event()
    connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await serve(reader, writer, spoken)
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections[asyncio.create_task(run(reader, writer))] = writer
        for task in [task for task in connections if task.done()]:
            del connections[task]

    path.unlink(missing_ok=True)
    server = await asyncio.start_unix_server(accept, path)
    try:
        yield spoken
    finally:
        server.close()
        await asyncio.sleep(0)  # whoever was accepted just now
        for task, writer in connections.items():
            task.cancel()
            writer.close()  # a task that had not begun does not
        await asyncio.gather(*connections, return_exceptions=True)
        path.unlink(missing_ok=True)


def says(greeting: bytes) -> Serve:
    """Say that, and read on for ever."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, spoken: asyncio.Event) -> None:
        writer.write(greeting)
        await writer.drain()
        spoken.set()
        while await reader.read(65536):
            pass

    return serve


def says_and_closes(greeting: bytes) -> Serve:
    """Say that, and hang up."""

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, spoken: asyncio.Event) -> None:
        writer.write(greeting)
        await writer.drain()
        spoken.set()

    return serve


def answers_first_call(answer: bytes, *, closes: bool = False) -> Serve:
    """Speak HTTP/2 until the first call has come; then say that."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, spoken: asyncio.Event) -> None:
        writer.write(SETTINGS)
        await reader.readexactly(len(PREFACE))
        while True:
            head = await reader.readexactly(9)
            await reader.readexactly(int.from_bytes(head[:3], "big"))
            if head[3] == 4 and not head[4] & 1:
                writer.write(SETTINGS_ACK)
            if head[3] == HEADERS_TYPE:
                break
        writer.write(answer)
        await writer.drain()
        spoken.set()
        while not closes and await reader.read(65536):
            pass

    return serve


@define
class Ground:
    """A node with real sockets, and the tools to attack it."""

    node: Node
    directory: Path
    """Where plugins' sockets lie."""
    patience_s: float = PATIENCE_S / 2
    """How long to wait for what has to happen."""
    _looked_at: int = field(default=0)

    @property
    def kubelet_socket(self) -> Path:
        """Where plugins register."""
        return self.directory / "kubelet.sock"

    def path(self, socket: str) -> Path:
        """The path of a plugin's socket."""
        return self.directory / socket

    async def register(
        self, resource: str, socket: str, *, timeout_s: float | None = None, version: str = "v1beta1"
    ) -> RpcFailed | None:
        """Call Register; the refusal, or `None` if it was accepted."""
        try:
            await register(self.kubelet_socket, Registration(version, socket, ResourceName(resource)), timeout_s)
        except RpcFailed as failure:
            return failure
        return None

    async def registers(self, resource: str, socket: str) -> None:
        """Register somebody who is there, and be accepted.

        A machine may be so busy that even then the kubelet's deadline for the dial is over; it is tried again, for as long as is
        waited for anything here.
        """
        deadline = time.monotonic() + self.patience_s
        while (refusal := await self.register(resource, socket)) is not None:
            if _TOO_LATE not in str(refusal) or time.monotonic() >= deadline:
                raise AssertionError(f"{resource} is not registered: {refusal}")

    async def registers_and_gives_up(
        self, resource: str, socket: str, *, when: Awaitable[object], text: str = "Register refused"
    ) -> None:
        """Call Register, hang up when that is done, and return when the node has told of it."""
        told = self.wait_for_text(resource, text)
        registering = asyncio.create_task(self.register(resource, socket))
        await when
        registering.cancel()
        await asyncio.gather(registering, return_exceptions=True)
        await told

    def new_records(self) -> list[Record]:
        """What happened since the last look."""
        records = self.node.transcript.after(self._looked_at, 1_000_000)
        if records:
            self._looked_at = records[-1].number
        return records

    def new_warnings(self, resource: str | None = None) -> list[str]:
        """The warnings since the last look, of one subject if it is named."""
        return [
            record.text
            for record in self.new_records()
            if record.level is RecordLevel.WARNING and resource in (None, record.subject)
        ]

    def wait_until(self, holds: Callable[[Record], bool], *, what: str = "a record") -> asyncio.Future[Record]:
        """Done with the first record, from now on, for which that holds; a `TimeoutError` names `what`."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Record] = loop.create_future()

        def look(record: Record) -> None:
            if not found.done() and holds(record):
                found.set_result(record)

        def give_up() -> None:
            if not found.done():
                found.set_exception(TimeoutError(f"{what} did not come in {self.patience_s:g} s"))

        timer = loop.call_later(self.patience_s, give_up)
        unlisten = self.node.transcript.listen(look)

        def end(_: asyncio.Future[Record]) -> None:
            timer.cancel()
            unlisten()

        found.add_done_callback(end)
        return found

    def wait_for_text(self, resource: str, text: str) -> asyncio.Future[Record]:
        """Done with the first record from now on about that resource that holds the text."""
        return self.wait_until(
            lambda record: record.subject == resource and text in record.text, what=f"{resource}: {text}"
        )


@asynccontextmanager
async def hostile_ground(root: Path, *, manual: bool = False) -> AsyncIterator[Ground]:
    """A fresh node in that directory."""
    async with Node(NodeConfig(root=root, has_status_rounds=False), clock=ManualClock() if manual else None) as node:
        ground = Ground(node, node.root.layout.device_plugins)
        ground.new_records()
        yield ground


@asynccontextmanager
async def good_plugin(ground: Ground, resource: str, *, devices: int = 4) -> AsyncIterator[GoodPlugin]:
    """A plugin that does all as it should, registered and listed."""
    name = resource.rpartition("/")[2]
    script = {
        "resource": resource,
        "socket": f"{name}.sock",
        "devices": [{"id": f"{name}-{number}", "health": "Healthy"} for number in range(devices)],
        "allocate": {"envs": {"IDS": "{ids}"}},
    }
    plugin = GoodPlugin(read_script(script), ground.directory)
    await plugin.serve()
    try:
        listed = ground.wait_for_text(resource, f"listed {devices} devices")
        await ground.registers(resource, plugin.script.socket)
        await listed
        yield plugin
    finally:
        await plugin.stop()


def pod(resource: str, name: str, count: int = 1) -> Pod:
    """A pod that wants devices."""
    limits = {resource: Quantity.of(count)}
    return Pod(
        name, "default", PodUID(name), (), (Container(ContainerName("main"), ContainerKind.APP, limits, limits),)
    )


async def serves_the_next(ground: Ground) -> None:
    """Assert that a good plugin registers, and that a pod gets its devices."""
    async with good_plugin(ground, GOOD):
        await ground.node.status_round()
        assert isinstance(await ground.node.admit(pod(GOOD, "good", 2)), Admitted)
        now = await ground.node.wait_for(lambda now: any(_is_running_good(each) for each in now.pods))
        assert [each.allocated for each in now.resources if each.name == GOOD] == [2]
        assert dict(ground.node.container_spec("good").envs) == {"IDS": "good-0,good-1"}


def _is_running_good(view: PodView) -> bool:
    return (view.name, view.phase) == ("good", "Running")


def on_ground(root: Path, body: Callable[[Ground], Awaitable[None]], *, manual: bool = False) -> None:
    """Run the body of a test on a fresh node."""

    async def run() -> None:
        async with hostile_ground(root, manual=manual) as ground:
            await body(ground)

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
