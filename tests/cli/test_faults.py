"""Faults from the command line, on a node and a plugin as processes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import RESOURCE, data, ks, node, ok, plugin, pod, until
from tests.patience import PATIENCE_S


@pytest.fixture
def running(root: Path) -> Iterator[Path]:
    """The root of a node."""
    with node(root):
        yield root


def state(pid: int) -> str:
    """The state of a process, `T` if it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_fault_is_injected_listed_and_undone(running: Path) -> None:
    """Each command says what came of it; `-o json` has the same."""
    did = ok("fault", "refuse-register", "--reason", "dial", "--count", 2, root=running)
    undo = "undo: fault undo 1, and registrations count again; it ends by itself after 2"
    assert did == f"Register is refused from now on ({undo})\n"
    [listed] = data("fault", "list", root=running)
    assert (listed["name"], listed["applied"], listed["arguments"]["count"]) == ("refuse-register", 0, 2)
    assert "1   refuse-register  never    Register is refused" in ok("fault", "list", root=running)
    assert "fault    " in ok("trace", root=running)
    assert ok("fault", "undo", 1, root=running) == "fault 1 refuse-register undone; it applied never\n"
    assert ok("fault", "list", root=running) == "no faults are active\n"
    assert ok("fault", "undo", "--all", root=running) == "no faults are active\n"


@pytest.mark.parametrize(
    "command, why",
    [
        (("fault", "no-such-fault"), "there is no fault 'no-such-fault'"),
        (("fault", "cut-stream"), "no plugin has an open stream"),
        (("fault", "undo", "7"), "no fault 7 is active"),
        (("fault", "undo"), "name the ids of faults"),
        (("fault", "slow-stream", "--seconds", "soon"), "soon"),
        (("fault", "refuse-register", "--reason", "odd"), "odd"),
    ],
)
def test_what_cannot_be_is_one_line(shared_root: Path, command: tuple[str, ...], why: str) -> None:
    """And exit code 2: it is the caller's mistake."""
    done = ks(*command, root=shared_root)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_plugin_is_stopped_and_goes_on(running: Path) -> None:
    """SIGSTOP until the fault is undone; calls do not come back meanwhile. Rules: DM-41"""
    with plugin(running) as process:
        ok("fault", "stop-plugin", "--resource", RESOURCE, root=running)
        until(lambda: state(process.pid) == "T")
        told = ok("fault", "allocate", "--within", "200ms", root=running)
        assert "was not answered within 0.2 s" in told
        ok("fault", "undo", "--all", root=running)
        until(lambda: state(process.pid) != "T")
        assert "was answered" in ok("fault", "allocate-at-once", root=running)


def test_a_stopped_plugin_goes_on_when_the_node_ends(root: Path) -> None:
    """Nobody is left hanging."""
    with node(root) as running_node, plugin(root) as process:
        ok("fault", "stop-plugin", root=root)
        until(lambda: state(process.pid) == "T")
        running_node.send_signal(signal.SIGTERM)
        assert running_node.wait(PATIENCE_S) == 0
        until(lambda: process.poll() is not None or state(process.pid) != "T")


@pytest.mark.parametrize("fault, code", [("kill-plugin", -signal.SIGKILL), ("terminate-plugin", 0)])
def test_a_plugin_is_ended(running: Path, fault: str, code: int) -> None:
    """By a signal; its devices are unhealthy then. Rules: DM-42, DM-44"""
    with plugin(running) as process:
        ok("fault", fault, "--socket", data("get", "plugins", root=running)[0]["socket_name"], root=running)
        assert process.wait(PATIENCE_S) == code
        until(lambda: data("get", "resources", root=running)[0]["healthy"] == 0)


def test_a_plugin_is_killed_inside_a_call(running: Path) -> None:
    """The pod that waited for it is rejected, and the fault has ended. Rules: DM-78"""
    with plugin(running) as process:
        ok("fault", "kill-in-call", "--call", "Allocate", "--after", "0", root=running)
        ok("apply", "-f", "-", root=running, text=pod("one"))
        assert process.wait(PATIENCE_S) == -signal.SIGKILL
        until(lambda: data("fault", "list", root=running) == [])
        until(lambda: [each["reason"] for each in data("get", "pods", root=running)] == ["UnexpectedAdmissionError"])


def test_faults_are_told_of_without_a_node() -> None:
    """All in short, one in full."""
    assert "half-open-stream" in ks("fault", "show").stdout
    one = ks("fault", "show", "double-stream").stdout
    assert "No kubelet does this" in one
    assert ks("fault", "show", "odd").returncode == 2
