"""The page about kubelet releases is the one that the profiles make."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from kubelet_sim.profiles import RELEASES
from kubelet_sim.profiles.words import SWITCHES

TOOL = Path(__file__).parents[2] / "tools" / "generate_versions_page.py"


@pytest.fixture
def tool() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("generate_versions_page", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_fresh(tool: ModuleType) -> None:
    """`--check` finds the page as it would be written."""
    assert tool.main(["--check"]) == 0


def test_a_stale_page_is_found(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page that somebody has edited is said to be stale; without `--check` it is written again."""
    page = tmp_path / "versions.md"
    page.write_text("edited", encoding="utf-8")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "PAGE", page)
    assert tool.main(["--check"]) == 1
    assert "is stale" in capsys.readouterr().err
    assert tool.main([]) == 0
    assert tool.main(["--check"]) == 0


def test_everything_is_on_it(tool: ModuleType) -> None:
    """Every release and every switch has its line."""
    text = tool.page()
    assert all(f"| `{version}` |" in text for version in RELEASES)
    assert all(f"| {switch.title} |" in text for switch in SWITCHES.values())
