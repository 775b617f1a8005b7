from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, NumaNode, ResourceName
from kubelet_sim.model.plugin import Registration
from kubelet_sim.wire.pb import deviceplugin_v1beta1_pb2 as ours
from kubelet_sim.wire.pb._pool import POOL
from kubelet_sim.wire.plugin_client import GrpcPluginCalls
from kubelet_sim.wire.registration_server import GrpcRegistrationServers
from tests.wire.helpers import Context, ScriptedPlugin, channel, run, serving, soon


def second_copy() -> dict[str, type[Message]]:
    """The same messages in protobuf's default pool, as a plugin author's `api_pb2` registers them, unless one has."""
    pool = descriptor_pool.Default()
    try:
        file = pool.FindFileContainingSymbol("v1beta1.Registration")
    except KeyError:
        proto = descriptor_pb2.FileDescriptorProto()
        ours.DESCRIPTOR.CopyToProto(proto)
        proto.name = "api.proto"
        pool.AddSerializedFile(proto.SerializeToString())
        file = pool.FindFileByName("api.proto")
    return {name: message_factory.GetMessageClass(found) for name, found in file.message_types_by_name.items()}


def test_the_default_pool_does_not_know_our_messages() -> None:
    """Importing us leaves the names free for somebody else."""
    script = (
        "from google.protobuf import descriptor_pool\n"
        "import kubelet_sim.wire.messages, kubelet_sim.wire.plugin_client, kubelet_sim.wire.registration_server\n"
        "try:\n"
        "    descriptor_pool.Default().FindMessageTypeByName('v1beta1.Device')\n"
        "except KeyError:\n"
        "    print('free')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert (done.stdout, done.stderr) == ("free\n", "")
    assert POOL.FindMessageTypeByName("v1beta1.Device") is ours.Device.DESCRIPTOR


@pytest.mark.parametrize("implementation", ["upb", "python"])
def test_a_second_copy_loads_in_either_order(implementation: str) -> None:
    """Ours before theirs, and with either implementation of protobuf: both work, and neither is the other's."""
    script = (
        "from tests.wire.test_private_pool import ours, second_copy\n"
        "theirs = second_copy()\n"
        "data = theirs['Device'](ID='a').SerializeToString()\n"
        "print(ours.Device.FromString(data).ID, type(theirs['Device'].FromString(data)) is ours.Device)\n"
        "print(theirs['ContainerAllocateResponse'](envs={'k': 'v'}).envs['k'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        cwd=Path(__file__).parents[2],
        env={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": implementation},
    )
    assert (done.stdout, done.stderr) == ("a False\nv\n", "")


def test_both_copies_talk_in_one_process() -> None:
    """A plugin with messages of its own registers with us and is asked by us, over sockets."""
    theirs = second_copy()
    devices = (Device(DeviceID("a"), "Healthy", (NumaNode(1),)),)

    async def body(directory: Path) -> None:
        registered = asyncio.Queue[Registration]()
        server = GrpcRegistrationServers().server(registered.put)
        await server.listen(str(directory / "kubelet.sock"))
        device = theirs["Device"](ID="a", health="Healthy", topology={"nodes": [{"ID": 1}]})
        their_list = theirs["ListAndWatchResponse"](devices=[device])

        async def send(_context: Context) -> AsyncIterator[bytes]:
            yield their_list.SerializeToString()

        async with channel(directory / "kubelet.sock") as opened:
            method: grpc.aio.UnaryUnaryMultiCallable[Message, Message] = opened.unary_unary(
                "/v1beta1.Registration/Register",
                request_serializer=theirs["RegisterRequest"].SerializeToString,
                response_deserializer=theirs["Empty"].FromString,
            )
            request = theirs["RegisterRequest"](version="v1beta1", endpoint="p.sock", resource_name="a.b/c")
            assert isinstance(await soon(method(request)), theirs["Empty"])
        async with serving(ScriptedPlugin(lists=send), directory / "p.sock"):
            connection = GrpcPluginCalls().connection(str(directory / "p.sock"))
            assert [found async for found in connection.list_and_watch()] == [devices]
            await connection.close()
        await server.stop()
        assert registered.get_nowait() == Registration("v1beta1", "p.sock", ResourceName("a.b/c"))

    run(body)
