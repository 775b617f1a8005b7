"""`describe node`, without a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from kubelet_sim.model.views import EventView, NodeSnapshot
from kubelet_sim.present.node_description import described_node, node_text
from tests.unit.present.snapshots import NODE, SNAPSHOT

EVENTS = (
    EventView("Normal", "Starting", "node/kubelet-sim", "Starting kubelet.", 2.5, 0.0, 2),
    EventView("Normal", "Created", "pod/default/a", "Container created", 2.5, 2.5),
)
PODS = (
    evolve(
        SNAPSHOT.pods[0],
        requests=(("cpu", "1500m"), ("example.com/gpu", "1"), ("memory", "512Mi")),
        limits=(("cpu", "2"), ("example.com/gpu", "1"), ("memory", "1Gi")),
    ),
    evolve(SNAPSHOT.pods[1], requests=(("cpu", "60"),), limits=()),
    evolve(SNAPSHOT.pods[2], requests=(("cpu", "500m"), ("memory", "512Mi")), limits=()),
)
WHOLE = evolve(
    SNAPSHOT, pods=PODS, allocatable=(("cpu", "64"), ("example.com/gpu", "2"), ("memory", "256Gi"), ("pods", "110"))
)


class FakeClient:
    """Answers as a connection to a node does."""

    def __init__(self, snapshot: NodeSnapshot = WHOLE) -> None:
        self._snapshot = snapshot

    def status(self) -> NodeSnapshot:
        return self._snapshot

    def objects(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        assert kind == "nodes"
        return (NODE,)

    def events(self) -> tuple[EventView, ...]:
        return EVENTS


def document(snapshot: NodeSnapshot = WHOLE) -> dict[str, Any]:
    """What is told of that node."""
    return described_node(FakeClient(snapshot))  # type: ignore[arg-type]  # fits as far as it goes


def test_what_pods_ask_for_together() -> None:
    """Of the pods that count, exact, with their share of what can be had; one that has failed asks for nothing.

    Rules: DM-69, DM-80
    """
    told = document()
    assert [(each["namespace"], each["name"]) for each in told["pods"]] == [("default", "a"), ("default", "c")]
    assert {each["resource"]: (each["requests"], each["limits"]) for each in told["allocated"]} == {
        "cpu": ("2", "2"),
        "memory": ("1Gi", "1Gi"),
        "example.com/gpu": ("1", "1"),
    }
    assert {each["resource"]: each["requests_percent"] for each in told["allocated"]} == {
        "cpu": 3,
        "memory": 0,
        "example.com/gpu": 50,
    }
    assert [event["reason"] for event in told["events"]] == ["Starting"]


def test_a_resource_that_is_gone_stays_with_zero() -> None:
    """And nothing is divided by it. Rules: DM-66"""
    gone = evolve(WHOLE, capacity=(("example.com/gpu", "0"),), allocatable=(("example.com/gpu", "0"),))
    (gpu,) = document(gone)["allocated"]
    assert (gpu["resource"], gpu["requests"], gpu["requests_percent"]) == ("example.com/gpu", "1", 0)


def test_a_description_of_the_node_is_in_kubectls_order() -> None:
    """In kubectl's order, every part with a title."""
    lines = node_text(document()).splitlines()
    titles = [line.partition(":")[0] for line in lines if line[0] != " "]
    assert titles == [
        "Name",
        "Kubelet Version",
        "Root",
        "Clock",
        "Conditions",
        "Capacity",
        "Allocatable",
        "Non-terminated Pods",
        "Allocated resources",
        "Events",
    ]
    assert any(line.split() == ["example.com/gpu", "1", "(50%)", "1", "(50%)"] for line in lines)


def test_a_node_without_a_kubelet() -> None:
    """Its readiness is unknown, and it is said how to get a kubelet; without pods there is a word for it."""
    told = document(evolve(WHOLE, has_kubelet=False, pods=()))
    assert told["conditions"][0]["status"] == "Unknown"
    text = node_text(told)
    assert "none runs: kubelet-sim start" in text
    assert "<none>" in text
