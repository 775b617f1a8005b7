"""kill -9 of a node in the middle of its work: nothing that was promised is lost, nothing is given twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

PROJECT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("KUBELET_SIM_KILLS", "25"))
SEED = int(os.environ.get("KUBELET_SIM_KILL_SEED", "1"))
SECONDS_A_KILL = 5.0
"""Of patience; one takes about a quarter."""


@pytest.mark.timeout(2 * PATIENCE_S + KILLS * SECONDS_A_KILL)
def test_kills_at_random_moments(short_root: Path) -> None:
    """The checkpoint is the old or the new one; no device has two pods; who was admitted keeps its devices.

    `KUBELET_SIM_KILLS` says how many kills, `KUBELET_SIM_KILL_SEED` which ones.

    Rules: CP-3, CP-13, DM-100, DM-112, DM-135, DM-136, DM-145
    """
    command = [sys.executable, "-m", "tests.life.kills", str(short_root), str(SEED), str(KILLS)]
    done = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=PATIENCE_S + KILLS * SECONDS_A_KILL, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)

    assert said["problems"] == [], f"seed {SEED}, kill {said['rounds']}"
    assert said["rounds"] == KILLS
    assert said["counts"]["ready"] > 0, "no node came to its work"
    assert said["counts"]["admitted"] > 0
