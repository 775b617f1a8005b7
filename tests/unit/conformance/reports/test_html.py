from __future__ import annotations

import re
from html.parser import HTMLParser

from kubelet_sim.conformance.reports.html import render
from tests.unit.conformance.reports.samples import ALL, EVERYTHING, GOOD, report


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
