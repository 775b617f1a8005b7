from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, NumaNode, ResourceName
from kubelet_sim.model.plugin import Registration
from kubelet_sim.wire.pb import deviceplugin_v1beta1_pb2 as ours
from kubelet_sim.wire.pb import podresources_v1_pb2 as v1
from kubelet_sim.wire.pb import podresources_v1alpha1_pb2 as v1alpha1
from kubelet_sim.wire.pb._pool import POOL
from kubelet_sim.wire.plugin_client import GrpcPluginCalls
from kubelet_sim.wire.registration_server import GrpcRegistrationServers
from tests.patience import PATIENCE_S
from tests.wire.helpers import Context, ScriptedPlugin, channel, run, serving, soon
from tests.wire.test_pod_resources import PODS, Pods


def second_copy(module: Any = ours, service: str = "Registration") -> dict[str, type[Message]]:
    """The same messages in protobuf's default pool, as a plugin author's `api_pb2` registers them, unless one has."""
    pool = descriptor_pool.Default()
    package = module.DESCRIPTOR.package
    try:
        file = pool.FindFileContainingSymbol(f"{package}.{service}")
    except KeyError:
        proto = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(proto)
        proto.name = f"{package}/api.proto"
        pool.AddSerializedFile(proto.SerializeToString())
        file = pool.FindFileByName(proto.name)
    return {name: message_factory.GetMessageClass(found) for name, found in file.message_types_by_name.items()}


def test_the_default_pool_does_not_know_our_messages() -> None:
    """Importing us leaves the names free for somebody else."""
    script = (
        "from google.protobuf import descriptor_pool\n"
        "import kubelet_sim.wire.messages, kubelet_sim.wire.plugin_client, kubelet_sim.wire.registration_server\n"
        "import kubelet_sim.wire.pod_resources_client, kubelet_sim.wire.pod_resources_server\n"
        "for name in ('v1beta1.Device', 'v1.PodResources', 'v1alpha1.PodResources'):\n"
        "    try:\n"
        "        descriptor_pool.Default().FindMessageTypeByName(name)\n"
        "    except KeyError:\n"
        "        print('free')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.stdout, done.stderr) == ("free\nfree\nfree\n", "")
    assert POOL.FindMessageTypeByName("v1beta1.Device") is ours.Device.DESCRIPTOR


@pytest.mark.parametrize("implementation", ["upb", "python"])
def test_a_second_copy_loads_in_either_order(implementation: str) -> None:
    """Ours before theirs, and with either implementation of protobuf: both work, and neither is the other's."""
    script = (
        "from tests.wire.test_private_pool import ours, second_copy, v1, v1alpha1\n"
        "theirs = second_copy()\n"
        "data = theirs['Device'](ID='a').SerializeToString()\n"
        "print(ours.Device.FromString(data).ID, type(theirs['Device'].FromString(data)) is ours.Device)\n"
        "print(theirs['ContainerAllocateResponse'](envs={'k': 'v'}).envs['k'])\n"
        "for module in (v1, v1alpha1):\n"
        "    theirs = second_copy(module, 'PodResourcesLister')\n"
        "    data = theirs['PodResources'](name='n').SerializeToString()\n"
        "    print(module.PodResources.FromString(data).name, theirs['PodResources'] is module.PodResources)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=Path(__file__).parents[2],
        env={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": implementation},
    )
    assert (done.stdout, done.stderr) == ("a False\nv\nn False\nn False\n", "")


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


@pytest.mark.parametrize("module", [v1, v1alpha1], ids=["v1", "v1alpha1"])
def test_an_exporter_with_messages_of_its_own_reads_ours(module: Any) -> None:
    """A monitoring agent in our process asks our server with its own copy of the API. Rules: PR-8, PR-9"""
    theirs = second_copy(module, "PodResourcesLister")

    async def body(directory: Path) -> None:
        server = Pods().server()
        await server.listen(directory / "kubelet.sock")
        async with channel(directory / "kubelet.sock") as opened:
            method: grpc.aio.UnaryUnaryMultiCallable[Message, Any] = opened.unary_unary(
                f"/{module.DESCRIPTOR.package}.PodResourcesLister/List",
                request_serializer=theirs["ListPodResourcesRequest"].SerializeToString,
                response_deserializer=theirs["ListPodResourcesResponse"].FromString,
            )
            answer = await soon(method(theirs["ListPodResourcesRequest"]()))
        await server.stop()
        assert [pod.name for pod in answer.pod_resources] == [pod.name for pod in PODS]

    run(body)
