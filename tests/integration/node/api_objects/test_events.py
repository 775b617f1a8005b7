from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from typing import NoReturn

import pytest

from kubelet_sim.errors import PreparationFailed
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.views import EventView
from kubelet_sim.node.api_objects.api_server import EVENTS, KEPT_EVENTS
from kubelet_sim.node.api_objects.events import LONGEST_MESSAGE, NORMAL, WARNING, EventRecorder, field_path
from kubelet_sim.node.api_objects.node_times import MANUAL_START, NodeTimes
from kubelet_sim.node.api_objects.objects_in_memory import ObjectsInMemory
from kubelet_sim.node.pods.pod_worker import RESYNC_S
from tests.integration.node.bench import Bench, RunOnBench, device, pod, soon

POD = Pod("p", "n", PodUID("u"))


def told(it: Bench) -> list[tuple[str, str, str, str]]:
    """Type, reason, object and message of each event."""
    return [(each.type, each.reason, each.object, each.message) for each in it.node.events()]


def recorder(passed_s: Iterable[float], kept: int = KEPT_EVENTS) -> tuple[EventRecorder, ObjectsInMemory]:
    """What tells of events at these times, and who is told."""
    times = iter(passed_s)
    api = ObjectsInMemory(NodeTimes(MANUAL_START, lambda: 0.0))
    return EventRecorder(api, NodeTimes(MANUAL_START, lambda: next(times)), "n1", kept), api


def test_the_same_event_is_counted() -> None:
    """It is told once, with the first and the last time, and comes after what was told in between."""

    async def body() -> None:
        events, api = recorder([1.0, 1.0, 2.0, 2.0, 3.0])
        await events.of_pod(POD, WARNING, "Failed", "no")
        await events.of_node("Starting", "Starting kubelet.")
        await events.of_pod(POD, WARNING, "Failed", "no")
        assert events.views() == (
            EventView("Normal", "Starting", "node/n1", "Starting kubelet.", 2.0, 2.0),
            EventView("Warning", "Failed", "pod/n/p", "no", 3.0, 1.0, count=2),
        )
        of_node, of_pod = (await api.list(EVENTS)).items
        assert of_node["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": "n1"}
        assert of_node["metadata"]["namespace"] == "default"
        assert of_pod["metadata"]["name"].startswith("p.")
        assert {name: part for name, part in of_pod.items() if name != "metadata"} == {
            "apiVersion": "v1",
            "kind": "Event",
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "n", "uid": "u"},
            "type": "Warning",
            "reason": "Failed",
            "message": "no",
            "count": 2,
            "firstTimestamp": "2026-01-01T00:00:01Z",
            "lastTimestamp": "2026-01-01T00:00:03Z",
            "source": {"component": "kubelet", "host": "n1"},
            "reportingComponent": "kubelet",
            "reportingInstance": "n1",
        }

    asyncio.run(body())


def test_an_event_that_the_server_has_forgotten_is_told_anew() -> None:
    """With the time when it was first told, and all that was counted."""

    async def body() -> None:
        events, api = recorder(itertools.repeat(1.0))
        await events.of_pod(POD, NORMAL, "r", "text", Container(ContainerName("c")))
        (event,) = (await api.list(EVENTS)).items
        await api.delete(EVENTS, event["metadata"]["name"], "n")
        await events.of_pod(POD, NORMAL, "r", "text", Container(ContainerName("c")))
        (event,) = (await api.list(EVENTS)).items
        assert (event["count"], event["involvedObject"]["fieldPath"]) == (2, "spec.containers{c}")

    asyncio.run(body())


def test_only_so_many_events_are_kept() -> None:
    """The one that was not told for the longest time is forgotten, and a message has an end."""

    async def body() -> None:
        events, _ = recorder(itertools.repeat(0.0), kept=2)
        for text in ("a", "b", "a", "c"):
            await events.of_pod(POD, NORMAL, "r", text)
        assert [event.message for event in events.views()] == ["a", "c"]
        await events.of_pod(POD, NORMAL, "r", "x" * (LONGEST_MESSAGE + 5))
        assert events.views()[-1].message == "x" * LONGEST_MESSAGE + "…"

    asyncio.run(body())


def test_the_part_that_an_event_is_about() -> None:
    """As the kubelet writes it; a sidecar is one of the init containers."""
    assert field_path(Container(ContainerName("c"))) == "spec.containers{c}"
    assert field_path(Container(ContainerName("c"), ContainerKind.SIDECAR)) == "spec.initContainers{c}"


def test_a_refused_pod_is_a_warning(on_bench: RunOnBench) -> None:
    """Reason and message are those of the verdict, without the prefix that the status has.

    Rules: DM-77
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.admit(pod("big", 2))
        (view,) = it.node.status().pods
        assert told(it)[-1] == (
            "Warning",
            view.reason,
            "pod/default/big",
            view.message.removeprefix("Pod was rejected: "),
        )

    on_bench(body)


def test_the_life_of_a_pod_in_events(on_bench: RunOnBench) -> None:
    """Created and started, init containers too; what still runs when the pod is deleted is killed."""

    async def body(it: Bench) -> None:
        await it.node.apply([pod("one", 0, init_count=0)])
        await it.node.wait_for(lambda now: now.pods[0].phase == "Running")
        await it.node.remove("one")
        events = [(each.reason, each.message, each.field_path) for each in it.node.events()]
        assert events == [
            ("Starting", "Starting kubelet.", ""),
            ("Created", "Container created", "spec.initContainers{init}"),
            ("Started", "Container started", "spec.initContainers{init}"),
            ("Created", "Container created", "spec.containers{main}"),
            ("Started", "Container started", "spec.containers{main}"),
            ("Killing", "Stopping container main", "spec.containers{main}"),
        ]

    on_bench(body)


def test_a_container_that_cannot_be_created_is_told_at_every_try(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One event with a count, `Error: ` before the text.

    Rules: DM-104
    """

    async def body(it: Bench) -> None:
        async def fail(*_: object) -> NoReturn:
            raise PreparationFailed("no luck", rule="DM-103")

        monkeypatch.setattr(it.node.kubelet, "prepare", fail)
        await it.node.apply([pod("one", 0)])
        await it.node.wait_for(lambda now: bool(now.pods[0].containers[0].message))
        await soon(it.node.advance(RESYNC_S))
        last = it.node.events()[-1]
        assert (last.type, last.reason, last.message, last.count) == ("Warning", "Failed", "Error: no luck", 2)
        assert (last.first_at_s, last.at_s) == (0.0, RESYNC_S)

    on_bench(body)


def test_every_kubelet_process_says_that_it_starts(on_bench: RunOnBench) -> None:
    """A restart is the same event once more."""

    async def body(it: Bench) -> None:
        await it.node.restart()
        assert [(each.reason, each.count) for each in it.node.events()] == [("Starting", 2)]

    on_bench(body)
