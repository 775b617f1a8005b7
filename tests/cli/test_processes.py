"""Every command as a process of its own, once: all other tests may run them in theirs."""

from __future__ import annotations

import json
from pathlib import Path

from kubelet_sim.cli.main import COMMANDS
from tests.cli.running import ks, ks_process, pod

ON_A_NODE: tuple[tuple[str, int], ...] = (
    ("apply -f {pod}", 0),
    ("get pods", 0),
    ("describe pod p", 0),
    ("container-spec p", 0),
    ("bundle p {folder}/bundle", 0),
    ("podresources list", 0),
    ("exit p", 0),
    ("advance 1s", 0),
    ("fault list", 0),
    ("restart", 0),
    ("crash", 0),
    ("start", 0),
    ("reboot", 0),
    ("delete pod p", 0),
    ("call reg", 3),
    ("checkpoint show {folder}/none", 2),
    ("replay {folder}/none", 2),
    ("explain reg-happens", 0),
    ("versions", 0),
    ("completion bash", 0),
)
"""Commands in an order in which each has what it needs, and their exit codes."""
ELSEWHERE = {
    "conform": "test_conform_reports.py",
    "demo": "test_life.py",
    "exec": "test_main_job.py",
    "exec-check": "test_containers.py",
    "fuzz": "tests/fuzz",
    "plugin": "test_stories.py",
    "run": "test_life.py",
    "scenario": "test_stories.py",
    "trace": "test_main_job.py",
    "wait": "test_main_job.py",
}
"""Commands whose process is a subject of other tests: signals, terminals, plugins that they start."""


def test_each_command_runs_as_a_process(running_root: Path, short_root: Path) -> None:
    """Each ends with its exit code, with an output or one line on stderr, and none with a traceback."""
    manifest = json.loads(pod("p"))
    del manifest["spec"]["containers"][0]["resources"]
    (short_root / "pod.json").write_text(json.dumps(manifest), encoding="utf-8")
    for line, code in ON_A_NODE:
        words = line.format(pod=short_root / "pod.json", folder=short_root).split()
        done = ks_process(*words, root=running_root)
        assert done.returncode == code, (words, done.stderr)
        assert "Traceback" not in done.stderr
        if code:
            assert (done.stdout, done.stderr.count("\n")) == ("", 1), words


def test_a_command_says_the_same_in_a_process_of_its_own_and_in_the_process_of_a_test(shared_root: Path) -> None:
    """Exit code, stdout and stderr of an answer, a list that is empty, and a misuse."""
    for words in (("get", "node"), ("get", "pods"), ("describe", "pod", "nothing"), ("get", "services")):
        here, there = ks(*words, root=shared_root), ks_process(*words, root=shared_root)
        assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)


def test_no_command_is_left_out() -> None:
    """A new command gets a line above."""
    assert {line.split()[0] for line, _ in ON_A_NODE} | set(ELSEWHERE) == set(COMMANDS)
