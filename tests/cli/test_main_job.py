from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import (
    PLUGIN,
    PROGRAM,
    RESOURCE,
    WHY_NO_NAMESPACES,
    data,
    ks,
    ks_process,
    node,
    ok,
    plugin,
    pod,
    started,
    stop,
    until,
)
from tests.patience import PATIENCE_S

needs_namespaces = pytest.mark.skipif(WHY_NO_NAMESPACES is not None, reason=str(WHY_NO_NAMESPACES))


def node_annotations(root: Path) -> dict[str, str]:
    """What only an emulated node says of itself."""
    found: dict[str, str] = data("get", "node", root=root)["metadata"]["annotations"]
    return {name.removeprefix("kubelet-sim/"): text for name, text in found.items()}


def test_a_pod_gets_devices(running_root: Path) -> None:
    """A plugin registers, a pod is applied, its container spec has what the plugin granted, and all of it can be seen."""
    with plugin(running_root):
        assert ok("apply", "-f", "-", root=running_root, text=pod("p", 2)) == "pod/p created\n"
        assert ok("wait", "--for", "pod/p=running", root=running_root) == "pod/p=running: met\n"
        spec = data("container-spec", "p", root=running_root)
        granted = spec["envs"]["NVIDIA_VISIBLE_DEVICES"].split(",")
        (allocation,) = data("get", "allocations", root=running_root)
        assert allocation["devices"] == [{"numa_node": -1, "ids": sorted(granted)}]
        devices = data("get", "devices", RESOURCE, root=running_root)
        assert {each["id"] for each in devices if each["is_allocated"]} == set(granted)
        assert len(devices) == 4
        assert data("get", "resources", root=running_root)[0]["node_capacity"] is None
        assert ok("advance", "11s", root=running_root).startswith("11s passed")
        assert data("get", "resources", root=running_root)[0]["node_capacity"] == "4"
        assert data("get", "plugins", root=running_root)[0]["state"] == "live"
        assert node_annotations(running_root)["now-s"] == "11.000"
        for kind in ("node", "resources", "devices", "plugins", "pods", "allocations", "events"):
            assert ok("get", kind, root=running_root)
        assert ok("get", "pods", "-o", "name", root=running_root) == "pod/default/p\n"
        assert f"NVIDIA_VISIBLE_DEVICES={','.join(granted)}" in ok("container-spec", "default/p", root=running_root)
        assert ok("delete", "pod", "p", root=running_root) == "pod/p deleted\n"
        ok("wait", "--for", "pod/p=deleted", root=running_root)
        empty = ks("get", "pods", root=running_root)
        assert (empty.returncode, empty.stdout, empty.stderr) == (0, "", "no pods\n")


def test_a_restart_keeps_containers_and_brings_the_plugin_back(running_root: Path) -> None:
    """The plugin sees the new socket and registers again; the pod holds what it held."""
    with plugin(running_root):
        ok("apply", "-f", "-", root=running_root, text=pod("p", 3))
        ok("wait", "--for", "pod/p=Running", root=running_root)
        before = data("get", "allocations", root=running_root)
        assert ok("restart", root=running_root) == "kubelet restarted\n"
        ok("wait", "--for", f"resource/{RESOURCE}=4", root=running_root)
        assert data("get", "allocations", root=running_root) == before
        assert node_annotations(running_root)["kubelet-process"] == "2"
        assert data("get", "pods", root=running_root)[0]["phase"] == "Running"


def test_the_trace_tells_what_happened(running_root: Path) -> None:
    """The same records as lines and as JSON; a follower gets what comes, and ends with the node."""
    with started(*PROGRAM, "trace", "-f", "-o", "json", "--root", str(running_root)) as following:
        assert following.stdout is not None
        first = json.loads(following.stdout.readline())
        assert first["number"] == 1
        ok("apply", "-f", "-", root=running_root, text=pod("seen"))
        subjects = (json.loads(line)["subject"] for line in following.stdout)
        assert next(subject for subject in subjects if subject == "default/seen")
    lines = ok("trace", root=running_root).splitlines()
    records = [json.loads(line) for line in ok("trace", "-o", "json", root=running_root).splitlines()]
    assert len(lines) == len(records)
    assert [record["number"] for record in records] == list(range(1, len(records) + 1))
    assert "[DM-11]" in next(line for line in lines if "listening" in line)


def test_applying_is_all_or_nothing(running_root: Path, short_root: Path) -> None:
    """Several files, one of them twice the same pod: unchanged; a changed one: refused, and nothing was added."""
    first, second = short_root / "a.json", short_root / "b.json"
    first.write_text(pod("a") + "\n" + pod("b", namespace="n"), encoding="utf-8")
    second.write_text(pod("c"), encoding="utf-8")
    said = ok("apply", "-f", first, "-f", second, root=running_root)
    assert said.splitlines() == ["pod/a created", "pod/b in n created", "pod/c created"]
    assert ok("apply", "-f", second, root=running_root) == "pod/c unchanged\n"
    second.write_text(pod("d") + pod("c", 2), encoding="utf-8")
    refused = ks("apply", "-f", second, root=running_root)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "default/c already exists" in refused.stderr
    assert "d" not in {each["name"] for each in data("get", "pods", root=running_root)}


@pytest.mark.parametrize(
    "text, said",
    [
        ("kind: Service", "standard input, document 1, kind"),
        ("a: [", "standard input"),
        ("", "no pod"),
        (pod("p").replace('"p"', '"P\\u001b"'), "metadata.name"),
    ],
)
def test_a_bad_manifest_is_one_line(shared_root: Path, text: str, said: str) -> None:
    """File, document, path; nothing of it reaches the node."""
    done = ks("apply", "-f", "-", root=shared_root, text=text)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ")
    assert data("get", "pods", root=shared_root) == []


def test_deleting_as_with_kubectl(running_root: Path, short_root: Path) -> None:
    """Several at once, KIND/NAME, by file, all of a namespace; a pod that is not there does not keep the others."""
    file = short_root / "pods.json"
    file.write_text("\n".join([*(pod(name) for name in "abcdefg"), pod("x", namespace="n")]), encoding="utf-8")
    ok("apply", "-f", file, root=running_root)
    assert ok("delete", "pods", "a", "b", root=running_root) == "pod/a deleted\npod/b deleted\n"
    assert ok("delete", "pod/c", "po/d", root=running_root) == "pod/c deleted\npod/d deleted\n"
    missed = ks("delete", "pod", "nope", "e", root=running_root)
    assert (missed.returncode, missed.stdout) == (2, "pod/e deleted\n")
    assert "default/nope" in missed.stderr
    assert ok("delete", "pod", "--all", root=running_root) == "pod/f deleted\npod/g deleted\n"
    assert ok("get", "pod/n/x", "-A", "-o", "name", root=running_root) == "pod/n/x\n"
    ok("apply", "-f", file, root=running_root)
    deleted = ok("delete", "-f", file, root=running_root).splitlines()
    assert (len(deleted), deleted[-1]) == (8, "pod/x in n deleted")
    assert data("get", "pods", root=running_root) == []


@pytest.mark.parametrize("arguments", [[], ["pod"], ["service", "x"], ["pod", "x", "--all"], ["pod/"], ["pod/a", "b"]])
def test_deleting_what_is_not_said(shared_root: Path, arguments: list[str]) -> None:
    """Misuse, one line."""
    done = ks("delete", *arguments, root=shared_root)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_pod_without_its_device_and_a_variable_set_twice(running_root: Path) -> None:
    """Both are told: in the list of pods, by `wait`, and below the container spec; JSON has the spec alone."""
    manifest = json.loads(pod("p", 1))
    (container,) = manifest["spec"]["containers"]
    container["resources"]["limits"]["example.com/typo"] = 1
    container["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    with plugin(running_root):
        ok("apply", "-f", "-", root=running_root, text=json.dumps(manifest))
        waited = ks("wait", "--for", "pod/p=Running", root=running_root)
        assert (waited.returncode, waited.stdout) == (0, "pod/p=Running: met\n")
        assert waited.stderr == "note: the pod runs without example.com/typo [DM-81]\n"
        assert "Running (without example.com/typo)" in ok("get", "pods", root=running_root)
        last = ok("container-spec", "p", root=running_root).splitlines()[-1]
        assert last.startswith("note: the pod sets NVIDIA_VISIBLE_DEVICES, too: ")
        assert "note" not in data("container-spec", "p", root=running_root)


def test_waiting_no_time_is_looking_once(shared_root: Path) -> None:
    """What holds is met; what does not is exit 1 with what was seen."""
    assert ok("wait", "--for", "pod/nope=deleted", "--timeout", "0", root=shared_root) == "pod/nope=deleted: met\n"
    missed = ks("wait", "--for", "pod/nope=Running", "--timeout", "0", root=shared_root)
    assert missed.returncode == 1
    assert "there is no pod default/nope" in missed.stderr


def test_waiting_has_an_end(running_root: Path) -> None:
    """When the time is over, and at once for a pod that has ended otherwise: exit 1, with what was there instead."""
    late = ks("wait", "--for", f"resource/{RESOURCE}=1", "--timeout", "100ms", root=running_root)
    assert (late.returncode, late.stdout) == (1, "")
    assert "does not know this resource" in late.stderr
    with plugin(running_root):
        ok("apply", "-f", "-", root=running_root, text=pod("greedy", 9))
        failed = ks("wait", "--for", "pod/greedy=Running", "--timeout", "1h", root=running_root)
        assert failed.returncode == 1
        assert "UnexpectedAdmissionError" in failed.stderr
        assert failed.stderr.count("\n") == 1
        early = ks("container-spec", "greedy", root=running_root)
        assert early.returncode == 2
        assert "has not been created" in early.stderr


def is_connected(root: Path) -> bool:
    """Whether somebody is connected to the control socket, which the kernel knows by the name it was bound under."""
    path = str(root / "kubelet-sim" / ".control.new")
    return sum(line.endswith(path) for line in Path("/proc/net/unix").read_text(encoding="utf-8").splitlines()) > 1


def test_waiting_ends_with_the_node(root: Path) -> None:
    """Nobody waits for a node that is gone."""
    waiting_command = (*PROGRAM, "wait", "--for", "pod/p=Running", "--timeout", "1h", "--root", str(root))
    with node(root) as process, started(*waiting_command) as waiting:
        until(lambda: is_connected(root))
        assert stop(process, signal.SIGTERM) == 0
        assert waiting.wait(PATIENCE_S) == 3
        assert waiting.stdout is not None
        assert waiting.stdout.read().startswith("error: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["get", "pods"],
        ["restart"],
        ["advance", "1s"],
        ["trace"],
        ["delete", "pod", "p"],
        ["container-spec", "p"],
        ["wait", "--for", "pod/p=Running"],
        ["exec", "--", "true"],
    ],
)
def test_no_node_is_one_line(root: Path, arguments: list[str]) -> None:
    """Every command says where it looked and what to do, with exit code 3."""
    done = ks(*arguments, root=root)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"error: no node answers at {root}")
    assert done.stderr.count("\n") == 1


def test_time_of_a_real_clock_cannot_be_moved(root: Path) -> None:
    """Misuse, and the node says what to do."""
    with node(root):
        done = ks("advance", "5m", root=root)
        assert done.returncode == 2
        assert "manual" in done.stderr


@needs_namespaces
def test_a_plugin_with_a_fixed_path_runs_on_the_node(running_root: Path) -> None:
    """`exec` shows it the node's directory where it looks; its output is prefixed, Ctrl-C ends it and its socket goes."""
    with started(*PROGRAM, "exec", "--root", str(running_root), "--", *PLUGIN, "--gpus", "3") as running:
        ok("wait", "--for", f"resource/{RESOURCE}=3", root=running_root)
        assert stop(running, signal.SIGINT) == 0
        assert running.stdout is not None
        lines = running.stdout.read().splitlines()
    assert lines
    assert lines.count("stopping; Ctrl-C again to kill") == 1
    assert all(line.startswith("python") and " | " in line for line in lines if not line.startswith("stopping"))
    ok("wait", "--for", f"resource/{RESOURCE}=0", root=running_root)
    assert [path.name for path in (running_root / "device-plugins").iterdir() if path.is_socket()] == ["kubelet.sock"]


@needs_namespaces
@pytest.mark.parametrize(
    "script, code, said",
    [
        ("printf 'a\\033[2Jb\\n'; exit 7", 7, "sh | a\\x1b[2Jb\n"),
        ("printf 'a\\tb\\n'", 0, "sh | a\tb\n"),
        ("kill -9 $$", 137, ""),
        ("ls /var/lib/kubelet/device-plugins", 0, "sh | kubelet.sock\n"),
        ("ls {dir}; echo {socket}", 0, "sh | kubelet.sock\nsh | /var/lib/kubelet/device-plugins/kubelet.sock\n"),
    ],
)
def test_exec_ends_as_the_plugin_does(shared_root: Path, script: str, code: int, said: str) -> None:
    """Exit code and output are the plugin's; what a terminal would obey is escaped."""
    done = ks_process("exec", "--", "sh", "-c", script, root=shared_root)
    assert (done.returncode, done.stdout, done.stderr) == (code, said, "")


@needs_namespaces
def test_exec_of_nothing(shared_root: Path) -> None:
    """A command that is not there gives 127, as in a shell."""
    done = ks_process("exec", "--", "/no/such/plugin", root=shared_root)
    assert done.returncode == 127
    assert "not found" in done.stdout


def test_exec_needs_no_grpc(shared_root: Path) -> None:
    """The library's threads and fork handlers stay away from the plugin's parent."""
    script = (
        "import sys\n"
        "from kubelet_sim.cli.main import cli\n"
        "try:\n"
        f"    cli(['exec', '--root', {str(shared_root)!r}, '--', 'true'])\n"
        "except SystemExit:\n"
        "    pass\n"
        "print('grpc' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.splitlines()[-1] == "False"
