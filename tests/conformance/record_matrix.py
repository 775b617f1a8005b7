"""Plays every fault against all checks and writes down which others fail on it, too: `tests/conformance/matrix.json`.

    python -m tests.conformance.record_matrix [--jobs N] [FAULT ...]

Half an hour on two cores. Read the difference: what is new there is a consequence of the fault, or a false alarm.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from kubelet_sim.conformance import Level, Report, Status
from plugins_examples.faulty.faults import FAULTS
from tests.conformance.trial import hasty, only

FILE = Path(__file__).with_name("matrix.json")
LEFT_OUT = {"silent-without-rights", "one-thread"}
"""The one needs somebody else than root; with the other every call waits for a deadline of its own, which takes too long."""


def matrix() -> dict[str, list[str]]:
    """By fault: the checks that fail or break on it beside those that it names."""
    recorded: dict[str, list[str]] = json.loads(FILE.read_text("utf-8"))
    return recorded


def others(name: str, report: Report) -> set[str]:
    """The checks that failed or broke in that report beside those that the fault names; infos are no failures."""
    bad = {Status.FAILED, Status.WARNED, Status.BROKEN}
    failed = {each.check.id for each in report.outcomes if each.status in bad and each.check.level is not Level.INFO}
    return failed - {*FAULTS[name].checks, *FAULTS[name].also}


def played(name: str) -> tuple[str, list[str]]:
    """A fault, and what else fails on it."""
    with hasty(name) as config:
        return name, sorted(others(name, only(config)))


def main() -> None:
    """Play, and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("faults", nargs="*")
    chosen = parser.parse_args()
    names = chosen.faults or [name for name, fault in sorted(FAULTS.items()) if fault.checks and not fault.is_slow]
    recorded = matrix() if FILE.exists() else {}
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(chosen.jobs, mp_context=spawning, max_tasks_per_child=1) as pool:
        for name, found in pool.map(played, [each for each in names if each not in LEFT_OUT]):
            recorded[name] = found
            FILE.write_text(json.dumps(dict(sorted(recorded.items())), indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
