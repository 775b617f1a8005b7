from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path

import grpc
import pytest

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, NumaNode
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.wire import messages, plugin_client
from kubelet_sim.wire.plugin_client import GrpcPluginCalls, GrpcPluginConnection
from tests.wire.helpers import (
    Context,
    ScriptedPlugin,
    complaints,
    listening,
    open_sockets,
    run,
    serving,
    short_directory,
    soon,
    until,
)

SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""An HTTP/2 SETTINGS frame without any setting: what a server says first."""
BAD_TEXT = b"\x0a\x03\x0a\x01\xff"
"""A first field with a message whose first field is a text that is not UTF-8: a device's id, a container's variable."""


def connection_to(path: Path) -> GrpcPluginConnection:
    """A connection that is not yet connected."""
    return GrpcPluginCalls().connection(str(path))


async def for_ever(_request: bytes, _context: Context) -> bytes:
    """Never answer."""
    await asyncio.Event().wait()
    return b""


def test_options_and_allocate_travel_as_values() -> None:
    """The plugin gets the ids of one container; the caller gets the plugin's values."""
    response = ContainerResponse(envs={"A": "1"})
    options = PluginOptions(pre_start_required=True)

    async def answer_options(_request: bytes, _context: Context) -> bytes:
        return messages.encode_options(options)

    async def answer_allocate(_request: bytes, _context: Context) -> bytes:
        return messages.encode_allocate_answer(AllocateAnswer((response,)))

    async def body(directory: Path) -> None:
        plugin = ScriptedPlugin(options=answer_options, allocate=answer_allocate)
        async with serving(plugin, directory / "p.sock"):
            connection = connection_to(directory / "p.sock")
            await soon(connection.ready())
            assert await soon(connection.get_device_plugin_options()) == options
            answer = await soon(connection.allocate([DeviceID("b"), DeviceID("a")]))
            await connection.close()
        assert [item.envs for item in answer.responses] == [{"A": "1"}]
        assert answer.responses[0].raw == messages.encode_container_response(response)
        assert [name for name, _ in plugin.requests] == ["GetDevicePluginOptions", "Allocate"]
        assert plugin.requests[0][1] == b""
        assert messages.decode_allocate_request(plugin.requests[1][1]) == (("b", "a"),)

    run(body)


def test_each_connection_dials_as_localhost() -> None:
    """Two connections to one socket are two connections, each with the authority that strict servers take.

    Rules: DM-37, DM-40
    """

    async def body(directory: Path) -> None:
        async with listening(directory / "p.sock", SETTINGS) as accepted:
            pair = [connection_to(directory / "p.sock") for _ in range(2)]
            calls = []
            for connection in pair:
                await soon(connection.ready())
                calls.append(asyncio.create_task(connection.get_device_plugin_options()))
            # A name and a value, each after its length: the library does not compress texts.
            await until(lambda: len(accepted) == 2 and all(b"\x0a:authority\x09localhost" in seen for seen in accepted))
            for connection in pair:
                await connection.close()
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(result, RpcFailed) for result in results)

    run(body)


@pytest.mark.parametrize("name", ["100%#1 ?.sock", "%41.sock", "ü\n=.sock", "x" * 80])
def test_a_socket_may_have_any_name(name: str) -> None:
    """What stands for something in a URI is part of the name, up to a path of 107 bytes."""

    async def body(directory: Path) -> None:
        path = directory / name
        path = path if name[0] != "x" else directory / ("x" * (107 - len(str(directory)) - 1))
        async with serving(ScriptedPlugin(), path):
            connection = connection_to(path)
            await soon(connection.ready())
            await connection.close()

    run(body)


def test_lists_come_one_by_one_until_the_plugin_ends() -> None:
    """Each message is one list, as sent; a stream that ends with OK ends the iteration. Rules: DM-42, DM-51"""
    lists: list[tuple[Device, ...]] = [(), (Device(DeviceID("a"), "Sick", (NumaNode(1),)), Device(DeviceID("a")))]

    async def send(_context: Context) -> AsyncIterator[bytes]:
        for devices in lists:
            yield messages.encode_devices(devices)

    async def body(directory: Path) -> None:
        plugin = ScriptedPlugin(lists=send)
        async with serving(plugin, directory / "p.sock"):
            connection = connection_to(directory / "p.sock")
            await soon(connection.ready())
            received = [devices async for devices in connection.list_and_watch()]
            await connection.close()
        assert received == lists
        assert plugin.requests == [("ListAndWatch", b"")]

    run(body)


@pytest.mark.parametrize(
    "code, name", [(grpc.StatusCode.CANCELLED, "Canceled"), (grpc.StatusCode.INVALID_ARGUMENT, "InvalidArgument")]
)
def test_a_plugins_status_is_the_calls_failure(code: grpc.StatusCode, name: str) -> None:
    """Code and text of the plugin, for a call and for the stream; a plugin's `Canceled` cancels nobody. Rules: DM-29"""

    async def refuse(_request: bytes, context: Context) -> bytes:
        await context.abort(code, "no ü\n")

    async def refuse_after_one(context: Context) -> AsyncIterator[bytes]:
        yield b""
        await context.abort(code, "no ü\n")

    async def body(directory: Path) -> None:
        plugin = ScriptedPlugin(allocate=refuse, lists=refuse_after_one)
        async with serving(plugin, directory / "p.sock"):
            connection = connection_to(directory / "p.sock")
            with pytest.raises(RpcFailed) as call:
                await soon(connection.allocate([]))
            stream = connection.list_and_watch()
            assert await soon(anext(stream)) == ()
            with pytest.raises(RpcFailed) as end:
                await soon(anext(stream))
            await connection.close()
        assert (call.value.code, call.value.description) == (name, "no ü\n")
        assert (end.value.code, end.value.description) == (name, "no ü\n")

    run(body)


def test_a_text_that_is_not_utf8_fails_the_call() -> None:
    """The status names the cause, for a call and for the stream, which is cut. Rules: DM-125"""
    cut = asyncio.Event()

    async def answer(_request: bytes, _context: Context) -> bytes:
        return b"\x0a\x05" + b"\x0a\x03\x0a\x01\xff"

    async def send(_context: Context) -> AsyncIterator[bytes]:
        try:
            yield BAD_TEXT
            await asyncio.Event().wait()
        finally:
            cut.set()

    async def body(directory: Path) -> None:
        async with serving(ScriptedPlugin(allocate=answer, lists=send), directory / "p.sock"):
            connection = connection_to(directory / "p.sock")
            with pytest.raises(RpcFailed) as call:
                await soon(connection.allocate([]))
            with pytest.raises(RpcFailed) as end:
                await soon(anext(connection.list_and_watch()))
            await soon(cut.wait())
            await connection.close()
        for failure in (call.value, end.value):
            assert failure.code == "Internal"
            assert failure.description == (
                "grpc: failed to unmarshal the received message: string field contains invalid UTF-8"
            )

    run(body)


def test_a_list_over_4_mib_ends_the_stream() -> None:
    """One byte too many is too many, 4 MiB are not. Rules: DM-42"""
    limit = 4 * 1024 * 1024

    async def send(_context: Context) -> AsyncIterator[bytes]:
        # An unknown field (number 15) of plain bytes: 1 byte of tag, 4 of length.
        for size in (limit, limit + 1):
            length = size - 5
            yield bytes([0x7A, *(length >> shift & 127 | 128 for shift in (0, 7, 14)), length >> 21]) + bytes(length)

    async def body(directory: Path) -> None:
        async with serving(ScriptedPlugin(lists=send), directory / "p.sock"):
            connection = connection_to(directory / "p.sock")
            stream = connection.list_and_watch()
            assert await soon(anext(stream)) == ()
            with pytest.raises(RpcFailed) as end:
                await soon(anext(stream))
            await connection.close()
        assert end.value.code == "ResourceExhausted"
        assert end.value.description == f"grpc: received message larger than max ({limit + 1} vs. {limit})"

    run(body)


def test_a_flood_is_held_by_flow_control() -> None:
    """Nobody asks for the next list, so the plugin cannot send on: nothing piles up on our side. Rules: DM-60"""

    async def body(directory: Path) -> None:
        sent = 0
        held = asyncio.Event()
        message = messages.encode_devices([Device(DeviceID("x" * 100_000))])

        async def flood(context: Context) -> AsyncIterator[bytes]:
            nonlocal sent
            while True:
                try:
                    await asyncio.wait_for(context.write(message), 1)
                except TimeoutError:
                    held.set()
                    await asyncio.Event().wait()
                sent += 1
            yield b""

        async with serving(ScriptedPlugin(lists=flood), directory / "p.sock"):
            connection = connection_to(directory / "p.sock")
            stream = connection.list_and_watch()
            await soon(anext(stream))
            await soon(held.wait())
            await connection.close()
        assert 1 <= sent < 200

    run(body)


def test_close_fails_what_is_in_progress() -> None:
    """Calls and the stream end with the kubelet's words; so do later ones, and a second close is nothing. Rules: DM-44"""

    async def one_then_silence(_context: Context) -> AsyncIterator[bytes]:
        yield b""
        await asyncio.Event().wait()

    async def body(directory: Path) -> None:
        plugin = ScriptedPlugin(options=for_ever, allocate=for_ever, lists=one_then_silence)
        async with serving(plugin, directory / "p.sock"):
            connection = connection_to(directory / "p.sock")
            waiting, unread = connection.list_and_watch(), connection.list_and_watch()
            for stream in (waiting, unread):
                await soon(anext(stream))
            pending = [
                asyncio.ensure_future(work)
                for work in (connection.get_device_plugin_options(), connection.allocate([]), anext(waiting))
            ]
            await until(lambda: len(plugin.requests) == 4)
            await connection.close()
            await connection.close()
            later = [connection.ready(), connection.allocate([]), anext(unread), anext(connection.list_and_watch())]
            for work in (*pending, *later):
                with pytest.raises(RpcFailed) as failure:
                    await soon(work)
                assert (failure.value.code, failure.value.description) == (
                    "Canceled",
                    "grpc: the client connection is closing",
                )

    run(body)


def test_a_cancelled_caller_is_cancelled() -> None:
    """Our caller's cancellation goes up as such and ends the call at the plugin; the connection stays. Rules: DM-30"""

    async def body(directory: Path) -> None:
        started, left = asyncio.Event(), asyncio.Event()

        async def wait(_request: bytes, _context: Context) -> bytes:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                left.set()
            return b""

        async def silent(_context: Context) -> AsyncIterator[bytes]:
            await wait(b"", _context)
            yield b""

        async with serving(ScriptedPlugin(allocate=wait, lists=silent), directory / "p.sock"):
            connection = connection_to(directory / "p.sock")
            for work in (connection.allocate([]), anext(connection.list_and_watch())):
                started.clear()
                left.clear()
                task = asyncio.ensure_future(work)
                await soon(started.wait())
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await soon(task)
                assert task.cancelled()
                await soon(left.wait())
            assert await soon(connection.get_device_plugin_options()) == PluginOptions()
            await connection.close()

    run(body)


@pytest.mark.parametrize("there", ["nothing", "file", "directory", "long", "nul", "empty", "refused", "mute"])
def test_ready_tries_until_it_is_cancelled(
    there: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whatever is at the path, there is no error of its own, and nothing is left behind. Rules: DM-40"""
    # The library drops an attempt on a mute server when this has passed, or the pause before the next one if longer.
    shorter = {**dict(plugin_client._OPTIONS), "grpc.min_reconnect_backoff_ms": 100}
    monkeypatch.setattr(plugin_client, "_OPTIONS", tuple(shorter.items()))

    async def attempt(directory: Path) -> None:
        path = {"long": f"{directory}/{'x' * 200}", "nul": f"{directory}/a\0b", "empty": ""}.get(
            there, f"{directory}/p.sock"
        )
        if there == "file":
            Path(path).write_text("", encoding="utf-8")
        elif there == "directory":
            Path(path).mkdir()
        elif there == "refused":
            async with listening(Path(path), b""):
                pass
        async with listening(Path(path), b"") if there == "mute" else nullcontext():
            before = open_sockets()
            connection = GrpcPluginCalls().connection(path)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(connection.ready(), 1.3)
            await until(lambda: open_sockets() <= before)
            with pytest.raises(RpcFailed, match="the client connection is closing"):
                await connection.allocate([])

    async def body(directory: Path) -> None:
        # The library keeps a socket of its own as long as anything of it is alive: let there be something.
        async with serving(ScriptedPlugin(), directory / "other.sock"):
            await attempt(directory)

    run(body)
    assert complaints(capfd.readouterr().err) == []
    assert caplog.records == []


def test_close_ends_ready() -> None:
    """A connection that is closed while it dials fails as a call would."""

    async def body(directory: Path) -> None:
        for path in (directory / "p.sock", directory / ("x" * 200)):
            connection = connection_to(path)
            dialling = asyncio.create_task(connection.ready())
            await asyncio.sleep(0)
            await connection.close()
            with pytest.raises(RpcFailed, match="the client connection is closing"):
                await soon(dialling)

    run(body)


def test_a_plugin_that_listens_late_is_found_at_the_next_try() -> None:
    """0.6 s after the dial there is a socket; the try after about 1 s finds it. Rules: DM-27, DM-40"""

    async def body(directory: Path) -> None:
        loop = asyncio.get_running_loop()
        took_s: list[float] = []
        while not took_s or (took_s[-1] >= 2.4 and len(took_s) < 5):  # a busy machine may be in the way, not every time
            connection = connection_to(directory / "p.sock")
            started = loop.time()
            dialling = asyncio.create_task(connection.ready())
            await asyncio.sleep(0.6)  # the wire's own time is under test
            async with serving(ScriptedPlugin(), directory / "p.sock"):
                await soon(dialling)
                took_s.append(loop.time() - started)
                await connection.close()
        assert 0.75 < took_s[-1] < 2.4

    run(body)


def test_a_connection_comes_back_by_itself() -> None:
    """Something serves the path again: a call that is made later reaches it. Rules: DM-35"""

    async def body(directory: Path) -> None:
        path = directory / "p.sock"
        connection = connection_to(path)
        async with serving(ScriptedPlugin(), path):
            await soon(connection.ready())
        with pytest.raises(RpcFailed) as failure:
            await soon(connection.allocate([]))
        assert failure.value.code == "Unavailable"
        async with serving(ScriptedPlugin(), path):
            await soon(connection.ready())
            assert await soon(connection.allocate([])) == AllocateAnswer(())
            await connection.close()

    run(body)


def test_loops_in_several_threads_do_not_disturb_each_other(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """A plugin on one loop and a client on each of two others: every call is answered, and nothing is logged."""
    done: list[int] = []

    def client(path: Path, number: int) -> None:
        async def body() -> None:
            connection = connection_to(path)
            await soon(connection.ready())
            for _ in range(50):
                await soon(connection.allocate([DeviceID("a")]))
            await connection.close()
            done.append(number)

        asyncio.run(body())

    async def body(directory: Path) -> None:
        async with serving(ScriptedPlugin(), directory / "p.sock"):
            threads = [threading.Thread(target=client, args=(directory / "p.sock", n)) for n in range(2)]
            for thread in threads:
                thread.start()
            await soon(asyncio.gather(*(asyncio.to_thread(thread.join, 20) for thread in threads)))

    run(body)
    assert sorted(done) == [0, 1]
    assert complaints(capfd.readouterr().err) == []
    assert caplog.records == []


def test_helpers_make_short_directories() -> None:
    """The directory of a test leaves room for a socket's name in the 107 bytes of a path."""
    with short_directory() as directory:
        assert len(str(directory)) < 40
    assert not directory.exists()
