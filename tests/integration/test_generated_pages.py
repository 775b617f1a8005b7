"""Pages that are made from the code: what `--check` says of them, and what stands on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.test_generated_pages import PAGES, tool


@pytest.mark.parametrize("name", PAGES)
def test_a_stale_page_is_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page that somebody has edited is said to be stale; without `--check` it is written again."""
    script, page = tool(name), tmp_path / PAGES[name]
    page.write_text("edited", encoding="utf-8")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "PAGE", page)
    assert script.main(["--check"]) == 1
    assert f"{page.name} is stale" in capsys.readouterr().err
    assert script.main([]) == 0
    assert script.main(["--check"]) == 0
