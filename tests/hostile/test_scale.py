"""A small node through half an hour of its own time: what the process holds does not grow (`benchmarks/scale.py` has the large one)."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE_S

SCALE = Path(__file__).resolve().parents[2] / "benchmarks" / "scale.py"
MINUTES = 32
OBJECTS_OF_A_LINK = 60
"""Of spent connections a node keeps a hundred, for looking: until then each restart of a plugin adds one."""
Sample = dict[str, Any]


def median(samples: list[Sample], of: Callable[[Sample], float]) -> float:
    """Of some minutes."""
    return statistics.median(map(of, samples))


def test_half_an_hour_leaves_nothing_behind() -> None:
    """Pods, lists and plugins come and go for half an hour: descriptors, threads and tasks stay, objects nearly do."""
    sizes = ["--plugins", "4", "--devices", "100", "--pods", "30", "--minutes", str(MINUTES)]
    done = subprocess.run(
        [sys.executable, str(SCALE), *sizes, "--json"], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert not done.stderr
    samples = json.loads(done.stdout)["samples"]
    assert len(samples) == MINUTES
    second, last = samples[8:16], samples[24:]
    for what, more in {"descriptors": 3, "threads": 2, "tasks": 4}.items():
        assert median(last, lambda sample: sample[what]) <= median(second, lambda sample: sample[what]) + more  # noqa: B023
    grown = median(last, lambda sample: sample["objects"]) - median(second, lambda sample: sample["objects"])
    assert grown <= 16 * OBJECTS_OF_A_LINK
