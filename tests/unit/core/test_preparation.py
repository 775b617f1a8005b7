from __future__ import annotations

import pytest

from kubelet_sim.core.effects import CallAllocate
from kubelet_sim.errors import PreparationFailed
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.response import ContainerResponse, ContainerSpec
from tests.unit.core.bench import (
    DEV,
    GONE_S,
    NIC,
    Bench,
    Steps,
    container,
    pod,
    pod_of,
    restored,
    scripted,
    sick,
    snapshot,
)


def _prepare(bench: Bench, wanted: Pod, which: Container | None = None) -> ContainerSpec | None:
    steps = Steps(bench.manager.prepare(wanted, which or wanted.containers[0]))
    assert steps.is_over
    assert steps.seen == []
    return steps.result


def _refused(bench: Bench, wanted: Pod) -> str:
    before = snapshot(bench.state)
    with pytest.raises(PreparationFailed) as caught:
        _prepare(bench, wanted)
    assert snapshot(bench.state) == before
    assert str(caught.value) == caught.value.text
    return caught.value.text


def test_the_cached_response() -> None:
    """Each creation gives the container what was answered at its allocation, without a call. Rules: DM-107, DM-123, DM-134"""
    bench = Bench()
    bench.serve("a")
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted)
    before = snapshot(bench.state)

    for _ in range(2):
        assert _prepare(bench, wanted) == ContainerSpec(envs=(("IDS", "a"),))
    assert snapshot(bench.state) == before


def test_health_does_not_matter() -> None:
    """An unhealthy, vanished or lost device is prepared like any other. Rules: DM-57, DM-107"""
    bench = Bench()
    client = bench.serve("a")
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted)
    spec = _prepare(bench, wanted)

    bench.list(client, sick("a"))
    assert _prepare(bench, wanted) == spec
    bench.list(client)
    assert _prepare(bench, wanted) == spec
    bench.end(client, 0.0)
    assert _prepare(bench, wanted) == spec


def test_a_new_registration_changes_nothing() -> None:
    """The response is that of the allocation, whatever the plugin would answer by now. Rules: DM-134"""
    bench = Bench()
    bench.serve("a")
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted)
    bench.serve("a", "b")

    assert _prepare(bench, wanted) == ContainerSpec(envs=(("IDS", "a"),))


def test_a_missing_endpoint() -> None:
    """Once a resource in use is removed, no container with such a limit is created. Rules: DM-79, DM-103, DM-105"""
    bench = Bench()
    bench.end(bench.serve("a"), 0.0)
    client = bench.serve("a")
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted)
    bench.end(client, 0.0)
    bench.round(GONE_S + 1)

    assert _refused(bench, wanted) == f"endpoint not found in cache for a registered resource: {DEV}"
    bench.register()
    assert _prepare(bench, wanted) is not None


def test_the_missing_endpoint_of_another_resource_counts() -> None:
    """Every limit of the container is looked at, also one without a record. Rules: DM-103"""
    bench = Bench()
    bench.serve("a")
    bench.serve("x", resource=NIC)
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted)
    bench.admit(pod("q", {NIC: 1}))
    bench.end(bench.state.clients[NIC], 0.0)
    bench.round(GONE_S + 1)

    assert NIC in _refused(bench, pod("p", {DEV: 1, NIC: 1}))
    assert _prepare(bench, wanted) is not None


def test_a_limit_of_zero_is_skipped() -> None:
    """Here a limit of 0 asks for nothing, not even for an endpoint. Rules: DM-84, DM-103"""
    bench = Bench()
    client = bench.serve("a")
    bench.admit(pod("holder", {DEV: 1}))
    bench.end(client, 0.0)
    bench.round(GONE_S + 1)

    assert bench.state.is_device_plugin_resource(DEV)
    assert _prepare(bench, pod("p", {DEV: 0})) is None
    assert "endpoint not found" in _refused(bench, pod("p", {DEV: "1n"}))


def test_other_resources_are_skipped() -> None:
    """A name that the device manager does not know is none of its business. Rules: DM-83, DM-103"""
    assert _prepare(Bench(), pod("p", {"cpu": 1, NIC: 2})) is None


def test_a_container_without_record() -> None:
    """It gets nothing, though the pod's other container has devices. Rules: DM-123"""
    bench = Bench()
    bench.serve("a")
    wanted = pod_of("p", container("one", {DEV: 1}), container("two"))
    bench.admit(wanted)

    assert _prepare(bench, wanted, wanted.containers[0]) is not None
    assert _prepare(bench, wanted, wanted.containers[1]) is None
    assert _prepare(bench, pod("other", {DEV: 1})) is None


def test_an_empty_response_is_not_nothing() -> None:
    """A record with an empty response gives an empty spec, a missing record none. Rules: DM-99, DM-123"""
    bench = Bench()
    bench.serve("a")
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted, scripted(CallAllocate, AllocateAnswer((ContainerResponse(),))))

    assert _prepare(bench, wanted) == ContainerSpec()


def test_records_without_a_limit_count() -> None:
    """All that is recorded for the container is merged, whether or not the limit still exists. Rules: DM-123"""
    bench = Bench()
    bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))

    assert _prepare(bench, pod("p")) == ContainerSpec(envs=(("IDS", "a"),))


def test_after_a_restart_before_the_plugin_is_back() -> None:
    """The placeholder is endpoint enough: the checkpointed response is used. Rules: DM-103, DM-105, DM-134"""
    bench = Bench()
    entry = CheckpointEntry("p", "main", DEV, {-1: ("a",)}, b"")
    bench.manager.apply(restored(CheckpointDocument((entry,), {DEV: ()})))

    assert _prepare(bench, pod("p", {DEV: 1})) == ContainerSpec()
