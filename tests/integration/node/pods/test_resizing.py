from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.testing.fake_calls import FakePeer
from tests.integration.node.bench import RESOURCE, Bench, RunOnBench, device, soon
from tests.integration.node.pods.test_pod_worker import is_in, main, view


def manifest(cpu: str, name: str = "p") -> dict[str, Any]:
    """A pod with one device and so much cpu."""
    resources = {"requests": {"cpu": cpu}, "limits": {RESOURCE: 1}}
    spec = {"containers": [{"name": "main", "resources": resources}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


async def apply(it: Bench, cpu: str) -> str:
    """Apply it, and wait for what comes of it."""
    (answer,) = await soon(it.node.apply_manifests([manifest(cpu)]))
    await it.node.advance(0)
    return answer.word


def shown(it: Bench) -> tuple[str, str, list[str]]:
    """The cpu that the pod is to have, the cpu that it has, and why it does not have the other."""
    pod = it.node.pod("p")
    cpu = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    pending = [each["reason"] for each in pod["status"]["conditions"] if each["type"] == "PodResizePending"]
    (status,) = pod["status"]["containerStatuses"]
    has = dict(view(it).requests)["cpu"]
    assert status["resources"]["requests"]["cpu"] == status["allocatedResources"]["cpu"] == has
    return cpu, has, pending


BROKEN = ["UnexpectedAdmissionError"]


async def held_back(it: Bench) -> FakePeer:
    """A pod of 1 cpu is to have 2, which a broken device does not let it have."""
    peer = await it.plugin(device("a"))
    assert await apply(it, "1") == "created"
    await soon(peer.send(device("a", healthy=False)))
    assert await apply(it, "2") == "configured"
    assert shown(it) == ("2", "1", BROKEN)
    return peer


def test_a_resize_is_held_back_by_a_broken_device(on_bench: RunOnBench) -> None:
    """The container runs on, the status says why; asking for the same again is no news.

    Rules: DM-114
    """

    async def body(it: Bench) -> None:
        peer = await held_back(it)
        assert (view(it).phase, main(it).state, main(it).restart_count) == ("Running", "running", 0)
        assert await apply(it, "2") == "unchanged"
        await soon(peer.send(device("a")))
        assert await apply(it, "3") == "configured"
        assert shown(it) == ("3", "3", [])
        assert await apply(it, "3") == "unchanged"
        assert peer.allocated == [("a",)]

    on_bench(body)


def test_who_wants_what_the_pod_has_waits_for_nothing(on_bench: RunOnBench) -> None:
    """A refused resize is taken back by applying the size that the pod has, however it is written. Rules: DM-114"""

    async def body(it: Bench) -> None:
        await held_back(it)
        assert await apply(it, "1000m") == "configured"
        assert shown(it)[1:] == ("1", [])
        assert "no resize is asked for any more" in it.texts()[-1]
        assert await apply(it, "1") == "unchanged"

    on_bench(body)


async def stuck(it: Bench) -> asyncio.Event:
    """A pod of 1 cpu, behind another one whose Allocate call goes on until this is set."""
    peer, asked, answered = await it.plugin(device("a"), device("b")), asyncio.Event(), asyncio.Event()
    assert await apply(it, "1") == "created"

    async def later(_: tuple[DeviceID, ...]) -> AllocateAnswer:
        asked.set()
        await answered.wait()
        return AllocateAnswer((ContainerResponse(),))

    peer.allocate = later
    (answer,) = await soon(it.node.apply_manifests([manifest("1", name="other")]))
    assert answer.word == "created"
    await soon(asked.wait())
    return answered


async def applied(it: Bench, cpu: str) -> str:
    """Apply it, and wait for nothing."""
    (answer,) = await soon(it.node.apply_manifests([manifest(cpu)]))
    return answer.word


def test_the_size_that_was_applied_last_wins(on_bench: RunOnBench) -> None:
    """Those that nobody had the time for are passed over, whether the last is the size that the pod has or another one.

    Rules: DM-74, DM-114
    """

    async def body(it: Bench) -> None:
        answered = await stuck(it)
        assert [await applied(it, cpu) for cpu in ("2", "1", "1")] == ["configured", "configured", "unchanged"]
        assert shown(it) == ("1", "1", [])
        answered.set()
        await it.node.wait_for(is_in("other", "Running"))
        await it.node.advance(0)
        assert shown(it) == ("1", "1", [])
        assert not [text for text in it.texts() if text == "resized"]

    on_bench(body)


def test_a_resize_outlives_the_kubelet_that_had_no_time_for_it(on_bench: RunOnBench) -> None:
    """The next one compares what is asked for with what is allocated, 30 s after its start. Rules: DM-108, DM-114"""

    async def body(it: Bench) -> None:
        answered = await stuck(it)
        assert await applied(it, "2") == "configured"
        await soon(it.node.crash())
        assert shown(it) == ("2", "1", [])
        answered.set()
        await soon(it.node.start_kubelet())
        await it.plugin(device("a"), device("b"))
        await it.node.advance(29)
        assert shown(it) == ("2", "1", [])
        await it.node.advance(1)
        assert shown(it) == ("2", "2", [])

    on_bench(body)


@pytest.mark.parametrize("healthy, expected", [(True, ("2", "2", [])), (False, ("2", "1", BROKEN))])
def test_a_refused_resize_is_looked_at_again_after_a_restart(
    on_bench: RunOnBench, healthy: bool, expected: tuple[str, str, list[str]]
) -> None:
    """By then the plugin is back, and the device well again or not. Rules: DM-90, DM-114"""

    async def body(it: Bench) -> None:
        await held_back(it)
        await soon(it.node.restart())
        await it.plugin(device("a", healthy=healthy))
        assert shown(it) == ("2", "1", BROKEN)
        await it.node.advance(30)
        assert shown(it) == expected

    on_bench(body)


def test_a_container_runs_without_what_is_allocated_later(on_bench: RunOnBench) -> None:
    """A resize books the device, yet only the next container of that name gets it. Rules: DM-81, DM-90, DM-114"""

    async def body(it: Bench) -> None:
        await apply(it, "1")
        await it.node.wait_for(is_in("p", "Running"))
        assert view(it).missing == (RESOURCE,)
        peer = await it.plugin(device("a"))
        await apply(it, "2")
        assert peer.allocated == [("a",)]
        assert view(it).missing == (RESOURCE,)
        it.node.exit_container("p", "main", code=1)
        await it.node.advance(0)
        assert (main(it).restart_count, view(it).missing) == (1, ())

    on_bench(body)


def test_nobody_resizes_without_a_kubelet(on_bench: RunOnBench) -> None:
    """It is refused as a whole, and the pod is as it was. Rules: DM-114"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await apply(it, "1")
        await soon(it.node.crash())
        with pytest.raises(UsageError, match="no kubelet runs"):
            await it.node.apply_manifests([manifest("2")])
        assert shown(it) == ("1", "1", [])

    on_bench(body)
