"""The plugin's side, against our own client of the kubelet's side."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest
from attrs import define, field

from kubelet_sim.errors import RegistrationRefused, RpcFailed, TransportError
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, NumaNode, ResourceName
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions, PreferredAllocationRequest, Registration
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.wire import messages
from kubelet_sim.wire.plugin_client import GrpcPluginConnection
from kubelet_sim.wire.plugin_server import PluginServer
from kubelet_sim.wire.registration_client import register
from kubelet_sim.wire.registration_server import GrpcRegistrationServer
from tests.wire.helpers import call, channel, open_sockets, run, soon, until

A, B = DeviceID("a"), DeviceID("b")


@define
class Behaviour:
    """Answers, or fails if it is told to."""

    failure: RpcFailed | None = None
    asked: list[object] = field(factory=list)
    streams_open: int = 0
    end: asyncio.Event = field(factory=asyncio.Event)

    def _note(self, what: object) -> None:
        self.asked.append(what)
        if self.failure is not None:
            raise self.failure

    async def options(self) -> PluginOptions:
        self._note("options")
        return PluginOptions(pre_start_required=True)

    async def lists(self) -> AsyncGenerator[tuple[Device, ...], None]:
        self.streams_open += 1
        try:
            yield (Device(A, topology=(NumaNode(1),)), Device(B, "Sick"))
            await self.end.wait()
            self._note("end")
        finally:
            self.streams_open -= 1

    async def allocate(self, requests: Sequence[tuple[DeviceID, ...]]) -> AllocateAnswer:
        self._note(list(requests))
        return AllocateAnswer((ContainerResponse(envs={"K": "V"}),))

    async def preferred(self, requests: Sequence[PreferredAllocationRequest]) -> Sequence[Sequence[DeviceID]]:
        self._note(list(requests))
        return [[B]]

    async def pre_start(self, device_ids: tuple[DeviceID, ...]) -> None:
        self._note(device_ids)


def test_every_call_reaches_the_behaviour_and_its_answer_comes_back() -> None:
    """The five methods of the API, with their requests and answers as values."""

    async def body(directory: Path) -> None:
        behaviour, path = Behaviour(), directory / "p.sock"
        server = PluginServer(behaviour)
        await server.serve(path)
        connection = GrpcPluginConnection(str(path))
        await soon(connection.ready())
        assert await soon(connection.get_device_plugin_options()) == PluginOptions(pre_start_required=True)
        (response,) = (await soon(connection.allocate([B, A]))).responses
        assert dict(response.envs) == {"K": "V"}
        lists = connection.list_and_watch()
        assert await soon(anext(lists)) == (Device(A, topology=(NumaNode(1),)), Device(B, "Sick"))
        request = PreferredAllocationRequest((A, B), (A,), 2)
        async with channel(path) as opened:
            prefix = f"/{messages.PLUGIN_SERVICE}/"
            data = messages.encode_preferred_allocation_request(request)
            answer = await call(opened, f"{prefix}GetPreferredAllocation", data)
            assert messages.decode_preferred_allocation_answer(answer) == ((B,),)
            assert await call(opened, f"{prefix}PreStartContainer", messages.encode_pre_start_request([B, A])) == b""
        assert behaviour.asked == ["options", [(B, A)], [request], (B, A)]
        behaviour.end.set()
        with pytest.raises(StopAsyncIteration):
            await soon(anext(lists))
        await connection.close()
        await server.stop()

    run(body)


def test_a_failure_is_the_status_of_its_call() -> None:
    """Code and text come as they are raised, for a stream after its first list as for every other call."""

    async def body(directory: Path) -> None:
        failure = RpcFailed("FailedPrecondition", "not today: 50 %")
        behaviour, path = Behaviour(failure), directory / "p.sock"
        server = PluginServer(behaviour)
        await server.serve(path)
        connection = GrpcPluginConnection(str(path))
        lists = connection.list_and_watch()
        await soon(anext(lists))
        behaviour.end.set()
        for wanted in (anext(lists), connection.get_device_plugin_options(), connection.allocate([A])):
            with pytest.raises(RpcFailed) as caught:
                await soon(wanted)
            assert (caught.value.code, caught.value.description) == (failure.code, failure.description)
        await connection.close()
        await server.stop()

    run(body)


def test_a_stop_cuts_streams_and_the_plugin_may_serve_again() -> None:
    """The kubelet's side sees a broken connection; the behaviour's generator is closed; the socket is gone."""

    async def body(directory: Path) -> None:
        behaviour, path = Behaviour(), directory / "p.sock"
        server = PluginServer(behaviour)
        for _ in range(2):
            await server.serve(path)
            assert server.is_serving
            connection = GrpcPluginConnection(str(path))
            lists = connection.list_and_watch()
            await soon(anext(lists))
            await server.stop()
            assert not server.is_serving
            with pytest.raises(RpcFailed):
                await soon(anext(lists))
            await until(lambda: behaviour.streams_open == 0)
            assert not path.exists()
            await connection.close()
        await server.stop()

    run(body)


def test_a_stream_that_the_kubelet_closes_ends_the_generator() -> None:
    """A plugin learns that its kubelet is gone."""

    async def body(directory: Path) -> None:
        behaviour, path = Behaviour(), directory / "p.sock"
        server = PluginServer(behaviour)
        await server.serve(path)
        connection = GrpcPluginConnection(str(path))
        await soon(anext(connection.list_and_watch()))
        assert behaviour.streams_open == 1
        await connection.close()
        await until(lambda: behaviour.streams_open == 0)
        await server.stop()

    run(body)


def test_a_stale_socket_is_replaced_and_anything_else_is_in_the_way() -> None:
    """A plugin removes what an earlier one left, but no file that is not a socket; it makes its folder."""

    async def body(directory: Path) -> None:
        path = directory / "sub" / "p.sock"
        path.parent.mkdir()
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(path))
        server = PluginServer(Behaviour())
        await server.serve(path)
        connection = GrpcPluginConnection(str(path))
        await soon(connection.ready())
        await connection.close()
        await server.stop()
        path.write_text("not a socket")
        with pytest.raises(TransportError, match="address already in use"):
            await server.serve(path)
        assert path.read_text() == "not a socket"
        with pytest.raises(TransportError, match="not a directory"):
            await server.serve(path / "p.sock")

    run(body)


def test_a_socket_of_somebody_else_stays() -> None:
    """A plugin that stops removes its own file only, whatever took its place (a sweep and another plugin)."""

    async def body(directory: Path) -> None:
        path = directory / "p.sock"
        first, second = PluginServer(Behaviour()), PluginServer(Behaviour())
        await first.serve(path)
        path.rename(directory / "kept")  # so that its inode is not used again
        await second.serve(path)
        await first.stop()
        connection = GrpcPluginConnection(str(path))
        await soon(connection.ready())
        await connection.close()
        await second.stop(leave_socket=True)
        assert path.is_socket()

    run(body)


def test_nothing_is_left_open() -> None:
    """As many sockets are open after a stop as before."""

    async def body(directory: Path) -> None:
        server = PluginServer(Behaviour())
        before = open_sockets()
        await server.serve(directory / "p.sock")
        await server.stop()
        await until(lambda: open_sockets() <= before)

    run(body)


# ------------------------------------------------------------------------------------------------------------ register


REGISTRATION = Registration(
    "v1beta1", "p.sock", ResourceName("example.com/dev"), PluginOptions(pre_start_required=True)
)


def test_register_sends_what_it_is_given() -> None:
    """The kubelet's side gets the same value, options and all; the call returns when it has answered."""
    got: list[Registration] = []

    async def accept(registration: Registration) -> None:
        got.append(registration)

    async def body(directory: Path) -> None:
        server = GrpcRegistrationServer(accept)
        await server.listen(str(directory / "kubelet.sock"))
        await soon(register(directory / "kubelet.sock", REGISTRATION))
        await server.stop()

    run(body)
    assert got == [REGISTRATION]


def test_a_refusal_is_raised_with_its_text() -> None:
    """The kubelet's text comes with the code Unknown (DM-29)."""

    async def refuse(_: Registration) -> None:
        raise RegistrationRefused("no: 50 %", rule="DM-22")

    async def body(directory: Path) -> None:
        server = GrpcRegistrationServer(refuse)
        await server.listen(str(directory / "kubelet.sock"))
        with pytest.raises(RpcFailed) as caught:
            await soon(register(directory / "kubelet.sock", REGISTRATION))
        assert (caught.value.code, caught.value.description) == ("Unknown", "no: 50 %")
        await server.stop()

    run(body)


def test_a_caller_gives_up_after_its_time() -> None:
    """The call ends with DeadlineExceeded, and the kubelet's side is cancelled (DM-30)."""
    cancelled = asyncio.Event()

    async def hang(_: Registration) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def body(directory: Path) -> None:
        server = GrpcRegistrationServer(hang)
        await server.listen(str(directory / "kubelet.sock"))
        with pytest.raises(RpcFailed) as caught:
            await soon(register(directory / "kubelet.sock", REGISTRATION, timeout_s=0.1))
        assert caught.value.code == "DeadlineExceeded"
        await soon(cancelled.wait())
        await server.stop()

    run(body)


@pytest.mark.parametrize("name", ["kubelet.sock", "x" * 120])
def test_no_kubelet_is_a_failure_at_once(name: str) -> None:
    """Nobody listens, or nobody could: Unavailable, without waiting for somebody to come."""

    async def body(directory: Path) -> None:
        with pytest.raises(RpcFailed) as caught:
            await soon(register(os.fspath(directory / name), REGISTRATION))
        assert caught.value.code == "Unavailable"

    run(body)
