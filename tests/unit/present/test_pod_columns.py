"""READY, STATUS and RESTARTS as kubectl works them out."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.model.views import ContainerView, PodView
from kubelet_sim.present.pod_columns import ready_text, restarts_text, status_text


def running(name: str = "c", kind: str = "app", **more: Any) -> ContainerView:
    """A container that runs."""
    return ContainerView(name, kind, "running", is_ready=kind != "init", id="1", **more)


def waiting(reason: str, name: str = "c", kind: str = "app", **more: Any) -> ContainerView:
    """One that waits."""
    return ContainerView(name, kind, "waiting", reason, **more)


def ended(code: int, name: str = "c", kind: str = "app", **more: Any) -> ContainerView:
    """One that is over; an init container that has ended well is ready."""
    reason = "Error" if code else "Completed"
    ready = kind == "init" and code == 0
    return ContainerView(name, kind, "exited", reason, exit_code=code, is_ready=ready, id="1", **more)


INIT: dict[str, Any] = {"name": "i", "kind": "init"}
SIDE: dict[str, Any] = {"name": "s", "kind": "sidecar"}


def pod(*containers: ContainerView, phase: str = "Running", **more: Any) -> PodView:
    """A pod with these."""
    return PodView("p", "default", "uid", phase, containers=containers, **more)


@pytest.mark.parametrize(
    "view, ready, status",
    [
        (pod(running()), "1/1", "Running"),
        (pod(waiting("ContainerCreating"), phase="Pending"), "0/1", "ContainerCreating"),
        (pod(waiting(""), phase="Pending"), "0/1", "Pending"),
        (pod(waiting("CrashLoopBackOff", id="1")), "0/1", "CrashLoopBackOff"),
        (pod(ended(0), phase="Succeeded"), "0/1", "Completed"),
        (pod(ended(1), phase="Failed"), "0/1", "Error"),
        (pod(ended(0), running("d")), "1/2", "NotReady"),
        (pod(running("d"), ended(1)), "1/2", "Error"),
        (pod(waiting("", **INIT), waiting(""), phase="Pending"), "0/1", "Init:0/1"),
        (pod(running(**INIT), waiting("PodInitializing"), phase="Pending"), "0/1", "Init:0/1"),
        (pod(ended(0, **INIT), waiting("PodInitializing"), phase="Pending"), "0/1", "PodInitializing"),
        (pod(ended(3, **INIT), waiting("PodInitializing"), phase="Failed"), "0/1", "Init:Error"),
        (pod(waiting("CrashLoopBackOff", **INIT), waiting("PodInitializing")), "0/1", "Init:CrashLoopBackOff"),
        (pod(running(**SIDE), waiting("", **INIT), waiting("")), "1/2", "Init:1/2"),
        (pod(running(**SIDE), running()), "2/2", "Running"),
        (pod(waiting("CrashLoopBackOff", **SIDE), running()), "1/2", "Running"),
        (pod(running(), is_deleting=True), "1/1", "Terminating"),
        (pod(running(), phase="Failed", reason="UnexpectedAdmissionError"), "1/1", "UnexpectedAdmissionError"),
    ],
)
def test_ready_and_status(view: PodView, ready: str, status: str) -> None:
    """What there is to say instead of the phase comes first, init containers before the others."""
    assert (ready_text(view), status_text(view)) == (ready, status)


def test_restarts_are_counted_together() -> None:
    """With the time since the last one; those of init containers only as long as these hold up the others."""
    crashed = running(restart_count=2, last_finished_at_s=10.0)
    assert restarts_text(pod(crashed, running("d", restart_count=1, last_finished_at_s=15.0)), 20.0) == "3 (5s ago)"
    assert restarts_text(pod(ended(0, **INIT, restart_count=4), running()), 20.0) == "0"
    failing = waiting("CrashLoopBackOff", **INIT, restart_count=4, last_finished_at_s=1.0)
    assert restarts_text(pod(failing, waiting("PodInitializing")), 20.0) == "4 (19s ago)"
