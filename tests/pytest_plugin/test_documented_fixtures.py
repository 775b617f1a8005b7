"""The examples of the pages that show tests pass as they stand there."""

from __future__ import annotations

import re

import pytest

from tests.pytest_plugin.inner_pytest import ROOT, run_inner_pytest

pytest_plugins = ["pytester"]
PAGE = ROOT / "docs" / "how-to" / "test-a-plugin-with-pytest.md"
PAGES = (PAGE, ROOT / "docs" / "how-to" / "restart-reboot-crash.md")
EXAMPLES = [
    example
    for page in PAGES
    for example in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
]


def test_there_are_examples() -> None:
    """They show a plugin that is a process, pods with a fake one, checks as tests, and what restarts."""
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_example_passes(number: int, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test of the example passes without a warning."""
    pytester.makepyfile(EXAMPLES[number])
    result = run_inner_pytest(pytester, monkeypatch, "-W", "error", "-q")
    outcomes = result.parseoutcomes()
    assert set(outcomes) == {"passed"}
    assert outcomes["passed"] >= max(1, EXAMPLES[number].count("\ndef test_"))


def test_every_fixture_is_on_the_page() -> None:
    """Each fixture of the plugin has its row."""
    source = (ROOT / "kubelet_sim" / "pytest_plugin.py").read_text(encoding="utf-8")
    names = re.findall(r"^@pytest\.fixture\ndef (\w+)", source, re.MULTILINE)
    assert names
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in names if f"| `{name}` |" not in page] == []
