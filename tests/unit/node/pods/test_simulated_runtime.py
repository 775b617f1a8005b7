"""The simulated container runtime by itself."""

from __future__ import annotations

import pytest

from kubelet_sim.errors import InvariantError
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.node.pods.simulated_runtime import LOST, ContainerState, SimulatedRuntime
from tests.unit.node.example_pods import brought_to, container, manifest_pod, started

MAIN = ContainerName("main")


def test_every_attempt_is_a_container_of_its_own() -> None:
    """Ids differ, attempts count on, and the one before is kept as it ended; those before it are not."""
    pod = manifest_pod()
    runtime = SimulatedRuntime()
    runtime.open_sandbox(pod)
    ids = set()
    for attempt in range(4):
        held = started(runtime, pod, "main", at_s=float(attempt))
        assert held.attempt == attempt
        ids.add(held.id)
        runtime.end(held, attempt, attempt + 0.5)
    assert len(ids) == 4
    assert [(each.attempt, each.exit_code) for each in runtime.attempts(pod.uid, MAIN)] == [(2, 2), (3, 3)]


@pytest.mark.parametrize(
    "code, given, reason", [(0, "", "Completed"), (1, "", "Error"), (137, "", "Error"), (LOST, "Unknown", "Unknown")]
)
def test_a_container_ends_once(code: int, given: str, reason: str) -> None:
    """With its code, and the reason that a runtime gives for it; a second end changes nothing."""
    pod = manifest_pod()
    runtime = brought_to(pod, {"main": None})
    held = runtime.latest(pod.uid, MAIN)
    assert held is not None
    assert runtime.end(held, code, 3.0, given)
    assert not runtime.end(held, 7, 4.0)
    assert (held.state, held.exit_code, held.reason, held.finished_at_s) == (ContainerState.EXITED, code, reason, 3.0)
    assert held.has_failed == (code != 0)


def test_what_a_starting_kubelet_is_told() -> None:
    """The containers that run, once each, whatever attempts were before; not those that were created or have ended.

    Rules: DM-7, DM-110
    """
    pod = manifest_pod("main", "other", "third", init=["init"])
    runtime = brought_to(pod, {"init": 0, "main": 1, "other": 0})
    started(runtime, pod, "main")
    runtime.create(pod, container(pod, "third"), None, 1.0)
    assert runtime.running() == {(PodUID("p"), MAIN)}
    assert [runs for uid, name, runs in runtime.listed() if (uid, name) == (PodUID("p"), MAIN)] == [False, True]
    assert len(runtime.listed()) == 5


def test_a_power_loss_ends_everything() -> None:
    """Nothing runs, the sandbox is of no use any more, and what there was is known still. Rules: DM-111"""
    pod = manifest_pod("main", "other")
    runtime = brought_to(pod, {"main": None, "other": 0})
    runtime.lose_power(9.0)
    assert runtime.running() == frozenset()
    assert not runtime.has_sandbox(pod.uid)
    assert runtime.here(pod.uid, MAIN) is None
    held = runtime.latest(pod.uid, MAIN)
    assert held is not None
    assert (held.exit_code, held.reason) == (LOST, "Unknown")
    with pytest.raises(InvariantError):
        runtime.create(pod, container(pod, "main"), None, 10.0)
    runtime.open_sandbox(pod)
    assert started(runtime, pod, "main").attempt == 1
    assert runtime.running() == {(pod.uid, MAIN)}


def test_a_pod_is_forgotten_as_a_whole() -> None:
    """Nothing is left of it, and other pods are not touched."""
    pod, other = manifest_pod(), manifest_pod(name="q")
    runtime = brought_to(pod, {"main": None})
    runtime.open_sandbox(other)
    assert runtime.pods() == (pod, other)
    runtime.forget(pod.uid)
    assert (runtime.pods(), runtime.running(), runtime.latest(pod.uid, MAIN)) == ((other,), frozenset(), None)
    assert not runtime.knows(pod.uid)


def test_a_stop_names_what_ended_by_it() -> None:
    """In the pod's order, without those that had ended before."""
    pod = manifest_pod("main", "other", sidecars=["side"])
    runtime = brought_to(pod, {"side": None, "main": 0, "other": None})
    assert [each.name for each in runtime.stop(pod, 137, 5.0)] == ["side", "other"]
    assert runtime.stop(pod, 137, 6.0) == []
