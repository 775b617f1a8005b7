"""A scripted plugin on a real socket, and small tools for tests with real gRPC."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import grpc
from attrs import define, field

from kubelet_sim.wire import messages, noise, unix_socket
from tests.patience import PATIENCE_S

T = TypeVar("T")

Context = grpc.aio.ServicerContext[bytes, bytes]
Unary = Callable[[bytes, Context], Awaitable[bytes]]
Stream = Callable[[Context], AsyncIterator[bytes]]


@contextmanager
def short_directory() -> Iterator[Path]:
    """A new directory whose path leaves room for a socket's name."""
    path = tempfile.mkdtemp(prefix="ks-", dir="/tmp")
    try:
        yield Path(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def run(body: Callable[[Path], Coroutine[Any, Any, T]]) -> T:
    """Run a test's body with a directory for its sockets."""
    with short_directory() as directory:
        return asyncio.run(asyncio.wait_for(body(directory), 2 * PATIENCE_S))


async def soon(awaitable: Awaitable[T]) -> T:
    """Wait for something that has to happen; fail the test if it does not."""
    return await asyncio.wait_for(awaitable, PATIENCE_S)


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds that nobody announces."""

    async def poll() -> None:
        while not holds():  # noqa: ASYNC110 - nobody would set an event
            await asyncio.sleep(0.01)

    await soon(poll())


async def _empty(_request: bytes, _context: Context) -> bytes:
    return b""


async def _one_empty_list(_context: Context) -> AsyncIterator[bytes]:
    yield b""


@define
class ScriptedPlugin:
    """What a plugin answers, and what it saw."""

    options: Unary = _empty
    allocate: Unary = _empty
    lists: Stream = _one_empty_list
    requests: list[tuple[str, bytes]] = field(factory=list)
    peers: list[str] = field(factory=list)

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        """Find the method, as a generic handler of the library does."""
        name = details.method.removeprefix(f"/{messages.PLUGIN_SERVICE}/")
        if name == "ListAndWatch":
            return grpc.unary_stream_rpc_method_handler(self._lists)
        scripts = {"GetDevicePluginOptions": self.options, "Allocate": self.allocate}
        if name not in scripts:
            return None
        return grpc.unary_unary_rpc_method_handler(self._unary(name, scripts[name]))

    def _unary(self, name: str, script: Unary) -> Unary:
        async def answer(request: bytes, context: Context) -> bytes:
            self.requests.append((name, request))
            self.peers.append(context.peer())
            return await script(request, context)

        return answer

    async def _lists(self, request: bytes, context: Context) -> AsyncIterator[bytes]:
        self.requests.append(("ListAndWatch", request))
        async for message in self.lists(context):
            yield message


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, plugin: ScriptedPlugin) -> None:
        self._plugin = plugin

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        return self._plugin.service(handler_call_details)


@asynccontextmanager
async def serving(plugin: ScriptedPlugin, path: Path) -> AsyncIterator[grpc.aio.Server]:
    """Serve the plugin at that path for as long as the context lasts."""
    noise.hush(asyncio.get_running_loop())  # the plugin shares our process here
    server = grpc.aio.server(options=[("grpc.max_send_message_length", -1)])
    server.add_generic_rpc_handlers([_Handler(plugin)])
    server.add_insecure_port(unix_socket.target(path))
    await server.start()
    try:
        yield server
    finally:
        await server.stop(None)


@asynccontextmanager
async def listening(path: Path, greeting: bytes) -> AsyncIterator[list[bytearray]]:
    """Accept connections, greet, and read on; yields what came on each connection so far."""
    connections: list[bytearray] = []
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        seen = bytearray()
        connections.append(seen)
        try:
            writer.write(greeting)
            while data := await reader.read(4096):
                seen += data
        except (asyncio.CancelledError, ConnectionError):
            pass  # the end of the test
        finally:
            writer.close()

    server = await asyncio.start_unix_server(serve, path)
    try:
        yield connections
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def channel(path: Path, **options: str | int) -> AsyncIterator[grpc.aio.Channel]:
    """A client as a plugin might have one."""
    arguments = [(f"grpc.{name}", value) for name, value in ({"use_local_subchannel_pool": 1} | options).items()]
    async with grpc.aio.insecure_channel(unix_socket.target(path), options=arguments) as opened:
        yield opened


async def call(opened: grpc.aio.Channel, method: str, request: bytes, timeout_s: float = PATIENCE_S) -> bytes:
    """One unary call, bytes in and out."""
    multi: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = opened.unary_unary(method)
    return await multi(request, timeout=timeout_s)


async def register(path: Path, request: bytes, **options: str | int) -> bytes:
    """Call Register on a connection of its own."""
    async with channel(path, **options) as opened:
        return await call(opened, f"/{messages.REGISTRATION_SERVICE}/Register", request)


def complaints(text: str) -> list[str]:
    """What was written to stderr, without the news that newer gRPC libraries tell of a peer that stops: `I1129 …`."""
    return [line for line in text.splitlines() if not re.match(r"I\d{4} ", line)]


def open_sockets() -> set[str]:
    """The sockets that this process has open."""
    names = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the folder's own, closed by now
            names.add(str(descriptor.readlink()))
    return {name for name in names if name.startswith("socket:")}
