"""Faults planted in a plugin, and a search that has to find them. All of them with KUBELET_SIM_FUZZ=1, else the quickest two."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kubelet_sim.fuzz import FuzzConfig, search
from kubelet_sim.fuzz.writing import story_text
from plugins_examples.faulty.faults import living

QUICK = ("ids-of-a-process", "relative-path-for-two")
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
pytestmark = pytest.mark.timeout(400)


def command(*more: str) -> tuple[str, ...]:
    """The faulty plugin's."""
    return ("{python}", "-m", "plugins_examples.faulty", "--socket-dir", "{dir}", *more)


@pytest.mark.parametrize("fault", FAULTS if ALL else QUICK)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    """In two minutes, in at most eight steps; the story fails on the faulty plugin and passes on the good one."""
    searched = search(FuzzConfig(command=command("--fault", fault), time_s=LIMIT_S, patience_s=6.0))
    assert searched.found is not None
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
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_table_is_whole() -> None:
    """Every fault of the module is tried."""
    assert {each.name for each in living.FAULTS_OF_A_LIFE} == set(FAULTS)


def test_nothing_is_found_in_a_good_plugin() -> None:
    """A few runs, each thing alone."""
    searched = search(FuzzConfig(command=command(), time_s=25.0, most_runs=4, patience_s=15.0))
    assert searched.found is None, searched.found
    assert searched.runs == 4
