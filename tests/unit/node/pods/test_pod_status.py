from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests import pod_from_mapping
from tests.unit.node.bench import RESOURCE, Bench, RunOnBench, device


def manifest(count: int = 1) -> dict[str, Any]:
    """A pod with an init container, and with a label that the kubelet does not care for."""
    limits = {"resources": {"limits": {RESOURCE: count}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {
            "initContainers": [{"name": "init", "image": "i"}],
            "containers": [{"name": "main", "image": "m", **limits}],
        },
    }


def test_a_pod_as_the_api_shows_it(on_bench: RunOnBench) -> None:
    """The manifest as it was, and the status; health only for app containers, as it was sent last.

    Rules: DM-155, DM-156
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        await it.node.apply([pod_from_mapping(manifest())])
        await it.node.wait_for(lambda now: now.pods[0].phase == "Running")
        await peer.send(device("a", healthy=False))
        shown = it.node.pod("p")
        assert shown["spec"] == manifest()["spec"]
        assert shown["metadata"]["labels"] == {"a": "b"}
        assert shown["metadata"]["namespace"] == "default"
        assert shown["metadata"]["uid"] == it.node.status().pods[0].uid
        status = shown["status"]
        assert status["phase"] == "Running"
        assert "reason" not in status
        (main,) = status["containerStatuses"]
        assert main["allocatedResourcesStatus"] == [
            {"name": RESOURCE, "resources": [{"resourceID": "a", "health": "Unhealthy"}]}
        ]
        assert (main["image"], main["ready"], main["state"]) == ("m", True, {"running": {}})
        (init,) = status["initContainerStatuses"]
        ended = {"exitCode": 0, "reason": "Completed", "containerID": init["containerID"]}
        assert init["state"] == {"terminated": ended}
        assert "allocatedResourcesStatus" not in init

    on_bench(body)


def test_a_refused_pod_has_no_containers(on_bench: RunOnBench) -> None:
    """Phase, reason and message say all there is.

    Rules: DM-77
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.admit(pod_from_mapping(manifest(2)))
        status = it.node.pod("p")["status"]
        assert status.keys() == {"phase", "reason", "message"}
        assert status["message"].startswith("Pod was rejected: Allocate failed")

    on_bench(body)


def test_a_pod_that_waits(on_bench: RunOnBench) -> None:
    """Before its turn a container is waiting."""

    async def body(it: Bench) -> None:
        await it.node.admit(pod_from_mapping(manifest()))
        (main,) = it.node.pod("p")["status"]["containerStatuses"]
        assert main["state"] == {"waiting": {"reason": "PodInitializing"}}
        assert (main["ready"], main["restartCount"]) == (False, 0)
        with pytest.raises(UsageError, match="no pod default/q"):
            it.node.pod("q")

    on_bench(body, runs_containers=False)
