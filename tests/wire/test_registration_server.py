from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import Literal

import grpc
import pytest

from kubelet_sim.errors import RegistrationRefused, RpcFailed, TransportError
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.plugin import PluginOptions, Registration
from kubelet_sim.wire import messages
from kubelet_sim.wire.plugin_client import GrpcPluginCalls
from kubelet_sim.wire.registration_server import GrpcRegistrationServers
from tests.wire.helpers import call, channel, complaints, register, run, soon, until

Appears = Literal["bind", "rename"]
BOTH = pytest.mark.parametrize("appears", ["bind", "rename"])
REGISTRATION = Registration("v1beta1", "gpu.sock", ResourceName("example.com/gpu"), PluginOptions(True, False))


async def accept(_registration: Registration) -> None:
    """Register every plugin."""


def is_refused(path: Path) -> bool:
    """Whether a socket file is there on which nobody listens."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            return True
        return False


@BOTH
def test_a_registration_arrives_as_sent(appears: Appears) -> None:
    """Every field reaches the node, the plugin gets OK, and the directory holds one file. Rules: DM-10, DM-11, DM-21"""

    async def body(directory: Path) -> None:
        received: list[Registration] = []

        async def keep(registration: Registration) -> None:
            received.append(registration)

        server = GrpcRegistrationServers(appears=appears).server(keep)
        await server.listen(str(directory / "kubelet.sock"))
        assert [path.name for path in directory.iterdir()] == ["kubelet.sock"]
        umask = os.umask(0)
        os.umask(umask)
        assert (directory / "kubelet.sock").stat().st_mode & 0o777 == 0o777 & ~umask
        answer = await soon(register(directory / "kubelet.sock", messages.encode_registration(REGISTRATION)))
        await server.stop()
        assert answer == b""
        assert received == [REGISTRATION]
        assert list(directory.iterdir()) == []

    run(body)


def test_a_refusal_reaches_the_plugin_word_for_word() -> None:
    """Code Unknown and the kubelet's text, whatever characters a plugin's name brings into it. Rules: DM-29"""
    text = 'the ResourceName "ü\n\x00%41" is invalid'

    async def refuse(_registration: Registration) -> None:
        raise RegistrationRefused(text, rule="DM-23")

    async def body(directory: Path) -> None:
        server = GrpcRegistrationServers().server(refuse)
        await server.listen(str(directory / "kubelet.sock"))
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await soon(register(directory / "kubelet.sock", b""))
        await server.stop()
        assert failure.value.code() is grpc.StatusCode.UNKNOWN
        assert failure.value.details() == text

    run(body)


@pytest.mark.parametrize(
    "request_bytes, cause",
    [
        (b"\x0a\x01\xff", "string field contains invalid UTF-8"),
        (b"\x0a\x05abc", "proto: cannot parse invalid wire-format data"),
    ],
)
def test_a_request_that_cannot_be_decoded_is_answered(
    request_bytes: bytes, cause: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """The plugin learns what is wrong; nobody gets a traceback."""

    async def body(directory: Path) -> None:
        server = GrpcRegistrationServers().server(accept)
        await server.listen(str(directory / "kubelet.sock"))
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await soon(register(directory / "kubelet.sock", request_bytes))
        await server.stop()
        assert failure.value.code() is grpc.StatusCode.INTERNAL
        assert failure.value.details() == f"grpc: error unmarshalling request: {cause}"

    run(body)
    assert caplog.records == []
    assert complaints(capfd.readouterr().err) == []


@pytest.mark.parametrize(
    "method, text",
    [
        ("/v1beta1.DevicePlugin/GetDevicePluginOptions", "unknown service v1beta1.DevicePlugin"),
        ("/grpc.health.v1.Health/Check", "unknown service grpc.health.v1.Health"),
        ("/v1beta1.Registration/Deregister", "unknown method Deregister for service v1beta1.Registration"),
    ],
)
def test_other_methods_are_unimplemented(method: str, text: str) -> None:
    """There is one method; a plugin that names `kubelet.sock` as its own gets this from its Register. Rules: DM-11, DM-25"""

    async def body(directory: Path) -> None:
        server = GrpcRegistrationServers().server(accept)
        await server.listen(str(directory / "kubelet.sock"))
        async with channel(directory / "kubelet.sock") as opened:
            with pytest.raises(grpc.aio.AioRpcError) as failure:
                await soon(call(opened, method, b""))
        await server.stop()
        assert failure.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert failure.value.details() == text

    run(body)


@pytest.mark.parametrize(
    "authority",
    [
        "localhost",
        "[::]:50051",
        "/run/device-plugins/kubelet.sock",
        "%2Frun%2Fkubelet.sock",
        "unix:///run/kubelet.sock",
    ],
)
def test_any_authority_is_accepted(authority: str) -> None:
    """What plugins' libraries derive from a socket path differs, and none of it matters."""

    async def body(directory: Path) -> None:
        server = GrpcRegistrationServers().server(accept)
        await server.listen(str(directory / "kubelet.sock"))
        assert await soon(register(directory / "kubelet.sock", b"", default_authority=authority)) == b""
        await server.stop()

    run(body)


@pytest.mark.parametrize("leaves", ["cancel", "deadline", "close"])
def test_a_caller_that_leaves_cancels_its_registration(leaves: str, caplog: pytest.LogCaptureFixture) -> None:
    """The coroutine under way is cancelled when its caller gives up; others go on. Rules: DM-30, DM-39"""

    async def body(directory: Path) -> None:
        entered, cancelled = asyncio.Event(), asyncio.Event()

        async def wait(registration: Registration) -> None:
            if registration.version != "":
                return
            entered.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

        path = directory / "kubelet.sock"
        server = GrpcRegistrationServers().server(wait)
        await server.listen(str(path))
        async with channel(path) as opened:

            async def come(patience_s: float) -> asyncio.Task[bytes]:
                pending = asyncio.create_task(call(opened, "/v1beta1.Registration/Register", b"", patience_s))
                has_come = asyncio.create_task(entered.wait())
                await soon(asyncio.wait({pending, has_come}, return_when=asyncio.FIRST_COMPLETED))
                has_come.cancel()
                # On a busy machine a call's time can be over before it gets here.
                return pending if entered.is_set() else await come(patience_s * 3)

            pending = await come(0.3 if leaves == "deadline" else 30)
            assert await soon(register(path, messages.encode_registration(REGISTRATION))) == b""
            if leaves == "cancel":
                pending.cancel()
            elif leaves == "close":
                await opened.close()
            await soon(cancelled.wait())
            await asyncio.gather(pending, return_exceptions=True)
        await server.stop()

    run(body)
    assert caplog.records == []


@BOTH
@pytest.mark.parametrize("there", ["file", "directory", "dangling", "live"])
def test_whatever_is_at_the_path_is_in_the_way(appears: Appears, there: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is overwritten or removed; the words are those of the kubelet's exit. Rules: DM-9"""

    async def body(directory: Path) -> None:
        path = directory / "kubelet.sock"
        servers = GrpcRegistrationServers(appears=appears)
        owner = servers.server(accept)
        if there == "file":
            path.write_text("mine", encoding="utf-8")
        elif there == "directory":
            path.mkdir()
        elif there == "dangling":
            path.symlink_to(directory / "nowhere")
        else:
            await owner.listen(str(path))
        server = servers.server(accept)
        before = path.lstat()
        with pytest.raises(TransportError) as failure:
            await server.listen(str(path))
        await server.stop()
        assert str(failure.value) == f"listen unix {path}: bind: address already in use"
        assert path.lstat().st_ino == before.st_ino
        assert [entry.name for entry in directory.iterdir()] == ["kubelet.sock"]
        if there == "live":
            assert await soon(register(path, b"")) == b""
        await owner.stop()

    run(body)
    assert complaints(capfd.readouterr().err) == []


@pytest.mark.parametrize(
    "name, cause",
    [
        ("none/kubelet.sock", "no such file or directory"),
        ("file/kubelet.sock", "not a directory"),
        ("x" * 108, "invalid argument"),
    ],
)
def test_a_path_that_cannot_be_bound_is_named(name: str, cause: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The cause is the system's; nothing goes to stderr behind our back. Rules: DM-9"""

    async def body(directory: Path) -> None:
        (directory / "file").write_text("", encoding="utf-8")
        server = GrpcRegistrationServers().server(accept)
        with pytest.raises(TransportError) as failure:
            await server.listen(str(directory / name))
        assert str(failure.value) == f"listen unix {directory / name}: bind: {cause}"

    run(body)
    assert complaints(capfd.readouterr().err) == []


@BOTH
def test_stop_cuts_calls_and_connections(
    appears: Appears, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Calls in progress end on both sides, idle connections close, and the file is gone. Rules: DM-14, DM-16"""

    async def body(directory: Path) -> None:
        entered, cancelled = asyncio.Event(), asyncio.Event()

        async def wait(_registration: Registration) -> None:
            entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        path = directory / "kubelet.sock"
        server = GrpcRegistrationServers(appears=appears).server(wait)
        await server.listen(str(path))
        async with channel(path) as busy, channel(path) as idle:
            await soon(idle.channel_ready())
            pending = asyncio.create_task(call(busy, "/v1beta1.Registration/Register", b""))
            await soon(entered.wait())
            await soon(server.stop())
            await soon(cancelled.wait())
            with pytest.raises(grpc.aio.AioRpcError):
                await soon(pending)
            await until(lambda: idle.get_state() is not grpc.ChannelConnectivity.READY)
        assert list(directory.iterdir()) == []
        await server.stop()

    run(body)
    assert caplog.records == []
    assert complaints(capfd.readouterr().err) == []


@BOTH
def test_a_dead_kubelet_leaves_its_socket_file(appears: Appears) -> None:
    """The same file stays, under the same name, connecting to it is refused, and calls were cut. Rules: DM-16"""

    async def body(directory: Path) -> None:
        path = directory / "kubelet.sock"
        server = GrpcRegistrationServers(appears=appears).server(accept)
        await server.listen(str(path))
        before = path.lstat()
        await soon(server.stop(leave_socket=True))
        await until(lambda: is_refused(path))
        assert path.lstat().st_ino == before.st_ino
        assert path.lstat().st_ctime_ns == before.st_ctime_ns
        assert [entry.name for entry in directory.iterdir()] == ["kubelet.sock"]

    run(body)


@BOTH
@pytest.mark.parametrize("leave_socket", [True, False])
def test_stop_removes_no_file_of_somebody_else(appears: Appears, leave_socket: bool) -> None:
    """A file that took the place of our socket stays as it is, and so does the next kubelet's socket. Rules: DM-13"""

    async def body(directory: Path) -> None:
        path = directory / "kubelet.sock"
        servers = GrpcRegistrationServers(appears=appears)
        first, second = servers.server(accept), servers.server(accept)
        await first.listen(str(path))
        kept = directory / "kept"
        path.rename(kept)
        await second.listen(str(path))
        await first.stop(leave_socket=leave_socket)
        assert await soon(register(path, b"")) == b""
        path.unlink()
        path.write_text("mine", encoding="utf-8")
        await second.stop(leave_socket=leave_socket)
        assert path.read_text(encoding="utf-8") == "mine"

    run(body)


def test_a_renamed_socket_can_be_dialled_when_it_is_seen() -> None:
    """Whoever sees the name can register at once, at any moment of the start. Rules: DM-20"""

    async def body(directory: Path) -> None:
        path = directory / "kubelet.sock"
        seen: list[bool] = []

        async def watch() -> None:
            while not path.exists():  # noqa: ASYNC110 - a file sets no event
                await asyncio.sleep(0)
            seen.append(is_refused(path))

        watcher = asyncio.create_task(watch())
        server = GrpcRegistrationServers(appears="rename").server(accept)
        await server.listen(str(path))
        await soon(watcher)
        await server.stop()
        assert seen == [False]

    run(body)


def test_a_socket_that_is_put_in_its_way_is_replaced() -> None:
    """By that, an inode number can be kept from others until the new socket is bound. Rules: DM-17"""

    async def body(directory: Path) -> None:
        folder = directory / "device-plugins"
        folder.mkdir()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(directory / "dead"))

        def put(path: Path | None) -> None:
            assert path is not None
            (directory / "dead").rename(path)

        server = GrpcRegistrationServers().server(accept)
        await server.listen(str(folder / "kubelet.sock"), put)
        assert [path.name for path in folder.iterdir()] == ["kubelet.sock"]
        assert not is_refused(folder / "kubelet.sock")
        await server.stop()
        assert list(folder.iterdir()) == []

    run(body)


def test_what_cannot_be_replaced_is_removed(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is left of a start that failed. Rules: DM-9"""

    async def body(directory: Path) -> None:
        def put(path: Path | None) -> None:
            assert path is not None
            path.touch()

        server = GrpcRegistrationServers().server(accept)
        with pytest.raises(TransportError, match=r"kubelet\.sock: bind: "):
            await server.listen(str(directory / "kubelet.sock"), put)
        assert list(directory.iterdir()) == []

    run(body)
    capfd.readouterr()  # the library's own words


def test_nothing_is_put_where_plugins_see_it() -> None:
    """A socket that is bound under its own name appears once. Rules: DM-17"""

    async def body(directory: Path) -> None:
        told: list[Path | None] = []
        server = GrpcRegistrationServers(appears="bind").server(accept)
        await server.listen(str(directory / "kubelet.sock"), told.append)
        await server.stop()
        assert told == [None]

    run(body)


def test_a_kubelet_can_dial_itself() -> None:
    """A plugin that names `kubelet.sock` as its own is dialled, and then has no such service. Rules: DM-25"""

    async def body(directory: Path) -> None:
        server = GrpcRegistrationServers().server(accept)
        await server.listen(str(directory / "kubelet.sock"))
        connection = GrpcPluginCalls().connection(str(directory / "kubelet.sock"))
        await soon(connection.ready())
        with pytest.raises(RpcFailed, match=r"code = Unimplemented desc = unknown service v1beta1\.DevicePlugin"):
            await soon(connection.get_device_plugin_options())
        await connection.close()
        await server.stop()

    run(body)
