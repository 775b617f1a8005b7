"""Device health on its way into a pod's status."""

from __future__ import annotations

import asyncio

import pytest
from attrs import evolve

from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.node.clock import settle
from kubelet_sim.node.kubelet_process.health_notices import ROOM
from kubelet_sim.node.pods.status_manager import refusal
from kubelet_sim.profiles import V1_36, HealthNotices
from kubelet_sim.testing.fake_calls import FakePeer
from kubelet_sim.transcript import RecordLevel
from tests.integration.node.bench import RESOURCE, Bench, RunOnBench, device, pod, soon

BLOCKS = evolve(V1_36, health_notices=HealthNotices.BLOCK)
WITHOUT = evolve(V1_36, health_notices=HealthNotices.NEVER)


def _shown(it: Bench, name: str = "one") -> dict[str, str]:
    """Health by id, as the API has it for the container; empty without the field."""
    (main,) = it.node.pod(name)["status"]["containerStatuses"]
    (resource,) = main.get("allocatedResourcesStatus", [{"resources": []}])
    return {each["resourceID"]: each["health"] for each in resource["resources"]}


def _hangs(peer: FakePeer) -> asyncio.Event:
    """Have the plugin not answer Allocate before the event is set."""
    event = asyncio.Event()

    async def allocate(_: tuple[DeviceID, ...]) -> AllocateAnswer:
        await event.wait()
        return AllocateAnswer((ContainerResponse(),))

    peer.allocate = allocate
    return event


def test_a_notice_brings_the_status_up_to_date_at_once(on_bench: RunOnBench) -> None:
    """No time has to pass between the list and the pod's status. Rules: DM-155, DM-157, DM-158"""

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        await it.node.admit(pod("one"))
        assert _shown(it) == {"a": "Healthy"}
        await peer.send(device("a", healthy=False))
        await settle()
        assert _shown(it) == {"a": "Unhealthy"}

    on_bench(body)


def test_without_a_notice_the_status_waits_for_the_next_sync(on_bench: RunOnBench) -> None:
    """A device that vanishes counts as healthy; the status says so within 60 to 90 s, and no earlier.

    Rules: DM-156, DM-157, DM-158
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        await it.node.admit(pod("one"))
        await peer.send(device("a", healthy=False))
        await it.node.advance(0)
        await peer.send(device("b"))
        await it.node.advance(59)
        assert _shown(it) == {"a": "Unhealthy"}
        await it.node.advance(32)
        assert _shown(it) == {"a": "Healthy"}

    on_bench(body)


def test_the_status_goes_with_its_pod(on_bench: RunOnBench) -> None:
    """Nothing is kept of it, and nothing synced any more. Rules: DM-158"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.admit(pod("one"))
        await it.node.advance(0)
        before = it.clock.sleeper_count
        gone = it.node.pods.table.find("one").pod
        await it.node.remove("one")
        await settle()
        assert it.clock.sleeper_count == before - 1
        assert it.node._around.statuses.of(gone) == {}

    on_bench(body)


def test_notices_wait_for_a_hanging_admission(on_bench: RunOnBench) -> None:
    """The main loop admits and syncs: while a plugin thinks about a pod, another pod's status stays old.

    Rules: DM-74, DM-158
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"), device("b"))
        await it.node.admit(pod("one"))
        answer = _hangs(peer)
        other = asyncio.ensure_future(it.node.admit(pod("two")))
        await settle()
        await peer.send(device("a", healthy=False), device("b"))
        await settle()
        assert _shown(it) == {"a": "Healthy"}
        answer.set()
        await soon(other)
        await settle()
        assert _shown(it) == {"a": "Unhealthy"}

    on_bench(body)


def test_a_full_queue_loses_notices(on_bench: RunOnBench) -> None:
    """A hundred messages wait; the next one is dropped with the kubelet's words, and the stream goes on.

    Rules: DM-158, DM-175
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"), device("b"))
        await it.node.admit(pod("one"))
        answer = _hangs(peer)
        other = asyncio.ensure_future(it.node.admit(pod("two")))
        await settle()
        for number in range(ROOM + 1):
            await soon(peer.send(device("a", healthy=bool(number % 2)), device("b")))
        assert len(it.node.kubelet.driver.notices) == ROOM
        (lost,) = [record for record in it.node.transcript if "DM-158" in record.rules and "discard" in record.text]
        assert lost.text.startswith("discard pods info: device update channel is full: one")
        assert lost.level is RecordLevel.WARNING
        answer.set()
        await soon(other)
        await settle()
        assert len(it.node.kubelet.driver.notices) == 0

    on_bench(body)


def test_without_a_queue_the_stream_waits(on_bench: RunOnBench) -> None:
    """The list that causes a notice counts at once; the one after it is not read before the main loop took the notice.

    Rules: DM-174
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"), device("b"))
        await it.node.admit(pod("one"))
        answer = _hangs(peer)
        other = asyncio.ensure_future(it.node.admit(pod("two")))
        await settle()
        sending = asyncio.ensure_future(peer.send(device("a", healthy=False), device("b")))
        await settle()
        assert not sending.done()
        assert it.node.kubelet.state.unhealthy == {RESOURCE: {"a"}}
        answer.set()
        await soon(asyncio.gather(other, sending))
        assert _shown(it) == {"a": "Unhealthy"}

    on_bench(body, profile=BLOCKS)


def test_a_process_that_ends_takes_its_notices_along(on_bench: RunOnBench) -> None:
    """The next one has an empty queue, and the first list tells it all. Rules: DM-157, DM-158"""

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"), device("b"))
        await it.node.admit(pod("one"))
        answer = _hangs(peer)
        other = asyncio.ensure_future(it.node.admit(pod("two")))
        await settle()
        await peer.send(device("a", healthy=False), device("b"))
        answer.set()
        await it.node.kill()
        await asyncio.wait({other})
        await it.node.restart()
        assert len(it.node.kubelet.driver.notices) == 0
        assert _shown(it) == {"a": "Healthy"}
        await it.plugin(device("a", healthy=False), device("b"))
        await settle()
        assert _shown(it) == {"a": "Unhealthy"}

    on_bench(body)


def test_a_kubelet_without_the_field(on_bench: RunOnBench) -> None:
    """The status never names devices, and no pod is synced for it. Rules: DM-154"""

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        await it.node.admit(pod("one"))
        await peer.send(device("a", healthy=False))
        await it.node.advance(100)
        (main,) = it.node.pod("one")["status"]["containerStatuses"]
        assert "allocatedResourcesStatus" not in main

    on_bench(body, profile=WITHOUT)


@pytest.mark.parametrize("profile", [V1_36, BLOCKS, WITHOUT], ids=["queue", "block", "never"])
def test_health_has_no_other_effect(on_bench: RunOnBench, profile: object) -> None:
    """The pod runs on, and its container is not created anew. Rules: DM-57, DM-160"""

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"), device("b"))
        await it.node.admit(pod("one"))
        await settle()
        before, changes = it.node.status().pods, len(it.node.events())
        await peer.send(device("a", healthy=False), device("b"))
        await settle()
        assert it.node.status().pods == before
        assert len(it.node.events()) == changes

    on_bench(body, profile=profile)


def test_what_the_api_server_refuses(on_bench: RunOnBench) -> None:
    """Devices of a resource that the container does not request: the status stays as it was. Rules: DM-159"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        limited = pod("one")
        (main,) = limited.containers
        odd = evolve(limited, containers=(evolve(main, requests={"cpu": Quantity.of(1)}),))
        await it.node.admit(odd)
        assert _shown(it) == {}
        assert refusal(odd, {main.name: {RESOURCE: {"a": "Healthy"}}}) is not None  # type: ignore[dict-item]
        assert any("DM-159" in record.rules and record.level is RecordLevel.WARNING for record in it.node.transcript)

    on_bench(body)
