from __future__ import annotations

import pytest
from attrs import evolve

from kubelet_sim.cli.helpers.wait_conditions import HealthyDevices, PodDeleted, PodPhase, parse_condition
from kubelet_sim.errors import UsageError
from tests.unit.present.snapshots import SNAPSHOT


@pytest.mark.parametrize(
    "text, condition",
    [
        ("resource/example.com/gpu=4", HealthyDevices("example.com/gpu", 4)),
        ("resource/a=b=0", HealthyDevices("a=b", 0)),
        ("pod/p=running", PodPhase("default", "p", "Running")),
        ("pod/p=FAILED", PodPhase("default", "p", "Failed")),
        ("pod/n/p=Pending", PodPhase("n", "p", "Pending")),
        ("pod/n/p=Deleted", PodDeleted("n", "p")),
    ],
)
def test_a_condition_is_read(text: str, condition: object) -> None:
    """Names may hold slashes, phases are written in any case."""
    assert parse_condition(text) == condition


@pytest.mark.parametrize(
    "text",
    ["", "pod/p", "pod/=Running", "node/n=1", "resource/r=", "resource/r=-1", "resource/r=٣", "pod/p=Done", "r=1"],
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    """The error shows the whole text, since a shell may have eaten a part of it."""
    with pytest.raises(UsageError) as caught:
        parse_condition(text)
    assert repr(text) in str(caught.value)


def test_a_resource_is_met_by_its_healthy_devices() -> None:
    """Unhealthy ones do not count, and a resource that nobody knows has none."""
    assert parse_condition("resource/example.com/gpu=2").look(SNAPSHOT).is_met
    missed = parse_condition("resource/example.com/gpu=3").look(SNAPSHOT)
    assert (missed.is_met, missed.is_final) == (False, False)
    assert "2 healthy and 1 unhealthy" in missed.text
    unknown = parse_condition("resource/example.com/fpga=1").look(SNAPSHOT)
    assert not unknown.is_met
    assert "example.com/gpu" in unknown.text
    assert parse_condition("resource/example.com/fpga=0").look(SNAPSHOT).is_met


def test_a_pod_that_has_ended_is_final() -> None:
    """Waiting for another phase is over at once, with the reason of the end."""
    seen = parse_condition("pod/other/b=Running").look(SNAPSHOT)
    assert (seen.is_met, seen.is_final) == (False, True)
    assert seen.text == "the pod is Failed: UnexpectedAdmissionError: Pod was rejected: why"
    assert parse_condition("pod/other/b=Failed").look(SNAPSHOT).is_met


def test_a_pod_that_waits_says_why() -> None:
    """The container that cannot be created is named."""
    seen = parse_condition("pod/c=Running").look(SNAPSHOT)
    assert (seen.is_met, seen.is_final) == (False, False)
    assert seen.text == "the pod is Pending: c: CreateContainerConfigError: no"


def test_a_pod_may_come_later_and_go() -> None:
    """A pod that is not there may still come, and is deleted as far as anybody can tell."""
    nobody = evolve(SNAPSHOT, pods=())
    seen = parse_condition("pod/a=Running").look(nobody)
    assert (seen.is_met, seen.is_final) == (False, False)
    assert parse_condition("pod/a=deleted").look(nobody).is_met
    assert not parse_condition("pod/a=deleted").look(SNAPSHOT).is_met


def test_a_pod_that_runs_without_a_device_is_noted() -> None:
    """It is Running, so the condition is met; the surprise is told (DM-81)."""
    odd = evolve(SNAPSHOT, pods=(evolve(SNAPSHOT.pods[0], missing=("example.com/typo",)),))
    seen = parse_condition("pod/a=Running").look(odd)
    assert (seen.is_met, seen.note) == (True, "the pod runs without example.com/typo [DM-81]")
    assert parse_condition("pod/a=Running").look(SNAPSHOT).note == ""
