"""The list of faults: complete, and consistent with what is made from it."""

from __future__ import annotations

import subprocess
import sys

from tests.patience import PATIENCE_S
from tests.unit.node.faults.test_kinds import ROOT


def test_the_reference_page_is_fresh() -> None:
    """`docs/reference/faults.md` is made from the list."""
    script = ROOT / "tools" / "generate_faults_page.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
