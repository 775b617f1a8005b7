"""`podresources`, in a process of its own, as an exporter is one."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.running import RESOURCE, data, ks, ok, plugin, pod


def test_what_exporters_see(running_root: Path) -> None:
    """The node is found by its root, or the socket by its path; all three calls and both versions answer.

    Rules: PR-1, PR-4, PR-16, PR-22
    """
    socket = running_root / "pod-resources" / "kubelet.sock"
    assert ks("podresources", "list", root=running_root).stderr == "nothing\n"
    with plugin(running_root):
        ok("apply", "-f", "-", root=running_root, text=pod("p", 2))
        ok("wait", "--for", "pod/p=Running", root=running_root)
        table = ok("podresources", "list", root=running_root)
        assert f"default     p     main        {RESOURCE}" in table
        found = data("podresources", "get", "default/p", root=running_root)["pod_resources"]
        by_path = data("podresources", "list", "--socket", socket, root=running_root.parent)
        assert by_path == {"pod_resources": [found]}
        ids = sorted(name for each in found["containers"][0]["devices"] for name in each["device_ids"])
        assert len(ids) == 2
        (allocation,) = data("get", "allocations", "p", root=running_root)
        assert sorted(name for each in allocation["devices"] for name in each["ids"]) == ids
        older = data("podresources", "list", "--api", "v1alpha1", root=running_root)
        assert set(older["pod_resources"][0]["containers"][0]) == {"name", "devices"}
        shown = data("podresources", "allocatable", root=running_root)
        assert len(shown["devices"]) == 4
        refused = ks("podresources", "get", "nothing", root=running_root)
        assert (refused.returncode, refused.stdout) == (1, "")
        expected = "refused: pod nothing in namespace default not found (Unknown)"
        assert refused.stderr == f"error: the kubelet at {socket} {expected}\n"


def test_the_rate_limit_is_told(running_root: Path) -> None:
    """The clock stands still here, so that ten calls are answered, and the next one when time has passed. Rules: PR-6"""
    for _ in range(10):
        assert ks("podresources", "list", root=running_root).returncode == 0
    refused = ks("podresources", "list", root=running_root)
    assert refused.returncode == 1
    assert "rejected by rate limit (ResourceExhausted)" in refused.stderr
    ok("advance", "1s", root=running_root)
    assert ks("podresources", "list", root=running_root).returncode == 0


def test_a_node_that_is_gone(running_root: Path) -> None:
    """One line that says so."""
    shutil.move(running_root / "pod-resources", running_root / "moved")
    done = ks("podresources", "allocatable", root=running_root)
    assert done.returncode == 3
    assert done.stderr.startswith(f"error: there is no socket {running_root}/pod-resources/kubelet.sock")
