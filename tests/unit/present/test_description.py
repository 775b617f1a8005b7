from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from attrs import evolve

from kubelet_sim.errors import UsageError
from kubelet_sim.model.response import ContainerSpec, DeviceNode, Mount
from kubelet_sim.model.views import AllocationView, ContainerView, EventView, NodeSnapshot
from kubelet_sim.present.description import plugin_document, pod_document, resource_document
from kubelet_sim.present.description_text import plugin_text, pod_text, resource_text
from kubelet_sim.transcript import Record, RecordLevel
from kubelet_sim.wire.control_client import ControlClient
from tests.unit.present.snapshots import NASTY, NASTY_SHOWN, SNAPSHOT

GPU = "example.com/gpu"
RECORDS = (
    Record(1, 0.0, "effect", GPU, "client 1 dials gpu.sock", ("DM-26",), walk=1, details={"client": 1}),
    Record(2, 0.5, "effect", GPU, "client 1 of before", incarnation=1, details={"client": 1}),
    Record(
        3,
        1.0,
        "effect",
        GPU,
        f"Allocate({NASTY}) to client 1",
        ("DM-98",),
        walk=2,
        incarnation=2,
        details={"client": 1},
    ),
    Record(4, 1.0, "decision", "default/a", "odd", ("DM-72",), RecordLevel.WARNING, walk=2, incarnation=2),
    Record(5, 1.0, "effect", GPU, "to another", incarnation=2, details={"client": 7}),
)


class FakeNode:
    """What `describe` asks of a node."""

    def __init__(self, snapshot: NodeSnapshot = SNAPSHOT) -> None:
        self.snapshot = snapshot

    def status(self) -> NodeSnapshot:
        return self.snapshot

    def pod(self, name: str, namespace: str) -> dict[str, Any]:
        limits = {"resources": {"limits": {GPU: 2}}}
        return {"metadata": {"name": name, "namespace": namespace}, "spec": {"containers": [{"name": "c", **limits}]}}

    def container_spec(self, name: str, *_: str) -> ContainerSpec:
        if name != "a":
            raise UsageError("not created")
        return ContainerSpec(
            (("IDS", NASTY),), (Mount("/c", "/h"),), (DeviceNode("/dev/c", "/dev/h", "rw"),), (("k", "v"),), ("cdi=1",)
        )

    def events(self) -> tuple[EventView, ...]:
        return (
            EventView("Warning", "Failed", "pod/default/a", f"Error: {NASTY}", 2.5, 0.0, 3, "spec.containers{c}"),
            EventView("Normal", "Starting", "node/kubelet-sim", "x", 0.0, 0.0),
        )

    def trace(self, *, about: str) -> Iterator[Record]:
        walks = {each.walk for each in RECORDS if each.subject == about}
        return (each for each in RECORDS if each.subject == about or (each.walk and each.walk in walks))


def node(snapshot: NodeSnapshot = SNAPSHOT) -> ControlClient:
    """The fake, as a client."""
    return cast("ControlClient", FakeNode(snapshot))


WITH_HEALTH = evolve(
    SNAPSHOT,
    allocations=(
        AllocationView("uid-a", "default/a", "c", GPU, ((0, (NASTY,)), (1, (NASTY,))), ((NASTY, "Unhealthy"),)),
    ),
)


def test_a_pod_is_described() -> None:
    """Devices with NUMA nodes and health, what its container got, its own events, and its walks with their rules."""
    document = pod_document(node(WITH_HEALTH), "a", "default")
    (container,) = document["containers"]
    assert container["limits"] == {GPU: 2}
    assert container["devices"] == [
        {"resource": GPU, "devices": [{"id": NASTY, "numa_nodes": [0, 1], "health": "Unhealthy"}]}
    ]
    assert container["spec"]["envs"] == {"IDS": NASTY}
    assert [event["reason"] for event in document["events"]] == ["Failed"]
    assert [record["number"] for record in document["why"]] == [3, 4]
    text = pod_text(document)
    for expected in (
        "Phase:         Running",
        f"{NASTY_SHOWN} (Unhealthy, NUMA node 0,1)",
        f"env IDS={NASTY_SHOWN}",
        "mount /h -> /c (rw)",
        "device /dev/h -> /dev/c (rw)",
        "annotation k: v",
        "CDI device cdi=1",
        "10s (x3)",
        "WARNING default/a: odd  [DM-72]",
    ):
        assert expected in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_refused_pod_is_described() -> None:
    """Reason and message stand there; without events and records that is said."""
    text = pod_text(pod_document(node(), "other/b", "default"))
    assert "Reason:        UnexpectedAdmissionError" in text
    assert "<none>" in text
    assert text.endswith("<nothing>")


def test_a_container_that_was_not_created_is_described() -> None:
    """There is nothing to show of what it got."""
    document = pod_document(node(), "c", "default")
    assert document["containers"][0]["spec"] is None
    assert "<not created yet>" in pod_text(document)


@pytest.mark.parametrize("name", [GPU, "gpu.sock", "1"])
def test_a_plugin_is_described(name: str) -> None:
    """By resource, socket or number: what this kubelet process asked of its connections, and what it lists."""
    document = plugin_document(node(), name)
    assert [each["client"] for each in document["connections"]] == [1]
    assert [record["number"] for record in document["asked"]] == [3]
    text = plugin_text(document)
    for expected in (
        "Options:       GetPreferredAllocation",
        "Path:          /tmp/ks/device-plugins/gpu.sock",
        "Stream:        open",
        f"Allocate({NASTY_SHOWN}) to client 1  [DM-98]",
        "gpu-2",
    ):
        assert expected in text
    assert "\x1b" not in text


def test_a_resource_is_described() -> None:
    """The books beside the node object, who holds what, and how long it is kept."""
    document = resource_document(node(), GPU)
    assert (document["capacity"], document["allocatable"], document["grace_period_left_s"]) == (3, 2, None)
    text = resource_text(document)
    assert "Capacity:      3 (node object: 3)" in text
    assert "Grace period" not in text
    assert f"default/a/c: {NASTY_SHOWN}, gpu-1" in text
    assert [record["number"] for record in document["why"]] == [1, 2, 3, 5]


@pytest.mark.parametrize("stopped_at_s, said", [(2.5, "4m50s left"), (-300.0, "over")])
def test_a_resource_whose_plugin_has_gone(stopped_at_s: float, said: str) -> None:
    """Until the grace period is over, the time that is left stands there (DM-47)."""
    empty = evolve(SNAPSHOT.resources[1], stopped_at_s=stopped_at_s)
    text = resource_text(resource_document(node(evolve(SNAPSHOT, resources=(empty,))), "example.com/none"))
    assert f"Grace period:  {said}" in text
    assert "(node object: not listed yet)" in text


def test_what_is_not_there() -> None:
    """Names that there are, in one line."""
    with pytest.raises(UsageError, match=r"there are: example\.com/gpu, example\.com/none"):
        resource_document(node(), "x")
    with pytest.raises(UsageError, match=r"there are: example\.com/gpu, gpu\.sock"):
        plugin_document(node(), "x")
    with pytest.raises(UsageError, match="gone meanwhile"):
        pod_document(node(), "x", "default")


def test_a_long_list_is_cut() -> None:
    """A table of a hundred thousand devices helps nobody; the number of the others does."""
    devices = tuple(evolve(SNAPSHOT.resources[0].devices[0], id=f"gpu-{number}") for number in range(1000))
    many = evolve(SNAPSHOT, resources=(evolve(SNAPSHOT.resources[0], devices=devices),))
    text = resource_text(resource_document(node(many), GPU))
    assert "… and 950 more" in text
    assert len(text.splitlines()) < 100


def test_a_pod_that_runs_without_a_device_is_described() -> None:
    """By the resource that is missing and the rule (DM-81)."""
    odd = evolve(SNAPSHOT, pods=(evolve(SNAPSHOT.pods[0], missing=("example.com/typo",)),))
    assert "Without:       example.com/typo [DM-81]" in pod_text(pod_document(node(odd), "a", "default"))
    assert "Without" not in pod_text(pod_document(node(), "a", "default"))


def test_a_container_in_a_crash_loop_is_described() -> None:
    """With how often it was restarted, and how it ended before."""
    container = ContainerView(
        "c",
        "app",
        "waiting",
        "CrashLoopBackOff",
        "back-off 10s",
        restart_count=2,
        last_reason="Error",
        last_exit_code=3,
        last_finished_at_s=2.0,
        id="1",
    )
    pod = evolve(SNAPSHOT.pods[0], containers=(container,))
    text = pod_text(pod_document(node(evolve(SNAPSHOT, pods=(pod,))), "a", "default"))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for expected in ("Status: CrashLoopBackOff", "Last State: exited: Error, exit code 3", "Ready: no", "Restarts: 2"):
        assert expected in lines
