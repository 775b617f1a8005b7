from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from tests.unit.node.bench import RESOURCE, Bench, RunOnBench, device, soon
from tests.unit.node.test_pod_worker import main, view


def manifest(cpu: str) -> dict[str, Any]:
    """A pod with one device and so much cpu."""
    resources = {"requests": {"cpu": cpu}, "limits": {RESOURCE: 1}}
    spec = {"containers": [{"name": "main", "resources": resources}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


async def apply(it: Bench, cpu: str) -> str:
    """Apply it, and wait for what comes of it."""
    (answer,) = await soon(it.node.apply_manifests([manifest(cpu)]))
    await it.node.advance(0)
    return answer.word


def shown(it: Bench) -> tuple[str, list[tuple[str, str]]]:
    """The cpu that the pod has, and the resize that it could not have: why."""
    pod = it.node.pod("p")
    conditions = pod["status"].get("conditions", [])
    cpu = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    return cpu, [(each["type"], each["reason"]) for each in conditions]


def test_a_resize_is_held_back_by_a_broken_device(on_bench: RunOnBench) -> None:
    """The container runs on, the status says why; when the device is well again, the same manifest goes through.

    Rules: DM-114
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        assert await apply(it, "1") == "created"
        assert await apply(it, "2") == "configured"
        assert shown(it) == ("2", [])
        await soon(peer.send(device("a", healthy=False)))
        assert await apply(it, "3") == "configured"
        assert shown(it) == ("2", [("PodResizePending", "UnexpectedAdmissionError")])
        assert (view(it).phase, main(it).state, main(it).restart_count) == ("Running", "running", 0)
        await soon(peer.send(device("a")))
        assert await apply(it, "3") == "configured"
        assert shown(it) == ("3", [])
        assert await apply(it, "3") == "unchanged"
        assert peer.allocated == [("a",)]

    on_bench(body)


def test_nobody_resizes_without_a_kubelet(on_bench: RunOnBench) -> None:
    """It is refused as a whole, and the pod is as it was. Rules: DM-114"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await apply(it, "1")
        await soon(it.node.crash())
        with pytest.raises(UsageError, match="no kubelet runs"):
            await it.node.apply_manifests([manifest("2")])
        assert shown(it) == ("1", [])

    on_bench(body)
