"""Faults planted in a plugin, and a search that has to find them.

All of them with KUBELET_SIM_FUZZ=1, else the quickest two: one in the usual run, one more with `-m whole`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kubelet_sim.errors import TransportError
from kubelet_sim.fuzz import FuzzConfig, search
from kubelet_sim.fuzz.story_file import story_text
from plugins_examples.faulty.faults import living
from tests.patience import PATIENCE_S

QUICK = ("relative-path-for-two", pytest.param("ids-of-a-process", marks=pytest.mark.whole))
FAULTS = (
    "misses-restarts",
    "misses-lost-stream",
    "own-books",
    "dies-of-empty-request",
    "ids-of-a-process",
    "no-response-for-the-second",
    "repeats-ids-later",
    "odd-health-later",
    "relative-path-for-two",
    "drops-what-is-allocated",
)
ALL = os.environ.get("KUBELET_SIM_FUZZ") == "1"
LIMIT_S = 120.0
MOST_STEPS = 8
KEEPS_AWAY = ("misses-restarts", "misses-lost-stream", "dies-of-empty-request", "drops-what-is-allocated")
"""Those in which the plugin does not come back, so that every run that shows it takes as long as the patience."""
pytestmark = pytest.mark.timeout(900)


def command(*more: str) -> tuple[str, ...]:
    """The faulty plugin's."""
    return ("{python}", "-m", "plugins_examples.faulty", "--socket-dir", "{dir}", *more)


@pytest.mark.parametrize("fault", FAULTS if ALL else QUICK)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    """In two minutes, in at most eight steps; the story fails on the faulty plugin and passes on the good one."""
    patience_s = 6.0 if fault in KEEPS_AWAY else 20.0
    searched = search(FuzzConfig(command=command("--fault", fault), time_s=LIMIT_S, patience_s=patience_s))
    assert searched.found is not None, searched
    assert searched.found.found_after_s <= LIMIT_S
    assert len(searched.found.steps) <= MOST_STEPS
    text = story_text(searched)
    assert (came := played(text, tmp_path))[0] == 1, came
    good = text.replace(f', "--fault", {fault}', "").replace(f', "--fault", "{fault}"', "")
    assert good != text
    assert (came := played(good, tmp_path))[0] == 0, came


def played(text: str, folder: Path) -> tuple[int, str]:
    """The exit code of `scenario check` on the story, and what it said."""
    file = folder / "story.yaml"
    file.write_text(text, "utf-8")
    command = [sys.executable, "-m", "kubelet_sim", "scenario", "check", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_table_is_whole() -> None:
    """Every fault of the module is tried."""
    assert {each.name for each in living.FAULTS_OF_A_LIFE} == set(FAULTS)


def test_nothing_is_found_in_a_good_plugin() -> None:
    """A few runs, each thing alone."""
    searched = search(FuzzConfig(command=command(), time_s=120.0, most_runs=4, patience_s=15.0))
    assert searched.found is None, searched.found
    assert searched.runs == 4


@pytest.mark.parametrize(
    "words, text",
    [
        (("./no-such-plugin",), "the plugin ended, exit code 127; it said: .*no-such-plugin"),
        (("sh", "-c", "echo one; echo two; exit 3"), "the plugin ended, exit code 3; it said: one / two"),
        (("sleep", "60"), "the plugin listed no healthy device within 0.5 s; it said nothing"),
    ],
)
def test_a_plugin_that_does_not_register(words: tuple[str, ...], text: str) -> None:
    """It is said at once, in one line, with what the plugin said last."""
    patience_s = 0.5 if words[0] == "sleep" else LIMIT_S
    with pytest.raises(TransportError, match=text.replace("|", r"\|")) as caught:
        search(FuzzConfig(command=words, isolate="none", patience_s=patience_s))
    assert "\n" not in str(caught.value)


def test_what_was_found_is_written_at_an_interruption(tmp_path: Path) -> None:
    """A signal while it is made short: the story is there, as short as it is by then, and goes wrong. Exit code 1."""
    story = tmp_path / "story.yaml"
    words = [sys.executable, "-m", "kubelet_sim", "fuzz", "--time", "2m", "-o", str(story), "--"]
    words += command("--fault", "relative-path-for-two")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(3)]
        assert said[1].startswith("found after ")
        assert said[2].startswith("making it short: 120 s at most")
        process.send_signal(signal.SIGTERM)
        told, rest = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, rest) == (1, ""), told
    assert "interrupted while it was made short" in told
    assert (came := played(story.read_text("utf-8"), tmp_path))[0] == 1, came
