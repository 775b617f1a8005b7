from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kubelet_sim.conformance.reports.html import render
from tests.patience import PATIENCE_S
from tests.unit.conformance.reports.samples import EVERYTHING, GOOD

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture
def page_dir(short_root: Path) -> Path:
    """A folder with a page of everything."""
    (short_root / "report.html").write_text(render([EVERYTHING, GOOD]), encoding="utf-8")
    return short_root


@pytest.mark.skipif(BROWSER is None, reason="no chromium on PATH")
@pytest.mark.parametrize(
    "address, count, some",
    [
        ("", 9, "reg-passes"),
        ("#q=Register+came", 2, "reg-fails"),
        ("#mark=fail+broken+fixed", 3, "alloc-breaks"),
        ("#group=ListAndWatch", 1, "law-warns"),
        ("#q=nothing-has-this", 0, None),
    ],
)
def test_a_browser_filters_and_runs_no_script_but_ours(
    page_dir: Path, address: str, count: int, some: str | None
) -> None:
    """A real browser runs our script and no other: what does not fit is hidden, and the title is still ours."""
    assert BROWSER is not None
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={page_dir}/profile"]
    done = subprocess.run(
        [*command, "--virtual-time-budget=2000", "--dump-dom", f"file://{page_dir}/report.html{address}"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    dom = done.stdout
    assert "<title>kubelet-sim conform</title>" in dom
    shown = [each for each in re.findall(r"<details class=\"check [^>]*>", dom) if "hidden" not in each]
    assert len(shown) == count
    assert f'<output id="shown">{count} of 9</output>' in dom
    if some is not None:
        (element,) = re.findall(rf"<details class=\"check [^>]*>\s*<summary>[^\n]*<code>{some}</code>", dom)[:1]
        assert "hidden" not in element
