from __future__ import annotations

import pytest

from kubelet_sim.core.devices.pod_device_health import allocated_resources_status
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.model.device import Device
from kubelet_sim.model.pod import ContainerKind
from tests.unit.core.bench import DEV, GONE_S, NIC, Bench, container, dev, pod, pod_of, restored, sick, snapshot


def _of(bench: Bench, uid: str = "p") -> object:
    before = snapshot(bench.state)
    status = allocated_resources_status(bench.state, pod(uid))
    assert snapshot(bench.state) == before
    return status["main"]  # type: ignore[index]


def test_what_is_recorded_is_shown() -> None:
    """Each app container shows its own ids by resource; init containers and sidecars show nothing. Rules: DM-155"""
    bench = Bench()
    bench.serve(*"abcd")
    bench.serve("x", resource=NIC)
    wanted = pod_of(
        "p",
        container("one", {DEV: 1, NIC: 1}),
        container("two"),
        init=[container("i", {DEV: 1}, kind=ContainerKind.INIT), container("s", {DEV: 1}, kind=ContainerKind.SIDECAR)],
    )
    bench.admit(wanted)

    assert allocated_resources_status(bench.state, wanted) == {
        "one": {DEV: dict.fromkeys(bench.ids("p", "one") or (), "Healthy"), NIC: {"x": "Healthy"}},
        "two": {},
    }


@pytest.mark.parametrize(
    "listed, shown",
    [
        ((dev("a"),), "Healthy"),
        ((sick("a"),), "Unhealthy"),
        ((dev("a", health=""),), "Unhealthy"),
        ((dev("a", health="healthy"),), "Unhealthy"),
        ((sick("a"), dev("a")), "Healthy"),
        ((dev("a"), sick("a")), "Unhealthy"),
        ((dev("b"),), "Healthy"),
        ((), "Healthy"),
    ],
)
def test_the_string_sent_last(listed: tuple[Device, ...], shown: str) -> None:
    """Healthy to the letter, or not listed at all, is healthy; anything else is not. Rules: DM-53, DM-156"""
    bench = Bench()
    client = bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))
    bench.list(client, *listed)

    assert _of(bench) == {DEV: {"a": shown}}


@pytest.mark.parametrize("last, shown", [(dev("a"), "Healthy"), (sick("a"), "Unhealthy")])
def test_a_lost_plugin_changes_nothing(last: Device, shown: str) -> None:
    """What it sent last is shown, also after its resource was removed. Rules: DM-44, DM-156, DM-216"""
    bench = Bench()
    client = bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))
    bench.list(client, last)
    bench.end(client, 0.0)
    assert _of(bench) == {DEV: {"a": shown}}

    bench.round(GONE_S + 1)
    assert _of(bench) == {DEV: {"a": shown}}


def test_after_a_restart() -> None:
    """Before the plugin is back, every restored id is healthy. Rules: DM-145, DM-156"""
    bench = Bench()
    entry = CheckpointEntry("p", "main", DEV, {0: ("b",), 1: ("a", "b")}, b"")
    bench.manager.apply(restored(CheckpointDocument((entry,), {DEV: ()})))

    assert _of(bench) == {DEV: {"a": "Healthy", "b": "Healthy"}}
    assert _of(bench, "another") == {}
