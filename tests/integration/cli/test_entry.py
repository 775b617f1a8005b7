"""How a command ends that a signal hits: while it is loaded, and while it works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

PROJECT = Path(__file__).resolve().parents[3]
NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
HIT_WHILE_LOADING = """
import signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            signal.raise_signal(signal.{name})
sys.meta_path.insert(0, Finder())
from kubelet_sim.cli.entry import main
sys.argv = ["kubelet-sim", "--version"]
main()
"""
HIT_AT_WORK = """
import signal, sys, types
def work():
    try:
        signal.raise_signal(signal.{name})
        print("went on")
    finally:
        {again}
        print("cleaned up")
module = types.ModuleType("kubelet_sim.cli.main")
module.main = work
sys.modules["kubelet_sim.cli.main"] = module
for number in {ignored}:
    signal.signal(number, signal.SIG_IGN)
from kubelet_sim.cli import entry
entry._SAME_S = 3600.0
entry.main()
"""
DEFAULTS = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)"


def outcome(program: str) -> tuple[int, str, str]:
    """Exit code and both streams of a Python program, in which nothing is ignored that the caller may have ignored."""
    done = subprocess.run(
        [sys.executable, "-c", DEFAULTS + program],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_signal_while_the_command_is_loaded(name: str) -> None:
    """It ends without a word: a traceback of an import is nothing to show for a Ctrl-C."""
    assert outcome(HIT_WHILE_LOADING.format(name=name)) == (130, "", "")


@pytest.mark.parametrize("name", NAMES)
def test_a_signal_while_the_command_works(name: str) -> None:
    """Each is as Ctrl-C: what has to be cleaned up is cleaned up, with the same exit code."""
    assert outcome(HIT_AT_WORK.format(name=name, ignored="()", again="pass")) == (130, "cleaned up\n", "")


def test_an_end_where_ctrl_c_is_ignored() -> None:
    """A background job of a script ignores Ctrl-C, and is ended all the same."""
    program = HIT_AT_WORK.format(name="SIGTERM", ignored="[signal.SIGINT]", again="pass")
    assert outcome(program) == (130, "cleaned up\n", "")


def test_the_same_signal_once_more() -> None:
    """`timeout` sends its signal twice in one go: the second one does not break off what the first one began."""
    program = HIT_AT_WORK.format(name="SIGTERM", ignored="()", again="signal.raise_signal(signal.SIGTERM)")
    assert outcome(program) == (130, "cleaned up\n", "")


def test_an_ignored_signal() -> None:
    """It stays ignored, as `nohup` wants it."""
    program = HIT_AT_WORK.format(name="SIGHUP", ignored="[signal.SIGHUP]", again="pass")
    assert outcome(program) == (0, "went on\ncleaned up\n", "")
