"""What a pod worker does next, and what phase it reports: a table of pods and of where their containers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kubelet_sim.model.ids import ContainerName
from kubelet_sim.node.pods.container_status import WaitingReason, container_statuses, phase_of
from kubelet_sim.node.pods.pod_actions import actions_for
from kubelet_sim.node.pods.simulated_runtime import SimulatedRuntime
from tests.unit.node.example_pods import brought_to, manifest_pod, started

RUNS = None
ONE: dict[str, Any] = {}
INIT: dict[str, Any] = {"init": ["i", "j"]}
SIDE: dict[str, Any] = {"sidecars": ["s"], "init": ["i"]}
NEVER: dict[str, Any] = {"policy": "Never"}
FAILURE: dict[str, Any] = {"policy": "OnFailure"}


@pytest.mark.parametrize(
    "pod, ends, start, is_over, phase",
    [
        (ONE, {}, ["main"], False, "Pending"),
        (ONE, {"main": RUNS}, [], False, "Running"),
        # Restart policies, and an app container that has ended
        (ONE, {"main": 0}, ["main"], False, "Running"),
        (ONE, {"main": 1}, ["main"], False, "Running"),
        (ONE | FAILURE, {"main": 0}, [], True, "Succeeded"),
        (ONE | FAILURE, {"main": 1}, ["main"], False, "Running"),
        (ONE | NEVER, {"main": 0}, [], True, "Succeeded"),
        (ONE | NEVER, {"main": 1}, [], True, "Failed"),
        # Init containers, one after the other
        (INIT, {}, ["i"], False, "Pending"),
        (INIT, {"i": RUNS}, [], False, "Pending"),
        (INIT, {"i": 0}, ["j"], False, "Pending"),
        (INIT, {"i": 0, "j": 0}, ["main"], False, "Pending"),
        (INIT, {"i": 0, "j": 0, "main": RUNS}, [], False, "Running"),
        (INIT, {"i": 0, "j": 3}, ["j"], False, "Pending"),
        (INIT | FAILURE, {"i": 3}, ["i"], False, "Pending"),
        (INIT | NEVER, {"i": 3}, [], True, "Failed"),
        # Once an app container was there, init containers are behind it
        (INIT, {"i": 0, "j": 0, "main": 1}, ["main"], False, "Running"),
        # Sidecars run beside, and restart whatever the policy says
        (SIDE, {}, ["s"], False, "Pending"),
        (SIDE, {"s": RUNS}, ["i"], False, "Pending"),
        (SIDE, {"s": 1}, ["s"], False, "Pending"),
        (SIDE, {"s": RUNS, "i": 0}, ["main"], False, "Pending"),
        (SIDE, {"s": 1, "i": 0, "main": RUNS}, ["s"], False, "Running"),
        (SIDE | NEVER, {"s": 1, "i": 0, "main": RUNS}, ["s"], False, "Running"),
        (SIDE | NEVER, {"s": RUNS, "i": 0, "main": 0}, [], True, "Running"),
        (SIDE | NEVER, {"s": 0, "i": 0, "main": 0}, [], True, "Succeeded"),
        (SIDE | NEVER, {"s": 0, "i": 0, "main": 1}, [], True, "Failed"),
    ],
)
def test_what_is_next(
    pod: Mapping[str, Any], ends: Mapping[str, int | None], start: Sequence[str], is_over: bool, phase: str
) -> None:
    """What to start, whether it is over, and the phase as it is, for each place that containers can be in."""
    made = manifest_pod(**pod)
    runtime = brought_to(made, ends)
    actions = actions_for(made, runtime)
    assert ([each.name for each in actions.start], actions.is_over) == (start, is_over)
    assert phase_of(made, container_statuses(made, runtime, {})) == phase


@pytest.mark.parametrize(
    "pod, ends, new_sandbox, phase",
    [
        (ONE, {"main": RUNS}, True, "Running"),
        (ONE | NEVER, {"main": RUNS}, False, "Failed"),
        (ONE | FAILURE, {"main": RUNS}, True, "Running"),
        (ONE | FAILURE, {"main": 0}, False, "Succeeded"),
        (INIT | NEVER, {"i": 0}, False, "Pending"),
        (INIT, {"i": 0, "j": 0, "main": RUNS}, True, "Running"),
    ],
)
def test_after_a_reboot(pod: Mapping[str, Any], ends: Mapping[str, int | None], new_sandbox: bool, phase: str) -> None:
    """A pod that is to go on begins from its first container, in a new sandbox; one that is never restarted does not."""
    made = manifest_pod(**pod)
    runtime = brought_to(made, ends)
    runtime.lose_power(5.0)
    actions = actions_for(made, runtime)
    assert (actions.new_sandbox, actions.is_over) == (new_sandbox, not new_sandbox)
    assert phase_of(made, container_statuses(made, runtime, {})) == phase
    if new_sandbox:
        runtime.open_sandbox(made)
        first = next(iter(made.all_containers())).name
        assert [each.name for each in actions_for(made, runtime).start] == [first]


def test_a_pod_that_nobody_has_begun() -> None:
    """It needs a sandbox before anything else."""
    assert actions_for(manifest_pod(), SimulatedRuntime()).new_sandbox


def test_a_container_that_waits_for_its_next_attempt() -> None:
    """It is waiting, with the reason, and what became of the attempt before is its last state; its pod goes on running."""
    pod = manifest_pod()
    runtime = brought_to(pod, {"main": 1})
    why = {ContainerName("main"): WaitingReason("CrashLoopBackOff", "back-off 10s")}
    (status,) = container_statuses(pod, runtime, why)
    assert (status.state, status.reason, status.message) == ("waiting", "CrashLoopBackOff", "back-off 10s")
    assert status.ended is not None
    assert (status.ended.exit_code, status.restart_count, status.exit_code) == (1, 0, None)
    assert phase_of(pod, (status,)) == "Running"
    started(runtime, pod, "main")
    (status,) = container_statuses(pod, runtime, {})
    assert (status.state, status.restart_count, status.is_ready) == ("running", 1, True)
    assert status.ended is not None


def test_a_reason_does_not_hide_an_end_for_good() -> None:
    """A container that is not restarted shows how it ended."""
    pod = manifest_pod(policy="Never")
    why = {ContainerName("main"): WaitingReason("CrashLoopBackOff")}
    (status,) = container_statuses(pod, brought_to(pod, {"main": 2}), why)
    assert (status.state, status.reason, status.exit_code) == ("exited", "Error", 2)


@pytest.mark.parametrize("init, reason", [([], "ContainerCreating"), (["i"], "PodInitializing")])
def test_why_a_container_waits_at_first(init: list[str], reason: str) -> None:
    """Init containers come first, or nothing is in its way."""
    pod = manifest_pod(init=init)
    statuses = container_statuses(pod, SimulatedRuntime(), {})
    assert {(each.state, each.reason) for each in statuses} == {("waiting", reason)}
