from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kubelet_sim.conformance.reports.html import render
from tests.patience import PATIENCE_S
from tests.unit.conformance.reports.samples import ALL, EVERYTHING, GOOD, report

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Tags(HTMLParser):
    """Which elements there are, and where they are loaded from."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.loaded += [str(value) for name, value in attrs if name in ("src", "href")]


def test_the_page_needs_no_other_file_and_no_network() -> None:
    """The page has one script, which is ours."""
    tags = Tags()
    tags.feed(render([EVERYTHING, GOOD]))
    assert tags.loaded == []
    assert tags.names.count("script") == 1
    assert tags.names.count("b") == 2 * 2 + 1  # the level of each finding


def test_every_outcome_is_there() -> None:
    """With its evidence, why, fix, transcript and output; those that count come first and are open, then warnings."""
    page = render([EVERYTHING])
    order = re.findall(r'<details class="check (\w+)"', page)
    assert order == ["fail", "fixed", "broken", "warn", "pass", "known", "skip"]
    assert page.count(" open>") == 3
    for part in (
        "It matters &lt;much&gt;.",
        "Do it otherwise.",
        "Register came",
        "Output of the plugin",
        "ids: [&quot;a&quot;",
    ):
        assert part in page


def test_text_of_others_is_shown() -> None:
    """Escape sequences and marks that reorder are written out, markup is escaped."""
    page = render([EVERYTHING])
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "\\x1b[31m\\x00" in page
    assert "&lt;/script&gt;&lt;script&gt;" in page
    page.encode("utf-8")


def test_a_matrix_of_several_runs() -> None:
    """It is there when there are two kubelets, and not for one."""
    assert '<table class="matrix">' in render([GOOD, report(*ALL, version="v1.24.17")])
    assert '<table class="matrix">' not in render([GOOD])


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
