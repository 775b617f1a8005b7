from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.cli.running import (
    PROGRAM,
    PROJECT,
    RESOURCE,
    data,
    environment,
    ks,
    ks_process,
    node,
    ok,
    plugin,
    started,
    stop,
    until,
)
from tests.patience import PATIENCE_S


def sockets(root: Path) -> list[str]:
    """The sockets below a directory."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_socket())


def processes_naming(text: str) -> list[str]:
    """The command lines of other processes that hold the text."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdecimal() and int(place.name) != os.getpid():
            try:
                line = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if text in line:
                found.append(line)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_node_cleanly(root: Path, number: signal.Signals) -> None:
    """Exit 0, no socket and no ready file; the checkpoint stays where the next node finds it."""
    with node(root) as process, plugin(root):
        assert {"kubelet-sim/.control.grpc", "kubelet-sim/control.sock"} <= set(sockets(root))
        assert stop(process, number) == 0
    left = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    assert left == [
        "device-plugins",
        "device-plugins/kubelet_internal_checkpoint",
        "kubelet-sim",
        "kubelet-sim/lock",
        "kubelet-sim/marker",
        "plugins_registry",
        "pod-resources",
    ]
    assert not (root.parent / "ready").exists()
    log = (root.parent / "log").read_text(encoding="utf-8")
    assert "Traceback" not in log
    assert log.splitlines()[-1].startswith("stopped")


def test_the_first_lines_say_how_to_go_on(root: Path) -> None:
    """Version, root, registration socket, and the command that runs a plugin; then one line for each record."""
    with node(root) as process:
        ready = json.loads((root.parent / "ready").read_text(encoding="utf-8"))
        assert ready == {
            "root": str(root),
            "registration_socket": str(root / "device-plugins" / "kubelet.sock"),
            "pid": process.pid,
        }
        log = root.parent / "log"
        until(lambda: "sources are ready" in log.read_text(encoding="utf-8"))
        lines = log.read_text(encoding="utf-8").splitlines()
    assert "v1.36" in lines[0]
    assert str(root) in lines[1]
    assert ready["registration_socket"] in lines[2]
    assert f"kubelet-sim exec --root {root} -- CMD" in lines[3]
    assert re.fullmatch(r" +\d+\.\d{3}  \w+ +\w+: .*\[DM-\d+\]", lines[6])


def test_a_second_node_is_refused(shared_root: Path) -> None:
    """One line, exit 2, and the first one goes on."""
    done = ks("run", "--root", shared_root)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a node is running" in done.stderr
    assert done.stderr.count("\n") == 1
    assert data("get", "pods", root=shared_root) == []


@pytest.mark.parametrize(
    "options, said",
    [
        (["--kubelet-version", "1.2"], "1.36"),
        (["--numa", "0"], "numa"),
        (["--clock", "sundial"], "clock"),
        (["--ready-file", "/no/such/place/ready"], "ready file"),
    ],
)
def test_misuse_starts_nothing(root: Path, options: list[str], said: str) -> None:
    """Exit 2 with one line; no socket is left."""
    done = ks("run", *options, root=root)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert sockets(root) == []


def test_a_killed_node_is_followed_by_another(root: Path) -> None:
    """Its sockets are stale and replaced; what it left says nothing to commands."""
    with node(root) as process:
        process.kill()
        process.wait()
    assert "kubelet-sim/control.sock" in sockets(root)
    assert ks("get", "pods", root=root).returncode == 3
    (root.parent / "ready").unlink()
    with node(root):
        assert ok("get", "pods", "-o", "json", root=root) == "[]\n"
    assert sockets(root) == []


def test_nobody_reads_what_a_node_prints(root: Path) -> None:
    """A closed pipe is no reason to end, and none for a traceback."""
    reading, writing = os.pipe()
    errors = root.parent / "errors"
    ready = root.parent / "ready"
    command = [*PROGRAM, "run", "--root", str(root), "--ready-file", str(ready)]
    with errors.open("wb") as stderr:
        process = subprocess.Popen(command, stdout=writing, stderr=stderr, env=environment())
        os.close(writing)
        os.close(reading)
        try:
            until(ready.exists)
            with plugin(root):
                assert data("get", "resources", root=root)[0]["name"] == RESOURCE
            process.terminate()
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
            process.wait()
    assert errors.read_bytes() == b""
    assert sockets(root) == []


@pytest.mark.parametrize("command", ["get node", "--help", "completion bash"])
@pytest.mark.parametrize("output, why", [(">/dev/full", "No space left"), (">&-", "closed")])
def test_output_that_nobody_takes_is_one_line(shared_root: Path, command: str, output: str, why: str) -> None:
    """A full disk and a closed descriptor: exit 3 without a traceback, and nothing behind it."""
    line = f'exec "{sys.executable}" -m kubelet_sim {command} {output}'
    done = subprocess.run(
        ["sh", "-c", line],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=environment(KUBELET_SIM_ROOT=str(shared_root)),
    )
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert done.stderr.startswith("error: cannot write the output: ")
    assert why in done.stderr


@pytest.mark.parametrize("options, count", [([], 0), (["--debug"], 6)])
def test_routine_is_told_if_it_is_wanted(root: Path, options: list[str], count: int) -> None:
    """That a node status is due has no line of its own, but stays in the transcript."""
    with node(root, "--clock", "manual", *options):
        ok("advance", "1m", root=root)
        assert ok("trace", root=root).count("node status is due") == 6
    assert (root.parent / "log").read_text(encoding="utf-8").count("node status is due") == count


def test_a_ready_file_that_cannot_be_leaves_no_root(root: Path) -> None:
    """It is looked at before anything is made."""
    done = ks("run", "--ready-file", "/no/such/place/ready", "--root", root)
    assert done.returncode == 2
    assert not root.exists()


def test_a_paused_terminal_does_not_stop_the_node(root: Path) -> None:
    """Lines pile up with nobody reading; the node answers all the same, and ends when it is told to."""
    with node(root, "--clock", "manual", "--debug", output=subprocess.PIPE) as process:
        ok("advance", "5h", root=root)  # some thousand status rounds: more than a pipe holds
        assert len(ok("trace", root=root)) > 65536
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
    assert sockets(root) == []


def test_the_demo_shows_the_main_job_and_leaves_nothing() -> None:
    """In a few seconds, from any directory: the steps, their rules, the container spec, and what to do next."""
    done = ks_process("demo", cwd=Path("/"))
    assert (done.returncode, done.stderr) == (0, "")
    for expected in (
        "ListAndWatch to client",
        "Allocate(",
        "[DM-98]",
        "NVIDIA_VISIBLE_DEVICES=GPU-",
        "What to try next",
    ):
        assert expected in done.stdout
    assert "\x1b" not in done.stdout
    (directory,) = set(re.findall(r"/tmp/ks-demo-\w+", done.stdout))
    assert not Path(directory).exists()
    assert processes_naming(directory) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_can_be_interrupted(number: signal.Signals) -> None:
    """At any step: exit 130, the plugin's process and the directory are gone."""
    with started(*PROGRAM, "demo") as process:
        assert process.stdout is not None
        directory = ""
        for line in process.stdout:
            directory = directory or "".join(re.findall(r"/tmp/ks-demo-\w+", line))
            if line.startswith("$ python"):
                break
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(PATIENCE_S) == 130
    assert "Traceback" not in rest
    assert directory
    assert not Path(directory).exists()
    assert processes_naming(directory) == []


def test_a_demo_without_its_plugin_says_so(short_root: Path) -> None:
    """A plugin that ends early is an error with its last words, and nothing is left."""
    broken = short_root / "plugins_examples"
    broken.mkdir()
    (broken / "__init__.py").touch()
    (broken / "env_gpu.py").write_text("raise SystemExit('no luck today')", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "kubelet_sim", "demo"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=short_root,
        env=environment(PYTHONPATH=f"{short_root}{os.pathsep}{PROJECT}"),
    )
    assert done.returncode == 3
    assert done.stderr == "error: the example plugin ended with code 1: no luck today\n"
    (directory,) = set(re.findall(r"/tmp/ks-demo-\w+", done.stdout))
    assert not Path(directory).exists()


def test_metrics_are_where_the_greeting_says(root: Path) -> None:
    """They are there while the node runs, on this machine only; a port that is taken or no port ends the start.

    Rules: DM-161
    """
    with node(root, "--http", "0", "--plain"):
        log = root.parent / "log"
        until(lambda: "/metrics" in log.read_text())
        (url,) = re.findall(r"http://127\.0\.0\.1:[0-9]+/metrics", log.read_text())
        with urlopen(url, timeout=PATIENCE_S) as answer:  # noqa: S310 - the url is http
            assert b"kubelet_topology_manager_admission_requests_total 0.0\n" in answer.read()
        port = url.removesuffix("/metrics").rpartition(":")[2]
        taken = ks("run", "--root", root.parent / "other", "--http", port)
        assert taken.returncode != 0
        assert "address already in use" in taken.stderr
    wrong = ks("run", "--root", root.parent / "other", "--http", "here")
    assert (wrong.returncode, "HOST:PORT" in wrong.stderr) == (2, True)
