"""The page about an endpoint's life is the one that the transition table makes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from kubelet_sim.core.endpoint import TRANSITIONS, EndpointEvent, EndpointState

TOOL = Path(__file__).parents[2] / "tools" / "generate_endpoint_diagram.py"


@pytest.fixture
def tool() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("generate_endpoint_diagram", TOOL)
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
    page = tmp_path / "endpoint.md"
    page.write_text("edited", encoding="utf-8")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "PAGE", page)
    assert tool.main(["--check"]) == 1
    assert "endpoint.md is stale" in capsys.readouterr().err
    assert tool.main([]) == 0
    assert tool.main(["--check"]) == 0


def test_the_diagram_has_every_transition(tool: ModuleType) -> None:
    """Each row of the table is on an arrow from its state to the next, and no arrow says more."""
    drawn = set()
    for line in list(tool.diagram())[2:]:
        states, _, events = line.strip().partition(": ")
        before, _, after = states.partition(" --> ")
        drawn |= {(before, event, after) for event in events.split(", ")}
    assert drawn == {(before.value, event.value, after.value) for (before, event), after in TRANSITIONS.items()}


@pytest.mark.parametrize("members, name", [(EndpointState, "STOPPED"), (EndpointEvent, "EXPIRED")])
def test_texts_are_taken_from_the_enums(tool: ModuleType, members: type, name: str) -> None:
    """What stands below a member is its text, and a rule in it leads to the page of rules."""
    assert "](rules.md#dm-" in tool.texts(members)[name]
