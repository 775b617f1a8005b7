"""The pod resources API of a node, asked over its socket as pods, plugins and kubelets come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kubelet_sim.core.topology.settings import NumaNodeInfo, TopologySettings
from kubelet_sim.errors import RpcFailed, TransportError, UsageError
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.pod_resources import ApiVersion, ContainerResources, DeviceEntry, PodResources
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.static_pods import StaticPods
from kubelet_sim.node.sync import SyncNode
from kubelet_sim.profiles import V1_36
from kubelet_sim.wire.pod_resources_client import PodResourcesClient
from tests.integration.node.bench import RESOURCE, Bench, RunOnBench, bench, device, pod, soon
from tests.patience import PATIENCE_S

V1ALPHA1 = ApiVersion.V1ALPHA1
Ask = Callable[[PodResourcesClient], Coroutine[Any, Any, Any]]


async def asked(it: Bench, ask: Ask) -> Any:
    """What a client gets on a connection of its own, with the rate limit out of the way."""
    await it.clock.advance(1)
    async with PodResourcesClient(it.node.root.layout.pod_resources_socket) as client:
        return await soon(ask(client))


async def listed(it: Bench, version: ApiVersion = ApiVersion.V1) -> tuple[PodResources, ...]:
    """The answer to `List`."""
    found: tuple[PodResources, ...] = await asked(it, lambda client: client.list(version))
    return found


async def got(it: Bench, name: str) -> PodResources:
    """The answer to `Get`."""
    found: PodResources = await asked(it, lambda client: client.get(name))
    return found


async def is_found(it: Bench, name: str) -> bool:
    """Whether `Get` answers."""
    try:
        await got(it, name)
    except RpcFailed as failure:
        if (failure.code, failure.description) == ("Unknown", f"pod {name} in namespace default not found"):
            return False
        raise
    return True


async def allocatable(it: Bench) -> list[str]:
    """The ids that `GetAllocatableResources` shows."""
    found = await asked(it, PodResourcesClient.allocatable)
    return [device for entry in found.devices for device in entry.device_ids]


def shown(name: str, *ids: str) -> PodResources:
    """A pod whose only container has these devices."""
    entries = tuple(DeviceEntry(ResourceName(RESOURCE), (DeviceID(each),)) for each in ids)
    return PodResources(name, "default", (ContainerResources("main", entries),))


def test_both_versions_show_what_pods_hold(on_bench: RunOnBench) -> None:
    """List and Get agree, also on a pod without devices. Rules: PR-1, PR-4, PR-11, PR-14, PR-17"""

    async def body(it: Bench) -> None:
        assert await listed(it) == await listed(it, V1ALPHA1) == ()
        await it.plugin(device("a"), device("b"), device("c"))
        await it.node.admit(pod("one", 2))
        await it.node.admit(pod("idle", 0))
        expected = (shown("idle"), shown("one", "a", "b"))
        assert await listed(it) == await listed(it, V1ALPHA1) == expected
        for each in expected:
            assert await got(it, each.name) == each
        assert await allocatable(it) == ["a", "b", "c"]

    on_bench(body)


@pytest.mark.parametrize("version", list(ApiVersion))
def test_a_list_frees_what_deleted_pods_held(on_bench: RunOnBench, version: ApiVersion) -> None:
    """A deleted pod is gone at once, its devices when somebody lists; the other two calls free nothing.

    Rules: DM-115, PR-13, PR-18, PR-20, PR-31
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.admit(pod("one"))
        await it.node.remove("one")
        assert not await is_found(it, "one")
        assert await allocatable(it) == ["a"]
        assert it.node.kubelet.state.allocations.in_use == {RESOURCE: {"a"}}
        assert await listed(it, version) == ()
        assert it.node.kubelet.state.allocations.in_use == {}

    on_bench(body)


def test_a_refused_pod_is_known_but_inactive(on_bench: RunOnBench) -> None:
    """It has fallen out of List and Get; the older List shows it without what it was given. Rules: PR-12, PR-16, PR-31"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        containers = tuple(
            Container(ContainerName(name), limits={RESOURCE: Quantity.of(1)}, requests={RESOURCE: Quantity.of(1)})
            for name in ("main", "other")
        )
        verdict = await it.node.admit(Pod("big", "default", PodUID("big"), containers=containers))
        assert isinstance(verdict, Rejected)
        assert it.node.kubelet.state.allocations.pods() == {"big"}
        assert not await is_found(it, "big")
        both = (ContainerResources("main"), ContainerResources("other"))
        assert await listed(it, V1ALPHA1) == (PodResources("big", "default", both),)
        assert await listed(it) == ()

    on_bench(body)


def test_the_gate_brings_inactive_pods_back(on_bench: RunOnBench) -> None:
    """Without it v1 List shows every pod that the kubelet knows; Get asks for active ones all the same. Rules: PR-7, PR-11"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.admit(pod("big", 2))
        await it.node.admit(pod("one"))
        assert await listed(it) == (shown("big"), shown("one", "a"))
        assert not await is_found(it, "big")

    on_bench(body, profile=evolve(V1_36, list_shows_active_pods_only=False))


def test_a_pod_in_the_middle_of_its_admission_is_shown(on_bench: RunOnBench) -> None:
    """So is one that waits for its turn; neither has anything yet. Rules: PR-12"""

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"), device("b"))
        called, answers = asyncio.Event(), asyncio.Event()

        async def slow(_: tuple[DeviceID, ...]) -> AllocateAnswer:
            called.set()
            await answers.wait()
            return AllocateAnswer((ContainerResponse(),))

        peer.allocate = slow
        await it.node.apply([pod("first"), pod("second")])
        await soon(called.wait())
        assert await listed(it) == (shown("first"), shown("second"))
        assert await is_found(it, "second")
        answers.set()
        await it.node.wait_for(lambda now: len(now.allocations) == 2)
        assert await listed(it) == (shown("first", "a"), shown("second", "b"))

    on_bench(body)


def test_of_two_pods_of_one_name_the_later_one_answers(on_bench: RunOnBench) -> None:
    """List shows both. Rules: PR-19"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"), device("b"), device("c"))
        await it.node.admit(pod("one"))
        # The API server keeps names apart; a kubelet may have an old pod that has not gone yet.
        newer = evolve(pod("one", 2), uid=PodUID("newer"))
        assert await it.node.kubelet.admit(newer) == Admitted()
        assert await listed(it) == (shown("one", "b", "c"), shown("one", "a"))
        assert await got(it, "one") == shown("one", "b", "c")
        await it.node.kubelet.deactivate(newer.uid)
        assert await got(it, "one") == shown("one", "a")

    on_bench(body)


def test_what_a_pod_holds_outlives_its_plugin(on_bench: RunOnBench) -> None:
    """Health, a new topology and the loss of the plugin change what is allocatable, not what is held. Rules: PR-21, PR-26"""

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"), device("b"))
        await it.node.admit(pod("one"))
        held = await listed(it)
        assert held == (shown("one", "a"),)
        await soon(peer.send(device("a", healthy=False), Device(DeviceID("b"), topology=(NumaNode(0), NumaNode(1)))))
        assert await allocatable(it) == ["b", "b"]
        assert await listed(it) == held
        await soon(peer.send(device("x")))
        assert await allocatable(it) == ["x"]
        assert await listed(it) == held
        peer.end_streams()
        await it.node.wait_for(lambda now: now.resources[0].endpoint == "stopped")
        assert await allocatable(it) == []
        assert await listed(it) == held
        await it.node.advance(400)
        await it.node.wait_for(lambda now: now.resources[0].endpoint == "none")
        assert await allocatable(it) == []
        assert await listed(it) == held

    on_bench(body)


def test_a_restarted_kubelet_knows_from_its_checkpoint(on_bench: RunOnBench) -> None:
    """The same answer before the plugin is back, which brings what is allocatable; the socket is a new one.

    Rules: PR-2, PR-21, PR-26
    """

    async def body(it: Bench) -> None:
        await it.plugin(Device(DeviceID("a"), topology=(NumaNode(0),)))
        await it.node.admit(pod("one"))
        await it.node.wait_for(lambda now: now.pods[0].phase == "Running")
        held = await listed(it)
        assert held[0].containers[0].devices[0].numa_nodes == (0,)
        socket = it.node.root.layout.pod_resources_socket
        await it.node.kill()
        assert socket.is_socket()
        with pytest.raises(TransportError, match="nobody listens"):
            await listed(it)
        await it.node.restart()
        assert await listed(it) == await listed(it) == held
        assert await allocatable(it) == []
        await it.plugin(device("a"), device("b"))
        assert await listed(it) == held
        assert await allocatable(it) == ["a", "b"]

    on_bench(body)


def test_a_pod_that_went_with_the_kubelet_away_is_forgotten(on_bench: RunOnBench) -> None:
    """What the checkpoint says of it is not shown, and freed by the first List. Rules: DM-116, PR-12, PR-13"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        verdict = await it.node.kubelet.admit(pod("gone"))
        assert verdict == Admitted()
        await it.node.restart()
        assert it.node.kubelet.state.allocations.pods() == {"gone"}
        assert await listed(it) == ()
        assert it.node.kubelet.state.allocations.pods() == frozenset()

    on_bench(body)


def test_nothing_is_freed_before_the_sources_are_ready(on_bench: RunOnBench) -> None:
    """Until then nobody knows which pods there are. Rules: DM-109, PR-13"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.kubelet.admit(pod("gone"))
        await it.node.kill()
        kubelet = await it.node.boot(frozenset(), ())
        assert await listed(it) == ()
        assert kubelet.state.allocations.pods() == {"gone"}
        await kubelet.sources_ready(ready=True)
        assert await listed(it) == ()
        assert kubelet.state.allocations.pods() == frozenset()

    on_bench(body)


def test_init_containers_are_not_shown_sidecars_are(on_bench: RunOnBench) -> None:
    """An init container hands its device on; a sidecar keeps its own. Rules: PR-14"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"), device("b"))
        one = {RESOURCE: Quantity.of(1)}
        containers = [
            Container(ContainerName(kind.value), kind, one, one)
            for kind in (ContainerKind.INIT, ContainerKind.SIDECAR, ContainerKind.APP)
        ]
        await it.node.admit(Pod("one", "default", PodUID("one"), tuple(containers[:2]), tuple(containers[2:])))
        (found,) = await listed(it)
        assert [each.name for each in found.containers] == ["sidecar", "app"]
        held = [entry.device_ids for each in found.containers for entry in each.devices]
        assert held == [("a",), ("b",)]
        (older,) = await listed(it, V1ALPHA1)
        assert [each.name for each in older.containers] == ["app"]

    on_bench(body)


def test_exclusive_cpus_are_shown(on_bench: RunOnBench) -> None:
    """The small CPU manager's: a guaranteed pod's whole cpus, and all there are. Rules: PR-20, PR-27"""

    async def body(it: Bench) -> None:
        amounts = {"cpu": Quantity.of(2), "memory": Quantity.of(1)}
        container = Container(ContainerName("main"), limits=amounts, requests=amounts)
        await it.node.admit(Pod("one", "default", PodUID("one"), containers=(container,)))
        await it.node.admit(pod("shared", 0))
        assert [each.containers[0].cpu_ids for each in await listed(it)] == [(0, 1), ()]
        assert (await asked(it, PodResourcesClient.allocatable)).cpu_ids == (0, 1, 2, 3)

    on_bench(
        body,
        exclusive_cpus={0: 2, 1: 2},
        numa=(NumaNodeInfo(0), NumaNodeInfo(1)),
        topology=TopologySettings("best-effort"),
        machine={name: Quantity.parse(text) for name, text in {"cpu": "4", "memory": "8Gi", "pods": "110"}.items()},
    )


def test_a_static_pod_is_shown_once(on_bench: RunOnBench, tmp_path: Path) -> None:
    """As itself: there is no mirror of it. Rules: PR-12"""
    manifest = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: x}]}\n"
    (tmp_path / "web.yaml").write_text(manifest, encoding="utf-8")

    async def body(it: Bench) -> None:
        await StaticPods(it.node, tmp_path).look()
        await it.node.wait_for(lambda now: bool(now.pods))
        (found,) = await listed(it)
        assert found.name.startswith("web-")
        assert await is_found(it, found.name)

    on_bench(body)


def test_the_rate_limit_runs_on_the_nodes_clock(on_bench: RunOnBench) -> None:
    """On a clock that stands still ten calls are answered, and the transcript says why the next is not. Rules: PR-6"""

    async def body(it: Bench) -> None:
        async with PodResourcesClient(it.node.root.layout.pod_resources_socket) as client:
            for _ in range(10):
                await soon(client.list())
            with pytest.raises(RpcFailed, match="rejected by rate limit"):
                await soon(client.list())
            assert any("the bucket of its rate limit" in text for text in it.texts())
            await it.node.advance(0.01)
            await soon(client.list())
        counts = it.node.kubelet.observed.pod_resources
        assert counts["pod_resources_endpoint_requests_list", "v1"] == 11
        assert counts["pod_resources_endpoint_requests_total", "v1"] == 11

    on_bench(body)


def test_a_socket_that_cannot_be_made_ends_the_start(short_root: Path) -> None:
    """The kubelet's words say what is in the way; nothing is left behind, and the node can be started later. Rules: PR-3"""
    in_the_way = short_root / "pod-resources" / "kubelet.sock" / "file"

    async def whole() -> None:
        async with bench(short_root):
            pass
        in_the_way.mkdir(parents=True)
        node = Node(NodeConfig(root=short_root))
        with pytest.raises(TransportError, match=r"failed to unlink socket file .*: directory not empty"):
            await node.start()
        assert not any(path.is_socket() for path in short_root.rglob("*"))
        in_the_way.rmdir()
        await node.start()
        await node.stop()
        assert not any(path.is_socket() for path in short_root.rglob("*"))

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


def test_a_directory_that_leads_elsewhere_is_refused(short_root: Path) -> None:
    """A link could lead to a real node's sockets. Rules: PR-2"""
    (short_root / "root").mkdir()
    (short_root / "root" / "pod-resources").symlink_to(short_root)
    with pytest.raises(UsageError, match="pod-resources is a symbolic link"):
        asyncio.run(Node(NodeConfig(root=short_root / "root")).start())


def test_a_node_without_the_api_has_no_directory_for_it(short_root: Path) -> None:
    """It is a choice of the node. Rules: PR-2, PR-7"""

    async def whole() -> None:
        async with bench(short_root, has_pod_resources=False):
            assert not (short_root / "pod-resources").exists()

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


def test_a_node_in_another_thread_answers(short_root: Path) -> None:
    """A test that has no loop finds the socket by the node's handle. Rules: PR-1"""
    with SyncNode(NodeConfig(root=short_root)) as node:
        node.admit(pod("idle", 0))

        async def ask() -> tuple[PodResources, ...]:
            async with PodResourcesClient(node.pod_resources_socket) as client:
                return await client.list()

        assert asyncio.run(asyncio.wait_for(ask(), PATIENCE_S)) == (shown("idle"),)


def test_a_pod_that_has_ended_leaves_its_devices_to_the_next_list(on_bench: RunOnBench) -> None:
    """It vanishes from v1; the older List shows it without what it held. Rules: PR-11, PR-12, PR-13, PR-31"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.admit(evolve(pod("one"), restart_policy="Never"))
        await it.node.wait_for(lambda now: now.pods[0].phase == "Running")
        assert await listed(it) == (shown("one", "a"),)
        it.node.exit_container("one", "main")
        await it.node.wait_for(lambda now: now.pods[0].phase == "Succeeded")
        assert not await is_found(it, "one")
        assert it.node.kubelet.state.allocations.in_use == {RESOURCE: {"a"}}
        assert await listed(it, V1ALPHA1) == (shown("one"),)
        assert it.node.kubelet.state.allocations.in_use == {}
        assert await listed(it) == ()

    on_bench(body)
