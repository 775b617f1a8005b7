"""`container-spec` in all its forms, `bundle` and `exec-check`, on a node with an example plugin."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import PROGRAM, RESOURCE, data, ks, ks_process, ok, plugin, started, stop, until
from tests.unit.container.cri_messages import read
from tests.unit.container.parts import check_oci

MANIFEST = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {
        "volumes": [{"name": "v", "emptyDir": {}}],
        "containers": [
            {
                "name": "main",
                "image": "busybox",
                "command": ["sh", "-c", "echo $(NVIDIA_VISIBLE_DEVICES)"],
                "env": [{"name": "OWN", "value": "1"}],
                "volumeMounts": [{"name": "v", "mountPath": "/data"}],
                "resources": {"limits": {RESOURCE: 1}},
            }
        ],
    },
}


def _with_pod(root: Path) -> str:
    """Put the pod there; the id that it was granted."""
    ok("apply", "-f", "-", root=root, text=json.dumps(MANIFEST))
    ok("wait", "--for", "pod/p=Running", root=root)
    envs: dict[str, str] = data("container-spec", "p", root=root)["envs"]
    return envs["NVIDIA_VISIBLE_DEVICES"]


def test_the_forms_of_a_container(running_root: Path) -> None:
    """CRI and OCI are what their readers take, with the plugin's variable expanded; the explanation has its origin."""
    with plugin(running_root):
        granted = _with_pod(running_root)
        message = read(json.loads(ok("container-spec", "p", "-o", "cri", root=running_root)))
        assert list(message.command) == ["sh", "-c", f"echo {granted}"]
        assert [each.key for each in message.envs] == ["NVIDIA_VISIBLE_DEVICES", "OWN"]
        assert message.mounts[0].host_path.startswith(str(running_root.resolve()))
        config = json.loads(ok("container-spec", "p", "main", "-o", "oci", root=running_root))
        check_oci(config)
        assert f"NVIDIA_VISIBLE_DEVICES={granted}" in config["process"]["env"]
        text = ok("container-spec", "p", "--explain", root=running_root)
        assert f"plugin {RESOURCE}" in text
        assert "What a runtime would say:\n  nothing" in text
        told: Any = data("container-spec", "p", "--explain", root=running_root)
        assert told["entries"][0]["name"] == RESOURCE


def test_an_explanation_in_another_form(running_root: Path) -> None:
    """It has none of a runtime's; nor is a file a directory of spec files. One line, exit code 2."""
    with plugin(running_root):
        _with_pod(running_root)
        for wrong in (("--explain", "-o", "cri"), ("--explain", "-o", "oci"), ("-o", "oci", "--cdi-dir", __file__)):
            done = ks("container-spec", "p", *wrong, root=running_root)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_bundle_is_a_directory_with_everything_in_it(running_root: Path, short_root: Path) -> None:
    """A directory with everything in it; not in one that is full, and not for a container that there is not."""
    with plugin(running_root):
        _with_pod(running_root)
        place = short_root / "bundle"
        assert "bundle written" in ok("bundle", "p", "main", place, root=running_root)
        check_oci(json.loads((place / "config.json").read_text()))
        assert (place / "rootfs").is_dir()
        full = ks("bundle", "p", "main", place, root=running_root)
        assert (full.returncode, "is not empty" in full.stderr) == (2, True)
        alone = short_root / "alone"
        assert "bundle written" in ok("bundle", "p", alone, root=running_root)
        check_oci(json.loads((alone / "config.json").read_text()))
        nobody = ks("bundle", "p", "other", short_root / "next", root=running_root)
        assert (nobody.returncode, nobody.stderr.count("\n")) == (2, 1)


def test_a_container_that_a_runtime_would_refuse(running_root: Path, short_root: Path) -> None:
    """Exit code 1, and the reason with the files that were read; the explanation tells the rest all the same."""
    sockets, specs = str(running_root / "device-plugins"), short_root / "cdi"
    command = (sys.executable, "-m", "plugins_examples.cdi", "--socket-dir", sockets, "--cdi-dir", str(specs))
    with started(*command, output=subprocess.DEVNULL):
        ok("wait", "--for", "resource/example.com/fpga=4", root=running_root)
        wanted = {"name": "main", "image": "x", "resources": {"limits": {"example.com/fpga": 1}}}
        ok("apply", "-f", "-", root=running_root, text=json.dumps({**MANIFEST, "spec": {"containers": [wanted]}}))
        ok("wait", "--for", "pod/p=Running", root=running_root)
        good = json.loads(ok("container-spec", "p", "-o", "oci", "--cdi-dir", specs, root=running_root))
        assert good["linux"]["devices"][0]["path"] == "/dev/fpga/card0"
        for more in (("-o", "oci"), ("--explain",)):
            bad = ks("container-spec", "p", *more, "--cdi-dir", short_root / "none", root=running_root)
            assert bad.returncode == 1
            assert "unresolvable CDI devices example.com/fpga=card0" in bad.stdout + bad.stderr
            assert bad.stderr.count("\n") == 1
        refused = ks("bundle", "p", "main", short_root / "b", "--cdi-dir", short_root / "none", root=running_root)
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


@pytest.mark.runtime
def test_a_container_is_really_started(running_root: Path) -> None:
    """What it was granted is there, and the command's output comes back; with 3 where nothing can start."""
    with plugin(running_root):
        granted = _with_pod(running_root)
        done = ks_process(
            "exec-check", "p", "main", "-o", "json", "--", "sh", "-c", "echo got $NVIDIA_VISIBLE_DEVICES; exit 0",
            root=running_root,
        )  # fmt: skip
        if done.returncode == 3:
            assert done.stderr.count("\n") == 1
            pytest.skip(f"this machine cannot start containers: {done.stderr}")
        assert (done.returncode, done.stderr) == (0, "")
        seen = json.loads(done.stdout)
        assert f"got {granted}" in seen["output"]
        assert seen["env"]["NVIDIA_VISIBLE_DEVICES"] == granted
        assert all(each["there"] for each in seen["compared"])
        failed = ks_process("exec-check", "p", "--", "false", root=running_root)
        assert (failed.returncode, failed.stderr) == (1, "error: the command ended with 1\n")


@pytest.mark.runtime
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_container_ends_with_the_command(running_root: Path, short_root: Path, number: signal.Signals) -> None:
    """Whichever signal ends it: neither the container nor its folder stay, and the exit code is that of Ctrl-C."""
    with plugin(running_root):
        _with_pod(running_root)
        temporary = short_root / "t"
        temporary.mkdir()
        check = (*PROGRAM, "exec-check", "p", "main", "--root", str(running_root), "--", "sleep", "557")
        with started("env", f"TMPDIR={temporary}", *check) as process:
            until(lambda: process.poll() is not None or any(temporary.glob("ks-bundle-*/bundle/probe/report/done")))
            if process.poll() == 3:
                pytest.skip("this machine cannot start containers")
            held = [each for each in Path("/proc").glob("[0-9]*") if str(temporary) in _words(each)]
            assert held
            assert stop(process, number) == 130
            assert not list(temporary.iterdir())
            until(lambda: not any(str(temporary) in _words(each) for each in held))


def _words(process: Path) -> str:
    """The command line of a process, empty if it has ended."""
    try:
        return (process / "cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def test_without_a_runtime_one_line_says_what_is_missing(running_root: Path) -> None:
    """One line that says what is missing, exit code 3; 2 for no time at all."""
    with plugin(running_root):
        _with_pod(running_root)
        never = ks("exec-check", "p", "main", "--timeout", "0", root=running_root)
        assert (never.returncode, never.stdout, never.stderr.count("\n")) == (2, "", 1)
        done = ks("exec-check", "p", "main", "--runtime", "no-such-runtime", root=running_root)
        assert (done.returncode, done.stdout) == (3, "")
        assert "no-such-runtime" in done.stderr
        assert done.stderr.count("\n") == 1
