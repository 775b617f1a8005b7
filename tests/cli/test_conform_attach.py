"""`conform` and the ways in which a plugin gets there: by hand, by `exec`, in a container, with the directory compiled in."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kubelet_sim.node.plugin.isolation import DEVICE_PLUGIN_DIR, LAUNCHER
from tests.cli.running import (
    PLUGIN,
    PROGRAM,
    RESOURCE,
    WHY_NO_NAMESPACES,
    ks,
    node,
    ok,
    started,
    stop,
)
from tests.patience import PATIENCE_S

CONFORM = ("conform", "--seed", "1", "--json", "report.json")
ISOLATED = pytest.mark.skipif(WHY_NO_NAMESPACES is not None, reason=f"no mount namespace here: {WHY_NO_NAMESPACES}")
NEEDS_A_START = "needs to start the plugin itself: give its command behind -- instead of --attach"


def conform(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run it in the folder, where its report goes."""
    own = {"XDG_CACHE_HOME": str(folder / "cache"), "GITHUB_ACTIONS": ""}
    return ks(*CONFORM, *arguments, cwd=folder, env=own)


def report(folder: Path) -> Any:
    """Of the run against the one kubelet."""
    (run,) = json.loads((folder / "report.json").read_text(encoding="utf-8"))["runs"]
    return run


def statuses(folder: Path) -> dict[str, str]:
    """What came of each check."""
    return {each["check"]: each["status"] for each in report(folder)["outcomes"]}


def test_a_plugin_that_was_started_by_hand(root: Path, tmp_path: Path) -> None:
    """Before there is a node: it is tested, twice, and goes on; what needs a start of ours is skipped, with a reason."""
    directory = root / "device-plugins"
    directory.mkdir(parents=True)
    with started(*PLUGIN, "--socket-dir", str(directory), output=subprocess.DEVNULL) as plugin:
        for more in ((), ("--select", "shutdown-exit-prompt")):
            wanted = ("--select", "scale-parallel-rpcs", "--select", "restart-reregister", *more)
            done = conform("--attach", "--root", root, *wanted, folder=tmp_path)
            assert (done.returncode, done.stderr) == (0, "")
            assert f"note: waiting up to 30 s for a plugin that registers at {directory}/kubelet.sock" in done.stdout
            assert report(tmp_path)["about"]["resources"] == [RESOURCE]
            expected = {"scale-parallel-rpcs": "passed", "restart-reregister": "passed"}
            assert statuses(tmp_path) == expected | ({"shutdown-exit-prompt": "skipped"} if more else {})
            assert (NEEDS_A_START in done.stdout) == bool(more)
            assert not (directory / "kubelet.sock").exists()
        assert plugin.poll() is None


@ISOLATED
def test_a_plugin_that_exec_has_started(root: Path, tmp_path: Path) -> None:
    """With the directory compiled in, on a node of `run`: while that runs `conform` says what to do, then the plugin comes over."""
    with node(root) as run, started(*PROGRAM, "exec", "--root", str(root), "--", *PLUGIN) as plugin:
        ok("wait", "--for", f"resource/{RESOURCE}=4", root=root)
        refused = conform("--attach", "--root", root, "--quick", folder=tmp_path)
        assert refused.returncode == 2
        assert f"a node is running in {root} already" in refused.stderr
        assert "plugins that run there register with it" in refused.stderr
        assert stop(run, signal.SIGINT) == 0
        done = conform("--attach", "--root", root, "--quick", folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert statuses(tmp_path)["alloc-realloc-after-free"] == "passed"
        assert plugin.poll() is None


@ISOLATED
def test_a_plugin_that_exec_starts_on_the_node_of_conform(root: Path, tmp_path: Path) -> None:
    """The other way round: `conform` waits for it."""
    command = (*PROGRAM, "conform", "--quick", "--attach", "--root", str(root), "--json", str(tmp_path / "report.json"))
    with started(*command) as run:
        assert run.stdout is not None
        assert "waiting up to 30 s" in run.stdout.readline()
        with started(*PROGRAM, "exec", "--root", str(root), "--", *PLUGIN, output=subprocess.DEVNULL):
            assert run.wait(PATIENCE_S) == 0
    assert report(tmp_path)["about"]["resources"] == [RESOURCE]


def test_nobody_comes(root: Path, tmp_path: Path) -> None:
    """No plugin was there to be tested: that is no verdict, and it is said where one was waited for."""
    done = conform("--attach", "--root", root, "--quick", "--start-timeout", "1s", folder=tmp_path)
    assert done.returncode == 3
    assert f"no Register call came within 1 s at {root}/device-plugins/kubelet.sock" in done.stdout
    assert f"never got ready: nobody registered at {root}/device-plugins/kubelet.sock" in done.stdout
    assert "could not be tested" in done.stdout


@ISOLATED
def test_a_plugin_in_a_container(tmp_path: Path) -> None:
    """Its engine mounts the node's directory where the plugin looks; it is not held against the plugin what such a mount does."""
    engine = tmp_path / "engine"
    # `engine run -v SOURCE:TARGET IMAGE COMMAND`, as much of a container as this takes
    engine.write_text(
        "#!/bin/sh\n"
        'shift 2; source="${1%%:*}"; target="${1#*:}"; shift 2\n'
        f'exec {" ".join(LAUNCHER)} --bind "$source" "$target" -- "$@"\n'
    )
    engine.chmod(0o755)
    wanted = ("restart-dir-recreated", "sock-missing-dir-error", "sock-dir-configurable", "restart-reregister")
    options = [word for id_ in (*wanted, "shutdown-socket-removed") for word in ("--select", id_)]
    mount = "{dir}:" + DEVICE_PLUGIN_DIR
    container = (engine, "run", "-v", mount, "example.com/my-plugin", *PLUGIN)
    done = conform("--isolate", "none", *options, "--", *container, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert statuses(tmp_path) == {
        "restart-dir-recreated": "skipped",
        "sock-missing-dir-error": "skipped",
        "sock-dir-configurable": "passed",
        "restart-reregister": "passed",
        "shutdown-socket-removed": "passed",
    }
    assert "info: sock-dir-configurable: the plugin found the directory by itself" in done.stdout


@ISOLATED
def test_a_plugin_with_the_directory_compiled_in(tmp_path: Path) -> None:
    """It finds the node where a kubelet would be, and the machine's own directory, there or not, is as it was."""
    host = Path(DEVICE_PLUGIN_DIR)
    before = sorted(host.iterdir()) if host.is_dir() else None
    done = conform("--isolate", "namespace", "--quick", "--", *PLUGIN, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert report(tmp_path)["about"]["resources"] == [RESOURCE]
    assert (sorted(host.iterdir()) if host.is_dir() else None) == before
