"""The commands that end and begin things, against a node on a manual clock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import RESOURCE, data, ks, node, ok, plugin, pod


@pytest.fixture
def manual_root(root: Path) -> Iterator[Path]:
    """The root of a node whose clock stands still."""
    with node(root, "--clock", "manual"):
        yield root


def annotated(name: str, **annotations: str) -> str:
    """The manifest of a pod without devices, with annotations of ours, `exit_main` for `exit.kubelet-sim/main`."""
    manifest: dict[str, Any] = json.loads(pod(name))
    del manifest["spec"]["containers"][0]["resources"]
    manifest["metadata"]["annotations"] = {
        key.replace("_", ".kubelet-sim/", 1): value for key, value in annotations.items()
    }
    return json.dumps(manifest)


def row(root: Path, name: str) -> list[str]:
    """READY, STATUS and RESTARTS of a pod."""
    lines = ok("get", "pods", name, root=root).splitlines()
    return lines[1].split()[2:5]


def test_a_container_that_crashes(manual_root: Path) -> None:
    """It restarts at once, then after ten seconds of the clock; `get pods` shows it as kubectl does."""
    ok("apply", "-f", "-", root=manual_root, text=annotated("p"))
    ok("wait", "--for", "pod/p=Running", root=manual_root)
    assert row(manual_root, "p") == ["1/1", "Running", "0"]
    said = ok("exit", "p", "--code", "3", root=manual_root)
    assert said == "container main of pod p ended with exit code 3\n"
    ok("advance", "0", root=manual_root)
    assert row(manual_root, "p") == ["1/1", "Running", "1"]
    ok("exit", "p", "main", root=manual_root)
    ok("advance", "0", root=manual_root)
    assert row(manual_root, "p") == ["0/1", "CrashLoopBackOff", "1"]
    done = ks("exit", "p", root=manual_root)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "does not run: it is waiting (CrashLoopBackOff)" in done.stderr
    ok("advance", "10s", root=manual_root)
    assert row(manual_root, "p") == ["1/1", "Running", "2"]
    assert "exit" not in ok("describe", "pod", "p", root=manual_root).splitlines()[0]


def test_a_node_without_a_kubelet(manual_root: Path) -> None:
    """What needs one says so in one line; pods can be applied and deleted, and the next kubelet deals with them."""
    with plugin(manual_root):
        ok("apply", "-f", "-", root=manual_root, text=pod("p"))
        ok("wait", "--for", "pod/p=Running", root=manual_root)
        assert ok("crash", root=manual_root).startswith("kubelet crashed")
        done = ks("crash", root=manual_root)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "no kubelet runs on this node; start or restart it" in done.stderr
        assert "none runs" in ok("get", "node", root=manual_root)
        assert "kubelet-sim start" in ok("describe", "node", root=manual_root)
        assert row(manual_root, "p")[1] == "Running"
        assert data("get", "allocations", root=manual_root) == []
        ok("apply", "-f", "-", root=manual_root, text=annotated("q"))
        ok("delete", "pod", "p", root=manual_root)
        assert ok("start", root=manual_root) == "kubelet started\n"
        done = ks("start", root=manual_root)
        assert (done.returncode, "runs on this node already" in done.stderr) == (2, True)
        ok("wait", "--for", "pod/q=Running", root=manual_root)
        ok("wait", "--for", f"resource/{RESOURCE}=4", root=manual_root)
        (view,) = data("get", "resources", RESOURCE, root=manual_root)
        assert view["allocated"] == 1


def test_a_reboot_and_a_late_socket(manual_root: Path) -> None:
    """Every container ends; the socket is there when its time has come, and the plugin only then."""
    socket = manual_root / "device-plugins" / "kubelet.sock"
    with plugin(manual_root):
        ok("apply", "-f", "-", root=manual_root, text=pod("p"))
        ok("wait", "--for", "pod/p=Running", root=manual_root)
        assert ok("reboot", "--shuffle", "1", root=manual_root) == "node rebooted\n"
        assert row(manual_root, "p") == ["0/1", "UnexpectedAdmissionError", "0"]
        said = ok("restart", "--socket-after", "30s", "--lose-checkpoint", root=manual_root)
        assert said == "kubelet restarted; its socket appears in 30s\n"
        assert not socket.exists()
        ok("advance", "30s", root=manual_root)
        ok("wait", "--for", f"resource/{RESOURCE}=4", root=manual_root)
        assert socket.is_socket()
        assert ok("restart", "--lose-directory", root=manual_root) == "kubelet restarted\n"
        ok("wait", "--for", f"resource/{RESOURCE}=4", root=manual_root)


def test_ways_to_delete_a_pod(manual_root: Path) -> None:
    """With a grace period, now, by force, and without waiting for it."""
    for name in ("slow", "now", "forced"):
        ok("apply", "-f", "-", root=manual_root, text=annotated(name, stop_main="20s"))
        ok("wait", "--for", f"pod/{name}=Running", root=manual_root)
    assert ok("delete", "pod", "slow", "--no-wait", root=manual_root) == "pod/slow deleted\n"
    assert row(manual_root, "slow")[1] == "Terminating"
    ok("advance", "20s", root=manual_root)
    ok("wait", "--for", "pod/slow=deleted", root=manual_root)
    ok("delete", "pod", "now", "--now", "--no-wait", root=manual_root)
    ok("advance", "1s", root=manual_root)
    ok("wait", "--for", "pod/now=deleted", root=manual_root)
    assert ok("delete", "pod", "forced", "--force", root=manual_root) == "pod/forced force deleted\n"
    assert data("get", "pods", root=manual_root) == []
    done = ks("delete", "pod", "x", "--now", "--grace-period", "3", root=manual_root)
    assert (done.returncode, "--now is a grace period of its own" in done.stderr) == (2, True)


def test_a_job_and_a_pod_that_makes_no_sense(manual_root: Path) -> None:
    """A scripted end brings the pod to its phase; an annotation that says nothing is one line, and nothing is applied."""
    job = json.loads(annotated("job", exit_main="0 after 90s"))
    job["spec"]["restartPolicy"] = "Never"
    ok("apply", "-f", "-", root=manual_root, text=json.dumps(job))
    ok("wait", "--for", "pod/job=Running", root=manual_root)
    ok("advance", "90s", root=manual_root)
    ok("wait", "--for", "pod/job=Succeeded", root=manual_root)
    assert row(manual_root, "job") == ["0/1", "Completed", "0"]
    done = ks("apply", "-f", "-", root=manual_root, text=annotated("odd", exit_main="soon"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "exit.kubelet-sim/main" in done.stderr
    assert [view["name"] for view in data("get", "pods", root=manual_root)] == ["job"]
