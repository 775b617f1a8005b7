"""The pod resources API over a real socket: server and client."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import grpc
import pytest
from attrs import define, evolve, field

from kubelet_sim.errors import RpcFailed, TransportError, UsageError
from kubelet_sim.model.ids import DeviceID, NumaNode, ResourceName
from kubelet_sim.model.pod_resources import (
    AllocatableResources,
    ApiVersion,
    ClaimedDevice,
    ContainerResources,
    DeviceEntry,
    DynamicResource,
    MemoryEntry,
    PodResources,
)
from kubelet_sim.profiles import V1_36, Offer, Profile, profile_of
from kubelet_sim.wire.pb import podresources_v1_pb2 as v1
from kubelet_sim.wire.pb import podresources_v1alpha1_pb2 as v1alpha1
from kubelet_sim.wire.pod_resources_client import PodResourcesClient
from kubelet_sim.wire.pod_resources_server import PodResourcesServer
from tests.wire.helpers import call, channel, complaints, run, soon, until

GPU = ResourceName("example.com/gpu")
NODE_0 = DeviceEntry(GPU, (DeviceID("a"),), (NumaNode(0),))
NO_NODE = DeviceEntry(GPU, (DeviceID("b"),))
NO_NODES = DeviceEntry(GPU, (DeviceID("c"), DeviceID("d")), ())
CLAIM = DynamicResource(
    "claim", "ns", (ClaimedDevice(("v.com/c=1",), "driver", "pool", "dev", None), ClaimedDevice((), "", "", "", ""))
)
MEMORY = MemoryEntry("memory", 1 << 40, (NumaNode(0), NumaNode(1)))
POD = PodResources(
    "pod \x1b\n",
    "ns",
    (
        ContainerResources("one", (NODE_0, NO_NODE, NO_NODES), (0, 3), (MEMORY,), (CLAIM,)),
        ContainerResources("nothing"),
    ),
)
PODS = (POD, PodResources("empty", "default"))
ALLOCATABLE = AllocatableResources((NODE_0, NO_NODE), (0, 1, 2), (MEMORY,))


@define
class Pods:
    """Two pods, and what a server asked."""

    asked: list[tuple[str, ...]] = field(factory=list)
    now_s: float = 0.0
    counts: Counter[tuple[str, str]] = field(factory=Counter)
    rejected: int = 0

    async def listed(self, version: ApiVersion) -> Sequence[PodResources]:
        self.asked.append(("list", version.value))
        return PODS

    async def found(self, name: str, namespace: str) -> PodResources | None:
        self.asked.append(("get", name, namespace))
        return next((pod for pod in PODS if (pod.name, pod.namespace) == (name, namespace)), None)

    async def allocatable(self) -> AllocatableResources:
        self.asked.append(("allocatable",))
        return ALLOCATABLE

    def count(self, name: str, version: str) -> None:
        self.counts[name, version] += 1

    def reject(self) -> None:
        self.rejected += 1

    def server(self, profile: Profile = V1_36) -> PodResourcesServer:
        """A server of the profile, on a clock that stands still."""
        return PodResourcesServer(self, profile, now=lambda: self.now_s, count=self.count, rejected=self.reject)


def test_everything_arrives_as_it_is() -> None:
    """All three methods carry every field there is. Rules: PR-4, PR-5, PR-8, PR-16, PR-20, PR-28, PR-29"""

    async def body(directory: Path) -> None:
        pods = Pods()
        server = pods.server()
        await server.listen(directory / "kubelet.sock")
        async with PodResourcesClient(directory / "kubelet.sock") as client:
            assert await soon(client.list()) == PODS
            assert await soon(client.get(POD.name, POD.namespace)) == POD
            assert await soon(client.get("empty")) == PODS[1]
            assert await soon(client.allocatable()) == ALLOCATABLE
        await server.stop()
        assert pods.asked == [("list", "v1"), ("get", POD.name, "ns"), ("get", "empty", "default"), ("allocatable",)]

    run(body)


def test_the_older_version_has_names_and_ids_only() -> None:
    """Topology, CPUs, memory and claims have no room in v1alpha1. Rules: PR-9, PR-31"""

    async def body(directory: Path) -> None:
        server = Pods().server()
        await server.listen(directory / "kubelet.sock")
        async with PodResourcesClient(directory / "kubelet.sock") as client:
            found = await soon(client.list(ApiVersion.V1ALPHA1))
        await server.stop()
        bare = tuple(evolve(entry, numa_nodes=None) for entry in (NODE_0, NO_NODE, NO_NODES))
        containers = (ContainerResources("one", bare), ContainerResources("nothing"))
        assert found == (evolve(POD, containers=containers), PODS[1])

    run(body)


def test_node_0_is_a_topology_with_an_empty_node() -> None:
    """Only the presence of the topology tells node 0 from no node at all. Rules: PR-10"""

    async def body(directory: Path) -> None:
        server = Pods().server()
        await server.listen(directory / "kubelet.sock")
        async with channel(directory / "kubelet.sock") as opened:
            data = await soon(call(opened, "/v1.PodResourcesLister/List", b""))
        await server.stop()
        first, second, third = v1.ListPodResourcesResponse.FromString(data).pod_resources[0].containers[0].devices
        assert first.HasField("topology")
        assert first.topology.SerializeToString() == b"\x0a\x00"
        assert not second.HasField("topology")
        assert third.HasField("topology")
        assert third.topology.SerializeToString() == b""

    run(body)


def test_ten_calls_at_once_and_no_more() -> None:
    """The bucket is the whole server's, fills with the clock, and what it refuses is not counted. Rules: PR-6, PR-32"""

    async def body(directory: Path) -> None:
        pods = Pods()
        server = pods.server()
        await server.listen(directory / "kubelet.sock")
        async with (
            PodResourcesClient(directory / "kubelet.sock") as one,
            PodResourcesClient(directory / "kubelet.sock") as other,
        ):
            for client in (one, other):
                await soon(client.list())
                await soon(client.list(ApiVersion.V1ALPHA1))
                await soon(client.allocatable())
                for name in ("empty", "unknown"):
                    await asyncio.gather(soon(client.get(name)), return_exceptions=True)
            for ask in (one.list(), other.list(ApiVersion.V1ALPHA1), one.get("empty"), other.allocatable()):
                with pytest.raises(RpcFailed) as refused:
                    await soon(ask)
                assert (refused.value.code, refused.value.description) == (
                    "ResourceExhausted",
                    "rejected by rate limit",
                )
            asked = len(pods.asked)
            assert (asked, pods.rejected) == (10, 4)
            pods.now_s += 0.025
            await soon(one.list())
            await soon(other.list())
            with pytest.raises(RpcFailed, match="rejected by rate limit"):
                await soon(one.list())
            pods.now_s += 3600
            for _ in range(10):
                await soon(one.list())
            with pytest.raises(RpcFailed, match="rejected by rate limit"):
                await soon(one.list())
        await server.stop()
        prefix = "pod_resources_endpoint_"
        assert pods.counts == {
            (f"{prefix}requests_total", "v1"): 20,
            (f"{prefix}requests_total", "v1alpha1"): 2,
            (f"{prefix}requests_list", "v1"): 14,
            (f"{prefix}requests_get", "v1"): 4,
            (f"{prefix}requests_get_allocatable", "v1"): 2,
            (f"{prefix}errors_get", "v1"): 2,
        }

    run(body)


def test_a_kubelet_without_rate_limit_answers_every_call() -> None:
    """Earlier kubelets had none. Rules: PR-6"""

    async def body(directory: Path) -> None:
        server = Pods().server(evolve(V1_36, pod_resources_rate_limited=False))
        await server.listen(directory / "kubelet.sock")
        async with PodResourcesClient(directory / "kubelet.sock") as client:
            for _ in range(30):
                assert await soon(client.list()) == PODS
        await server.stop()

    run(body)


def test_a_pod_that_is_not_there_is_an_unknown_error() -> None:
    """Not NotFound: the kubelet's error has no status of its own, and names are as asked for. Rules: PR-16"""

    async def body(directory: Path) -> None:
        server = Pods().server()
        await server.listen(directory / "kubelet.sock")
        async with PodResourcesClient(directory / "kubelet.sock") as client:
            for name, namespace in (("x\x1b ü%41", "n s"), ("", "")):
                with pytest.raises(RpcFailed) as failure:
                    await soon(client.get(name, namespace))
                assert failure.value.code == "Unknown"
                assert failure.value.description == f"pod {name} in namespace {namespace} not found"
        await server.stop()

    run(body)


def test_methods_that_are_switched_off() -> None:
    """An earlier kubelet knows the method and answers that it is disabled, also for a pod that is there. Rules: PR-7"""

    async def body(directory: Path) -> None:
        pods = Pods()
        server = pods.server(evolve(V1_36, pod_resources_get=Offer.OFF, pod_resources_allocatable=Offer.OFF))
        await server.listen(directory / "kubelet.sock")
        async with PodResourcesClient(directory / "kubelet.sock") as client:
            with pytest.raises(RpcFailed) as of_get:
                await soon(client.get("empty"))
            with pytest.raises(RpcFailed) as of_allocatable:
                await soon(client.allocatable())
            assert await soon(client.list()) == PODS
        await server.stop()
        assert str(of_get.value) == "rpc error: code = Unknown desc = PodResources API Get method disabled"
        text = "rpc error: code = Unknown desc = Pod Resources API GetAllocatableResources disabled"
        assert str(of_allocatable.value) == text
        assert pods.asked == [("list", "v1")]
        assert pods.counts["pod_resources_endpoint_errors_get_allocatable", "v1"] == 1

    run(body)


@pytest.mark.parametrize(
    "version, lacks", [("1.20", ("Get", "GetAllocatableResources")), ("1.26", ("Get",)), ("1.27", ())]
)
def test_methods_that_a_release_does_not_have(version: str, lacks: tuple[str, ...]) -> None:
    """They are as unknown there as any other, and counted by nobody. Rules: PR-4, PR-7, DM-164"""

    async def body(directory: Path) -> None:
        pods = Pods()
        server = pods.server(profile_of(version))
        await server.listen(directory / "kubelet.sock")
        found = {}
        async with PodResourcesClient(directory / "kubelet.sock") as client:
            for method, call in (("Get", client.get("empty")), ("GetAllocatableResources", client.allocatable())):
                try:
                    await soon(call)
                except RpcFailed as failure:
                    found[method] = (failure.code, failure.description)
        await server.stop()
        unknown = {name: f"unknown method {name} for service v1.PodResourcesLister" for name in lacks}
        assert {method: text for method, (code, text) in found.items() if code == "Unimplemented"} == unknown
        assert pods.counts["pod_resources_endpoint_requests_total", "v1"] == 2 - len(lacks)

    run(body)


@pytest.mark.parametrize(
    "method, text",
    [
        ("/v1.PodResourcesLister/Watch", "unknown method Watch for service v1.PodResourcesLister"),
        ("/v1alpha1.PodResourcesLister/Get", "unknown method Get for service v1alpha1.PodResourcesLister"),
        ("/v1beta1.Registration/Register", "unknown service v1beta1.Registration"),
        ("/grpc.health.v1.Health/Check", "unknown service grpc.health.v1.Health"),
        (
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            "unknown service grpc.reflection.v1.ServerReflection",
        ),
    ],
)
def test_other_methods_are_unimplemented(method: str, text: str) -> None:
    """In the words of the kubelet's library; such a call takes no token. Rules: PR-4, PR-6"""

    async def body(directory: Path) -> None:
        server = Pods().server()
        await server.listen(directory / "kubelet.sock")
        async with channel(directory / "kubelet.sock") as opened:
            for _ in range(11):
                with contextlib.suppress(grpc.aio.AioRpcError):
                    await soon(call(opened, method, b""))
            with pytest.raises(grpc.aio.AioRpcError) as failure:
                await soon(call(opened, method, b""))
            for _ in range(10):
                await soon(call(opened, "/v1alpha1.PodResourcesLister/List", b""))
        await server.stop()
        assert failure.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert failure.value.details() == text

    run(body)


@pytest.mark.parametrize(
    "data, cause",
    [
        (b"\x0a\x01\xff", "string field contains invalid UTF-8"),
        (b"\x0a\x05abc", "proto: cannot parse invalid wire-format data"),
    ],
)
def test_a_request_that_cannot_be_decoded_is_answered(data: bytes, cause: str) -> None:
    """The caller learns what is wrong; such a call takes no token. Rules: PR-6"""

    async def body(directory: Path) -> None:
        pods = Pods()
        server = pods.server()
        await server.listen(directory / "kubelet.sock")
        async with channel(directory / "kubelet.sock") as opened:
            for _ in range(10):
                with contextlib.suppress(grpc.aio.AioRpcError):
                    await soon(call(opened, "/v1.PodResourcesLister/Get", data))
            with pytest.raises(grpc.aio.AioRpcError) as failure:
                await soon(call(opened, "/v1.PodResourcesLister/Get", data))
        await server.stop()
        assert failure.value.code() is grpc.StatusCode.INTERNAL
        assert failure.value.details() == f"grpc: error unmarshalling request: {cause}"
        assert (pods.asked, pods.rejected) == ([], 0)

    run(body)


@pytest.mark.parametrize("authority", ["localhost", "[::]:50051", "/run/x.sock", "%2Frun%2Fx.sock", "unix:///run/x"])
def test_any_authority_is_accepted(authority: str) -> None:
    """What clients' libraries derive from a socket path differs, and none of it matters. Rules: PR-1"""

    async def body(directory: Path) -> None:
        server = Pods().server()
        await server.listen(directory / "kubelet.sock")
        async with channel(directory / "kubelet.sock", default_authority=authority) as opened:
            data = await soon(call(opened, "/v1alpha1.PodResourcesLister/List", b""))
        await server.stop()
        assert len(v1alpha1.ListPodResourcesResponse.FromString(data).pod_resources) == 2

    run(body)


@pytest.mark.parametrize("there", ["nothing", "file", "socket", "link", "directory"])
def test_an_old_file_gives_way(there: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The socket replaces what was there, in a directory of its own mode, and has no other name. Rules: PR-2"""

    async def body(directory: Path) -> None:
        folder = directory / "pod-resources"
        path = folder / "kubelet.sock"
        if there != "nothing":
            folder.mkdir(0o700)
        if there == "file":
            path.write_text("old", encoding="utf-8")
        elif there == "link":
            path.symlink_to(directory / "nowhere")
        elif there == "directory":
            path.mkdir()
        elif there == "socket":
            before = Pods().server()
            await before.listen(path)
            await before.stop()
            assert stat.S_ISSOCK(path.lstat().st_mode)
        server = Pods().server()
        await server.listen(path)
        umask = os.umask(0)
        os.umask(umask)
        assert stat.S_IMODE(folder.stat().st_mode) == (0o750 & ~umask if there == "nothing" else 0o700)
        assert stat.S_IMODE(path.lstat().st_mode) == 0o777 & ~umask
        assert [each.name for each in folder.iterdir()] == ["kubelet.sock"]
        async with PodResourcesClient(path) as client:
            assert await soon(client.list()) == PODS
        await server.stop()

    run(body)
    assert complaints(capfd.readouterr().err) == []


def test_the_socket_stays_when_the_kubelet_ends() -> None:
    """Nobody listens on it then; with the node it goes, unless it is somebody else's by now. Rules: PR-2"""

    async def body(directory: Path) -> None:
        path = directory / "kubelet.sock"
        server = Pods().server()
        await server.listen(path)
        await server.stop()
        await server.stop()
        with pytest.raises(TransportError, match="nobody listens"):
            async with PodResourcesClient(path):
                pass
        first, second = Pods().server(), Pods().server()
        await first.listen(path)
        await second.listen(path)
        await first.stop(leave_socket=False)
        assert path.exists()
        await second.stop(leave_socket=False)
        assert list(directory.iterdir()) == []

    run(body)


@pytest.mark.parametrize(
    "name, cause",
    [
        ("file/kubelet.sock", "failed to unlink socket file {path}: not a directory"),
        ("full/kubelet.sock", "failed to unlink socket file {path}: directory not empty"),
        ("x" * 108, "listen unix {path}: invalid argument"),
    ],
)
def test_a_path_that_cannot_be_bound_is_named(name: str, cause: str, capfd: pytest.CaptureFixture[str]) -> None:
    """What ends a kubelet's start says where and why. Rules: PR-3"""

    async def body(directory: Path) -> None:
        (directory / "file").write_text("", encoding="utf-8")
        (directory / "full" / "kubelet.sock" / "x").mkdir(parents=True)
        path = directory / name
        with pytest.raises(TransportError) as failure:
            await Pods().server().listen(path)
        assert str(failure.value) == f"failed to create listener for podResources endpoint: {cause.format(path=path)}"

    run(body)
    assert complaints(capfd.readouterr().err) == []


def test_a_large_answer_arrives() -> None:
    """More than the 4 MiB that clients take by default, less than the 16 MiB that ours takes. Rules: PR-5"""

    async def body(directory: Path) -> None:
        entry = DeviceEntry(GPU, (DeviceID("x" * 100_000),))

        class Many(Pods):
            async def allocatable(self) -> AllocatableResources:
                return AllocatableResources((entry,) * 100)

        server = Many().server()
        await server.listen(directory / "kubelet.sock")
        async with PodResourcesClient(directory / "kubelet.sock") as client:
            assert len((await soon(client.allocatable())).devices) == 100
        async with channel(directory / "kubelet.sock") as opened:
            with pytest.raises(grpc.aio.AioRpcError) as failure:
                await soon(call(opened, "/v1.PodResourcesLister/GetAllocatableResources", b""))
        await server.stop()
        assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED

    run(body)


def test_stop_cuts_calls_in_progress() -> None:
    """A caller that waits is let go, and so is its connection. Rules: PR-2"""

    async def body(directory: Path) -> None:
        entered, cut = asyncio.Event(), asyncio.Event()

        class Slow(Pods):
            async def listed(self, _version: ApiVersion) -> Sequence[PodResources]:
                entered.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    cut.set()
                return ()

        server = Slow().server()
        await server.listen(directory / "kubelet.sock")
        async with PodResourcesClient(directory / "kubelet.sock") as client:
            asking = asyncio.create_task(client.list())
            await soon(entered.wait())
            await soon(server.stop())
            with pytest.raises((TransportError, RpcFailed)):
                await soon(asking)
        await soon(cut.wait())

    run(body)


def test_a_server_that_says_nothing_is_given_up() -> None:
    """The client waits so long and no longer, and says for whom."""

    async def body(directory: Path) -> None:
        left = asyncio.Event()

        class Slow(Pods):
            async def listed(self, _version: ApiVersion) -> Sequence[PodResources]:
                try:
                    await asyncio.Event().wait()
                finally:
                    left.set()
                return ()

        server = Slow().server()
        await server.listen(directory / "kubelet.sock")
        async with PodResourcesClient(directory / "kubelet.sock", timeout_s=0.2) as client:
            with pytest.raises(TransportError, match=r"kubelet\.sock has not answered for 0\.2 s"):
                await soon(client.list())
        await soon(left.wait())
        await server.stop()

    run(body)


def test_an_answer_that_is_no_message_is_named() -> None:
    """Whoever listens there is no kubelet."""

    class Handler(grpc.GenericRpcHandler):
        def service(self, _details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
            async def answer(_request: bytes, _context: object) -> bytes:
                return b"\x0a\x05abc"

            return grpc.unary_unary_rpc_method_handler(answer)

    async def body(directory: Path) -> None:
        server = grpc.aio.server()
        server.add_generic_rpc_handlers([Handler()])
        server.add_insecure_port(f"unix:{directory / 'x.sock'}")
        await server.start()
        async with PodResourcesClient(directory / "x.sock") as client:
            with pytest.raises(RpcFailed, match="failed to unmarshal the received message"):
                await soon(client.list())
        await server.stop(None)

    run(body)


@pytest.mark.parametrize(
    "name, error, text",
    [
        ("none.sock", TransportError, "there is no socket"),
        ("file", UsageError, "file is no socket"),
        (".", UsageError, "is no socket"),
        ("x" * 200, UsageError, "cannot be the path of a socket"),
    ],
)
def test_a_socket_that_is_not_there_is_told_at_once(name: str, error: type[Exception], text: str) -> None:
    """The client does not try again and again."""

    async def body(directory: Path) -> None:
        (directory / "file").write_text("", encoding="utf-8")
        with pytest.raises(error, match=text):
            async with PodResourcesClient(directory / name):
                pass

    run(body)


def test_a_client_that_was_not_entered_says_so() -> None:
    """Nothing is dialled by making a client."""

    async def body(directory: Path) -> None:
        with pytest.raises(UsageError, match="async with"):
            await PodResourcesClient(directory / "x.sock").list()

    run(body)


def test_a_socket_can_be_dialled_when_it_is_seen() -> None:
    """Whoever sees the name is answered, at any moment of the start. Rules: PR-2"""

    async def body(directory: Path) -> None:
        path = directory / "kubelet.sock"
        server = Pods().server()

        async def see() -> tuple[PodResources, ...]:
            await until(path.exists)
            async with PodResourcesClient(path) as client:
                return await client.list()

        seeing = asyncio.create_task(see())
        await server.listen(path)
        assert await soon(seeing) == PODS
        await server.stop()

    run(body)
