"""The plugin registration API, both sides, over a real socket."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from attrs import define, field

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.plugin import PluginInfo
from kubelet_sim.wire.plugin_server import PluginServer
from kubelet_sim.wire.registry_client import GrpcRegistryCalls
from tests.wire.helpers import call, channel, listening, open_sockets, run, soon, until

INFO = PluginInfo("DevicePlugin", "example.com/gpu", "/run/gpu.sock", ("v1alpha", "v1beta1"))
FOREIGN = PluginInfo("\u202e", "\x00\n", "../x", ("", "v1 beta"))


@define
class Registry:
    """Answers, or fails if it is told to, or never does."""

    described: PluginInfo = INFO
    failure: RpcFailed | None = None
    answers: asyncio.Event = field(factory=asyncio.Event)
    told: list[tuple[bool, str]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.answers.set()

    async def info(self) -> PluginInfo:
        await self.answers.wait()
        if self.failure is not None:
            raise self.failure
        return self.described

    async def notified(self, *, registered: bool, error: str) -> None:
        self.told.append((registered, error))
        await self.answers.wait()
        if self.failure is not None:
            raise self.failure


@pytest.mark.parametrize("info", [INFO, FOREIGN, PluginInfo("", "")])
def test_what_a_plugin_says_and_is_told_travels_as_it_is(info: PluginInfo) -> None:
    """Nothing is judged on the way. Rules: DM-148, DM-151"""
    registry = Registry(info)

    async def body(directory: Path) -> None:
        server, path = PluginServer(None, registry), directory / "reg.sock"
        await server.serve(path)
        connection = GrpcRegistryCalls().connection(str(path))
        await soon(connection.ready())
        assert await soon(connection.get_info()) == info
        await soon(connection.notify(registered=False, error="w\x00hy \u202e"))
        await soon(connection.notify(registered=True, error=""))
        await connection.close()
        await server.stop()

    run(body)
    assert registry.told == [(False, "w\x00hy \u202e"), (True, "")]


def test_failures_keep_their_status() -> None:
    """Of either call. Rules: DM-148"""

    async def body(directory: Path) -> None:
        server, path = PluginServer(None, Registry(failure=RpcFailed("Internal", "no"))), directory / "reg.sock"
        await server.serve(path)
        connection = GrpcRegistryCalls().connection(str(path))
        for work in (connection.get_info(), connection.notify(registered=True, error="")):
            with pytest.raises(RpcFailed, match="rpc error: code = Internal desc = no"):
                await soon(work)
        await connection.close()
        await server.stop()

    run(body)


def test_the_plugin_is_told_how_long_the_kubelet_waits() -> None:
    """A GetInfo that is not answered ends after 1 s, with the library's own deadline. Rules: DM-148"""
    registry = Registry()
    registry.answers.clear()

    async def body(directory: Path) -> float:
        server, path = PluginServer(None, registry), directory / "reg.sock"
        await server.serve(path)
        connection = GrpcRegistryCalls().connection(str(path))
        await soon(connection.ready())
        began = time.monotonic()
        with pytest.raises(RpcFailed, match="DeadlineExceeded"):
            await soon(connection.get_info())
        took = time.monotonic() - began
        await connection.close()
        await server.stop()
        return took

    assert run(body) >= 0.9


def test_one_service_or_both() -> None:
    """A socket has the services that it was given; the other one is not implemented there. Rules: DM-148"""

    async def body(directory: Path) -> None:
        server, path = PluginServer(None, Registry()), directory / "reg.sock"
        await server.serve(path)
        async with channel(path) as opened:
            assert await soon(call(opened, "/pluginregistration.Registration/GetInfo", b"")) != b""
            for method in (
                "/pluginregistration.v1.Registration/GetInfo",
                "/pluginregistration.Registration/Get",
                "/v1beta1.DevicePlugin/GetDevicePluginOptions",
            ):
                with pytest.raises(Exception, match="UNIMPLEMENTED"):
                    await soon(call(opened, method, b""))
        await server.stop()

    run(body)


def test_the_authority_is_localhost() -> None:
    """As for every connection to a plugin, whatever the socket's path is. Rules: DM-40, DM-148"""

    async def body(directory: Path) -> None:
        path = directory / "100%#.sock"
        async with listening(path, bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])) as accepted:
            connection = GrpcRegistryCalls().connection(str(path))
            await soon(connection.ready())
            asking = asyncio.ensure_future(connection.get_info())
            await until(lambda: bool(accepted) and b"\x0a:authority\x09localhost" in accepted[0])
            await connection.close()
            with pytest.raises(RpcFailed):
                await soon(asking)

    run(body)


def test_nothing_is_left_open() -> None:
    """Closing a connection that never came about leaves no socket, and may be repeated."""
    before = open_sockets()

    async def body(directory: Path) -> None:
        connection = GrpcRegistryCalls().connection(str(directory / "nobody.sock"))
        waiting = asyncio.ensure_future(connection.ready())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await connection.close()
        await connection.close()

    run(body)
    assert open_sockets() <= before
