from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from kubelet_sim.cli.main import cli
from kubelet_sim.conformance import CHECKS
from kubelet_sim.conformance.check import Need
from kubelet_sim.conformance.explaining import facts, kubelets, needs, sections
from tests.unit.conformance.reports.samples import check

ROOT = Path(__file__).parents[3]


def test_needs_in_words() -> None:
    """The sockets go without saying where anything else is needed; hooks are options."""
    assert needs(check("a")) == "nothing but the plugin's sockets"
    hooked = check("a", needs=frozenset({Need.BLACK_BOX, Need.HOOK, Need.PROCESS}), hooks=("break", "mend"))
    assert needs(hooked) == "the plugin's process, --break CMD, --mend CMD"


def test_kubelets_in_words() -> None:
    """Releases that follow one another are a run."""
    assert kubelets(check("a")) == "all"
    assert kubelets(check("a", applies=lambda _: False)) == "none"
    assert (
        kubelets(check("a", applies=lambda profile: profile.version in ("1.20", "1.21", "1.36")))
        == "1.20 to 1.21, 1.36"
    )


def test_explain_says_all_of_it() -> None:
    """The command shows every fact and every section of every check."""
    for each in CHECKS.values():
        text = " ".join(CliRunner().invoke(cli, ["explain", each.id]).output.split())
        for part in (each.title, *(text for _, text in facts(each)), *(text for _, text in sections(each))):
            assert " ".join(part.split()) in text


def test_the_pages_of_the_documentation_are_fresh() -> None:
    """`docs/reference/checks/` is made from the checks: a page for each, and none besides."""
    script = ROOT / "tools" / "generate_checks_pages.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    pages = {path.stem for path in (ROOT / "docs" / "reference" / "checks").glob("*.md")}
    assert pages == {*CHECKS, "README"}
