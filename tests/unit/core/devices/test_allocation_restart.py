"""Allocation at the admissions that follow a kubelet restart."""

from __future__ import annotations

import pytest

from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.model.device import Device
from kubelet_sim.model.pod import ContainerKind
from tests.unit.core.bench import (
    DEV,
    Bench,
    container,
    pod,
    pod_of,
    restored,
    sick,
)

NO_HEALTHY = f"no healthy devices present; cannot allocate unhealthy devices {DEV}"
NOT_HEALTHY_ANY_MORE = f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {DEV}"


def _unavailable(wanted: int, available: int) -> str:
    return f"requested number of devices unavailable for {DEV}. Requested: {wanted}, Available: {available}"


# ------------------------------------------------------------------------------- after a kubelet restart (DM-108…113)

INIT = ContainerKind.INIT
RUNNING = [("p", "main")]
ENTRY = CheckpointEntry("p", "main", DEV, {-1: ("a",)}, b"raw")
DOCUMENT = CheckpointDocument((ENTRY,), {DEV: ("a", "b")})
WANTED = pod("p", {DEV: 1})


def _after_restart(*devices: Device | str, running: bool, ready: bool, back: bool) -> Bench:
    bench = Bench()
    after = bench.restarted(DOCUMENT, running=RUNNING if running else (), ready=ready)
    if back:
        after.serve(*devices)
    return after


@pytest.mark.parametrize(
    "running, ready, back, devices, refused",
    [
        (True, False, True, ("a",), None),
        (True, False, True, ("b",), None),
        (True, False, True, (sick("a"), "b"), None),
        (True, False, False, (), None),
        (True, True, True, ("a",), None),
        (True, True, True, ("b",), NOT_HEALTHY_ANY_MORE),
        (True, True, True, (sick("a"),), NO_HEALTHY),
        (True, True, False, (), NO_HEALTHY),
        (False, False, True, ("a",), None),
        (False, False, True, ("b",), NOT_HEALTHY_ANY_MORE),
        (False, False, False, (), NO_HEALTHY),
        (False, True, True, ("a",), None),
        (False, True, False, (), NO_HEALTHY),
    ],
)
def test_admission_after_a_restart(
    running: bool, ready: bool, back: bool, devices: tuple[Device | str, ...], refused: str | None
) -> None:
    """A running container passes while sources are not ready; any other needs its devices listed and healthy. Rules: DM-108, DM-111, DM-112"""
    bench = _after_restart(*devices, running=running, ready=ready, back=back)

    if refused is None:
        steps = bench.admitting(WANTED)
        assert (steps.result, steps.seen) == (Admitted(), [])
        assert bench.ids("p") == {"a"}
    else:
        assert bench.refusal(WANTED) == refused


def test_a_completed_init_container_kills_its_pod() -> None:
    """It is not running, so it is checked, while the running app container is not. Rules: DM-111, DM-208"""
    init = CheckpointEntry("p", "setup", DEV, {-1: ("b",)}, b"")
    wanted = pod_of("p", container("main", {DEV: 1}), init=[container("setup", {DEV: 1}, kind=INIT)])
    document = CheckpointDocument((ENTRY, init), {DEV: ()})
    bench = Bench().restarted(document, running=RUNNING)

    assert bench.refusal(wanted) == NO_HEALTHY
    both = Bench().restarted(document, running=[*RUNNING, ("p", "setup")])
    assert both.admit(wanted) == Admitted()


@pytest.mark.parametrize("running", [[("p", "other")], [("q", "main")], []])
def test_running_means_this_container_of_this_pod(running: list[tuple[str, str]]) -> None:
    """A namesake of another pod, or another container of the pod, does not count. Rules: DM-110"""
    assert Bench().restarted(DOCUMENT, running=running).refusal(WANTED) == NO_HEALTHY


def test_without_checkpoint_an_unknown_resource_is_skipped() -> None:
    """The pod passes without a record; its devices count as free, and only their number is limited. Rules: DM-113"""
    bench = Bench().restarted(None, running=RUNNING, ready=False)
    assert bench.admit(WANTED) == Admitted()

    bench.serve("a", "b")
    bench.round()

    assert bench.admit(WANTED) == Admitted()
    assert bench.ids("p") is None
    bench.sources_ready(ready=True)
    assert bench.admit(pod("q", {DEV: 1})) == Admitted()
    assert bench.ids("q") == {"a"}
    assert bench.admit(pod("r", {DEV: 1})) == Rejected(
        f"OutOf{DEV}", f"Node didn't have enough resource: {DEV}, requested: 1, used: 2, capacity: 2"
    )


def test_devices_of_restored_pods_are_in_use() -> None:
    """Nobody else gets them, whether or not their pod has been admitted again. Rules: DM-118, DM-145"""
    bench = Bench()
    bench.manager.apply(restored(DOCUMENT))
    bench.sources_ready(ready=False)
    bench.serve("a", "b")

    assert bench.admit(pod("q", {DEV: 1})) == Admitted()
    assert bench.ids("q") == {"b"}
    assert bench.refusal(pod("r", {DEV: 1})) == _unavailable(1, 0)
    bench.sources_ready(ready=True)
    assert bench.admit(pod("r", {DEV: 1})) == Admitted()
    assert bench.ids("r") == {"a"}
