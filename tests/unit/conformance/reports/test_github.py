from __future__ import annotations

import html
import re

from attrs import evolve

from kubelet_sim.conformance.reports.github import (
    annotation_lines,
    escape_data,
    escape_property,
    heard_again,
    is_there,
    markdown_text,
    silenced,
    summary,
)
from tests.unit.conformance.reports.samples import EVERYTHING, FAILED, GOOD, HOSTILE, check, report


def test_outcomes_that_count_are_annotated_as_errors_and_warnings() -> None:
    """What counts is an error, what warns a warning; each is one line with the check's id as title."""
    lines = annotation_lines([EVERYTHING]).splitlines()
    assert [re.sub(r"\(.*", "", line) for line in lines] == [
        "::error title=reg-fails ",
        "::error title=reg-fixed ",
        "::error title=alloc-breaks ",
        "::warning title=law-warns ",
    ]
    assert lines[3].endswith("::surprising%0AHow to fix it: Do it otherwise.")


def test_text_of_others_is_no_command() -> None:
    """Its percent signs, line ends, colons and commas are escaped as GitHub reads them."""
    assert escape_data("50%\r\n::error::x") == "50%25%0D%0A::error::x"
    assert escape_property("a:b,c%") == "a%3Ab%2Cc%25"
    for line in annotation_lines([EVERYTHING]).splitlines():
        assert re.match(r"::(error|warning) title=[^:,]*::", line)
        assert "\x1b" not in line


def test_there_are_never_more_than_are_shown() -> None:
    """Of fifteen the tenth says that there are six more."""
    many = [evolve(FAILED, check=check(f"reg-{number}")) for number in range(15)]
    lines = annotation_lines([report(*many)]).splitlines()
    assert len(lines) == 10
    assert lines[-1] == "::error title=kubelet-sim::6 more, see the summary of the job"


def test_commands_can_be_stopped() -> None:
    """What is printed between the two lines is no command to GitHub."""
    assert (silenced("t0k3n"), heard_again("t0k3n")) == ("::stop-commands::t0k3n", "::t0k3n::")
    assert is_there({"GITHUB_ACTIONS": "true"})
    assert not is_there({})


def test_the_summary_tells_all() -> None:
    """Verdict, failures with evidence, and the table of all checks."""
    text = summary([EVERYTHING, GOOD])
    assert "does not conform" in html.unescape(text)
    assert text.count("<details open>") == 3
    assert "| `reg-passes` | ✓ | ✓ |" in text
    assert "why it matters: It matters &lt;much&gt;." in text
    assert text.count("<details") == text.count("</details>")


def test_the_summary_is_not_markup_of_others() -> None:
    """No tag, link or table of theirs gets in, and no empty line ends a block of HTML."""
    text = summary([EVERYTHING])
    assert "<script" not in text
    assert "\x1b" not in text
    assert html.unescape(markdown_text("a*b <i> [x](y)")) == "a*b <i> [x](y)"
    assert not set("*<[|`") & set(markdown_text(HOSTILE))
    assert all("\n" not in each for each in re.findall(r"<pre>(.*?)</pre>", text, re.DOTALL))


def test_the_summary_is_as_long_as_github_takes() -> None:
    """Output is left out first, then failures; and it says so."""
    noisy = evolve(FAILED, output=tuple("x" * 1000 for _ in range(2000)))
    text = summary([report(noisy)])
    assert "Output of the plugin" not in text
    assert "reg-fails" in text
    many = [evolve(FAILED, findings=FAILED.findings * 40) for _ in range(200)]
    text = summary([report(*many)])
    assert len(text.encode()) <= 1_000_000
    assert text.endswith("The rest is left out: the page would be too long.\n")
