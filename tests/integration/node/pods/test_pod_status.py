from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.life import Deletion
from kubelet_sim.node.api_objects.api_server import PODS
from tests.integration.node.bench import RESOURCE, Bench, RunOnBench, device, soon
from tests.integration.node.bench import pod as bench_pod

START = "2026-01-01T00:00:00Z"
TRUE = {"status": "True", "lastTransitionTime": START}


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
        (main,) = shown["spec"]["containers"]
        assert main["resources"] == {"limits": {RESOURCE: "1"}, "requests": {RESOURCE: "1"}}
        assert shown["spec"]["nodeName"] == "kubelet-sim"
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
        assert (main["image"], main["ready"], main["state"]) == ("m", True, {"running": {"startedAt": START}})
        (init,) = status["initContainerStatuses"]
        times = {"startedAt": START, "finishedAt": START}
        ended = {"exitCode": 0, "reason": "Completed", "containerID": init["containerID"], **times}
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
        assert status.keys() == {"phase", "reason", "message", "startTime", "observedGeneration", "qosClass"}
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


def test_conditions_of_a_pod_that_runs(on_bench: RunOnBench) -> None:
    """Five, in the kubelet's order; each with the time since when it is so."""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.advance(90)
        await it.node.apply([pod_from_mapping(manifest())])
        await it.node.wait_for(lambda now: now.pods[0].phase == "Running")
        status = it.node.pod("p")["status"]
        since = "2026-01-01T00:01:30Z"
        names = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
        assert status["conditions"] == [TRUE | {"type": name, "lastTransitionTime": since} for name in names]
        assert (status["startTime"], status["qosClass"]) == (since, "BestEffort")

    on_bench(body)


def test_a_container_that_ends_takes_readiness_along(on_bench: RunOnBench) -> None:
    """What waits is named, and only what has changed has a new time."""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.admit(pod_from_mapping(manifest()))
        await it.node.wait_for(lambda now: now.pods[0].phase == "Running")
        for _ in range(2):
            await it.node.advance(1)
            it.node.exit_container("p", code=1)
            await it.node.advance(0)
        conditions = {each["type"]: each for each in it.node.pod("p")["status"]["conditions"]}
        assert conditions["Initialized"] == TRUE | {"type": "Initialized"}
        assert conditions["Ready"] == {
            "type": "Ready",
            "status": "False",
            "reason": "ContainersNotReady",
            "message": "containers with unready status: [main]",
            "lastTransitionTime": "2026-01-01T00:00:02Z",
        }

    on_bench(body)


def test_a_pod_that_cannot_begin(on_bench: RunOnBench) -> None:
    """Its init container is named as incomplete; there is no sandbox yet."""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.admit(pod_from_mapping(manifest()))
        conditions = {each["type"]: each for each in it.node.pod("p")["status"]["conditions"]}
        assert conditions["PodReadyToStartContainers"]["status"] == "False"
        assert conditions["Initialized"]["message"] == "containers with incomplete status: [init]"

    on_bench(body, runs_containers=False)


def test_a_deleted_pod_ends_before_it_is_gone(on_bench: RunOnBench) -> None:
    """Who watches sees the mark, each container stop, a terminal phase with the last states, and the end."""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        pod = manifest()
        pod["metadata"]["annotations"] = {"stop.kubelet-sim/main": "40"}
        await it.node.admit(pod_from_mapping(pod))
        await it.node.wait_for(lambda now: now.pods[0].phase == "Running")
        version = it.node.pod("p")["metadata"]["resourceVersion"]
        watch = it.node.api_objects.watch(PODS, version)
        removing = asyncio.ensure_future(it.node.remove("p"))
        await it.node.advance(30)
        await soon(removing)
        marked, stopped, ended, gone = [await soon(anext(watch)) for _ in range(4)]
        await watch.aclose()
        assert [each.type.value for each in (marked, stopped, ended, gone)] == ["MODIFIED"] * 3 + ["DELETED"]
        assert marked.object["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"
        assert (stopped.object["status"]["phase"], ended.object["status"]["phase"]) == ("Running", "Failed")
        status = gone.object["status"]
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
        ready = next(each for each in status["conditions"] if each["type"] == "Ready")
        assert (ready["status"], ready["reason"]) == ("False", "PodFailed")

    on_bench(body)


def test_a_pod_that_stops_well_has_succeeded(on_bench: RunOnBench) -> None:
    """A container that never came to life is one that nobody could find, and then the pod has failed."""

    async def last_phase(it: Bench, name: str) -> str:
        watch = it.node.api_objects.watch(PODS, it.node.pod(name)["metadata"]["resourceVersion"])
        await it.node.remove(name)
        events = [await soon(anext(watch)) for _ in range(3)]
        await watch.aclose()
        assert events[-1].type.value == "DELETED"
        return str(events[-1].object["status"]["phase"])

    async def body(it: Bench) -> None:
        await it.plugin(device("a"), device("b"))
        await it.node.admit(bench_pod("runs"))
        await it.node.wait_for(lambda now: now.pods[0].phase == "Running")
        assert await last_phase(it, "runs") == "Succeeded"
        waits = manifest()
        waits["spec"]["containers"][0]["image"] = "registry.invalid/x"
        await it.node.admit(pod_from_mapping(waits))
        await it.node.advance(1)
        assert await last_phase(it, "p") == "Failed"

    on_bench(body)


def test_a_pod_that_is_refused_after_a_restart_loses_what_it_had(on_bench: RunOnBench) -> None:
    """Conditions and containers go, the start time stays. Rules: DM-77, DM-111"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.admit(pod_from_mapping(manifest()))
        await it.node.wait_for(lambda now: now.pods[0].phase == "Running")
        await it.node.advance(5)
        await it.node.reboot()
        status = it.node.pod("p")["status"]
        assert (status["phase"], status["reason"], status["startTime"]) == ("Failed", "UnexpectedAdmissionError", START)
        assert not status.keys() & {"conditions", "containerStatuses", "initContainerStatuses"}

    on_bench(body)


def test_without_a_kubelet_a_status_stays_as_it_was_told(on_bench: RunOnBench) -> None:
    """What the runtime knows better is told by the next process."""

    async def body(it: Bench) -> None:
        await it.node.admit(pod_from_mapping(manifest(0)))
        await it.node.wait_for(lambda now: now.pods[0].phase == "Running")
        await it.node.crash()
        it.node.exit_container("p", code=3)

        def state() -> dict[str, Any]:
            return dict(it.node.pod("p")["status"]["containerStatuses"][0]["state"])

        assert state() == {"running": {"startedAt": START}}
        assert it.node.status().pods[0].containers[-1].state == "exited"
        await it.node.start_kubelet()
        await it.node.advance(0)
        (status,) = it.node.pod("p")["status"]["containerStatuses"]
        assert (status["restartCount"], status["lastState"]["terminated"]["exitCode"]) == (1, 3)

    on_bench(body)


def test_a_pod_without_a_kubelet_is_gone_at_once(on_bench: RunOnBench) -> None:
    """So is one that is deleted by force: who watches sees nothing but its end. Rules: DM-116"""

    async def body(it: Bench) -> None:
        await it.node.admit(pod_from_mapping(manifest(0)))
        await it.node.admit(bench_pod("q", 0))
        await it.node.wait_for(lambda now: all(pod.phase == "Running" for pod in now.pods))
        watch = it.node.api_objects.watch(PODS, it.node.pod("q")["metadata"]["resourceVersion"])
        await it.node.remove("q", how=Deletion(is_forced=True))
        await it.node.crash()
        await it.node.remove("p")
        events = [await soon(anext(watch)) for _ in range(2)]
        await watch.aclose()
        assert [(each.type.value, each.object["metadata"]["name"]) for each in events] == [
            ("DELETED", "q"),
            ("DELETED", "p"),
        ]
        assert it.node.objects("pods") == ()

    on_bench(body)


def test_a_node_has_no_other_objects(on_bench: RunOnBench) -> None:
    """A kind that is not there is misuse, which says what there is."""

    async def body(it: Bench) -> None:
        with pytest.raises(UsageError, match="has no services; it has events, nodes, pods"):
            it.node.objects("services")

    on_bench(body)
