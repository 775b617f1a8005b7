"""Upstream: the cases of device_plugin_test.go and device_manager_test.go about restarts, told of a whole node.

The stories beside this file tell them of the device manager, by orders for each container. Here containers run, end and
restart, pods are admitted again by the kubelet itself, and a minute passes on the clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from attrs import evolve

from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.life import Deletion
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.model.response import ContainerResponse, ContainerSpec
from kubelet_sim.testing.fake_calls import FakePeer
from kubelet_sim.wire.messages import encode_container_response
from tests.integration.node.bench import RESOURCE, Bench, bench, device, soon
from tests.integration.node.pods.test_pod_worker import DEVICE, ends, main, running, view
from tests.patience import PATIENCE_S
from tests.unit.node.example_pods import manifest_pod

Told = Callable[[Callable[[Bench], Awaitable[None]]], None]


@pytest.fixture
def told(short_root: Path) -> Told:
    """Tell a case of a fresh node."""

    def tell(body: Callable[[Bench], Awaitable[None]]) -> None:
        async def whole() -> None:
            async with bench(short_root) as it:
                await body(it)

        asyncio.run(asyncio.wait_for(whole(), 2 * PATIENCE_S))

    return tell


async def plugin(it: Bench) -> FakePeer:
    """Two devices, of which a container prints the one that it got."""
    peer = await it.plugin(device("a"), device("b"))

    async def answer(ids: tuple[DeviceID, ...]) -> AllocateAnswer:
        response = ContainerResponse({"DEV": ",".join(ids)})
        return AllocateAnswer((evolve(response, raw=encode_container_response(response)),))

    peer.allocate = answer
    await it.node.status_round()
    return peer


def prints(it: Bench, name: str = "p") -> ContainerSpec:
    """What a container sees."""
    return it.node.container_spec(name)


def sees(device_id: str) -> ContainerSpec:
    """A container that got this device."""
    return ContainerSpec(envs=(("DEV", device_id),))


def assigned(it: Bench) -> dict[str, tuple[str, ...]]:
    """Devices by pod and container, as podresources lists them."""
    return {
        f"{each.pod}/{each.container}": tuple(device for _, ids in each.devices for device in ids)
        for each in it.node.status().allocations
    }


def in_node(it: Bench) -> tuple[str, str]:
    """Capacity and allocatable of the node object."""
    now = it.node.status()
    return dict(now.capacity)[RESOURCE], dict(now.allocatable)[RESOURCE]


def test_keeps_assignments_across_pod_restarts(told: Told) -> None:
    """The restarted container prints the same id; a second pod gets a device, and both stay. Rules: DM-107"""

    async def body(it: Bench) -> None:
        peer = await plugin(it)
        await running(it, manifest_pod(limits=DEVICE))
        await ends(it, 1)
        assert (main(it).restart_count, prints(it)) == (1, sees("a"))
        await running(it, manifest_pod(limits=DEVICE, name="q"))
        await ends(it, 1, name="q")
        assert (prints(it), prints(it, "q")) == (sees("a"), sees("b"))
        assert assigned(it) == {"default/p/main": ("a",), "default/q/main": ("b",)}
        assert peer.allocated == [("a",), ("b",)]

    told(body)


@pytest.mark.parametrize("ends_before", [False, True], ids=["kubelet", "pod-and-kubelet"])
def test_keeps_assignments_across_kubelet_restarts(told: Told, ends_before: bool) -> None:
    """The same pod runs on with the same id, whether its container restarts besides or not. Rules: DM-110, DM-111"""

    async def body(it: Bench) -> None:
        peer = await plugin(it)
        await running(it, manifest_pod(limits=DEVICE))
        if ends_before:
            await ends(it, 1)
        before = main(it).id
        await soon(it.node.restart())
        assert (main(it).id, assigned(it)) == (before, {"default/p/main": ("a",)})
        await plugin(it)
        if ends_before:
            await ends(it, 1)
            assert main(it).restart_count == 2
        assert (prints(it), view(it).phase, peer.allocated) == (sees("a"), "Running", [("a",)])

    told(body)


def test_will_not_admit_the_succeeded_pod_after_kubelet_restart_with_the_plugin_removed(told: Told) -> None:
    """Allocatable is 0 while capacity stays, until the restart; the pod stays Succeeded for a minute. Rules: DM-69, DM-73"""

    async def body(it: Bench) -> None:
        peer = await plugin(it)
        await running(it, manifest_pod(limits=DEVICE, policy="Never"))
        await ends(it, 0)
        peer.end_streams()
        await it.node.advance(11)
        assert in_node(it) == ("2", "0")
        await soon(it.node.restart())
        for _ in range(6):
            await it.node.advance(10)
            assert (view(it).phase, view(it).reason) == ("Succeeded", "")

    told(body)


@pytest.mark.parametrize("kubelet_too", [False, True], ids=["plugin", "kubelet-and-plugin"])
def test_keeps_assignments_after_the_plugin_restarted(told: Told, kubelet_too: bool) -> None:
    """The capacity returns, the pod is undisturbed and keeps its id. Rules: DM-44, DM-48, DM-111"""

    async def body(it: Bench) -> None:
        peer = await plugin(it)
        await running(it, manifest_pod(limits=DEVICE))
        before = main(it).id
        peer.end_streams()
        if kubelet_too:
            await soon(it.node.restart())
        await plugin(it)
        await it.node.advance(11)
        assert in_node(it) == ("2", "2")
        assert (main(it).id, assigned(it)) == (before, {"default/p/main": ("a",)})

    told(body)


def test_orphaned_pods_deleted_while_the_kubelet_is_down(told: Told) -> None:
    """The assignment is gone after the start, at the first look; so is the container. Rules: DM-115, DM-118"""

    async def body(it: Bench) -> None:
        await plugin(it)
        await running(it, manifest_pod(limits=DEVICE))
        await it.node.crash()
        await it.node.remove("p", how=Deletion(is_forced=True))
        await soon(it.node.start_kubelet())
        await it.node.kubelet.reclaim()
        assert (assigned(it), it.node.status().pods) == ({}, ())

    told(body)


def test_can_schedule_a_pod_with_a_restartable_init_container(told: Told) -> None:
    """Init container and sidecar share one id; sidecar and app container differ. Rules: DM-86, DM-87, DM-88"""

    async def body(it: Bench) -> None:
        await plugin(it)
        limits = {"resources": {"limits": DEVICE}}
        pod = manifest_pod(
            initContainers=[{"name": "i", **limits}, {"name": "s", "restartPolicy": "Always", **limits}], limits=DEVICE
        )
        await running(it, pod)
        held = assigned(it)
        assert held == {"default/p/i": ("a",), "default/p/s": ("a",), "default/p/main": ("b",)}
        await ends(it, 1, container="s")
        assert [(each.state, each.restart_count) for each in view(it).containers] == [
            ("exited", 0),
            ("running", 1),
            ("running", 0),
        ]
        assert assigned(it) == held

    told(body)


def test_does_not_keep_assignments_across_node_reboots_if_admission_fails(told: Told) -> None:
    """The pod fails admission and leaves podresources. Rules: DM-77, DM-111, DM-115"""

    async def body(it: Bench) -> None:
        peer = await plugin(it)
        await running(it, manifest_pod(limits=DEVICE))
        peer.end_streams()
        await soon(it.node.reboot())
        await it.node.kubelet.reclaim()
        assert (view(it).phase, view(it).reason, assigned(it)) == ("Failed", "UnexpectedAdmissionError", {})

    told(body)


def test_the_plugin_does_not_register_again_after_the_reboot(told: Told) -> None:
    """device_manager_test.go: capacity 0, phase Failed, and the text that says why. Rules: DM-19, DM-69, DM-78, DM-111"""

    async def body(it: Bench) -> None:
        await plugin(it)
        assert await it.node.admit(manifest_pod(limits=DEVICE)) == Admitted()
        await soon(it.node.reboot())
        assert in_node(it) == ("0", "0")
        shown = view(it)
        assert (shown.phase, shown.reason) == ("Failed", "UnexpectedAdmissionError")
        assert "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices" in shown.message

    told(body)


def test_a_resource_that_was_served_once_stays_with_zero(told: Told) -> None:
    """After the grace period, for an hour, and through restarts and reboots. Rules: DM-47, DM-64, DM-66, DM-70"""

    async def body(it: Bench) -> None:
        peer = await plugin(it)
        peer.end_streams()
        await it.node.advance(300)
        assert in_node(it) == ("2", "0")
        await it.node.advance(10.4)
        assert in_node(it) == ("0", "0")
        await soon(it.node.restart())
        await it.node.advance(3600)
        await soon(it.node.reboot())
        assert in_node(it) == ("0", "0")

    told(body)
