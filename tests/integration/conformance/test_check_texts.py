from __future__ import annotations

import subprocess
import sys

from kubelet_sim.conformance import CHECKS
from tests.patience import PATIENCE_S
from tests.unit.conformance.test_check_texts import ROOT


def test_the_pages_of_the_documentation_are_fresh() -> None:
    """`docs/reference/checks/` is made from the checks: a page for each, and none besides."""
    script = ROOT / "tools" / "generate_checks_pages.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    pages = {path.stem for path in (ROOT / "docs" / "reference" / "checks").glob("*.md")}
    assert pages == {*CHECKS, "README"}
