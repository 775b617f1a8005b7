from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S

PROJECT = Path(__file__).resolve().parents[3]


def test_an_error_that_cannot_be_told_keeps_its_code() -> None:
    """As with `2> /dev/full`: the exit code is all that is left to say it."""
    command = [sys.executable, "-m", "kubelet_sim", "get", "nothing-of-the-kind"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=full, timeout=PATIENCE_S, check=False
        )
    assert (done.returncode, done.stdout) == (2, b"")
