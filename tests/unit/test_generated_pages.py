"""Pages that are made from the code: what `--check` says of them, and what stands on them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from kubelet_sim.core.devices.endpoint import TRANSITIONS, EndpointEvent, EndpointState
from kubelet_sim.profiles import RELEASES
from kubelet_sim.profiles.switch_texts import SWITCHES

TOOLS = Path(__file__).parents[2] / "tools"
PAGES = {"generate_endpoint_diagram": "endpoint.md", "generate_versions_page": "versions.md"}


def tool(name: str) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_fresh(name: str) -> None:
    """`--check` finds the page as it would be written."""
    assert tool(name).main(["--check"]) == 0


def test_the_diagram_has_every_transition() -> None:
    """Each row of the table is on an arrow from its state to the next, and no arrow says more."""
    drawn = set()
    for line in list(tool("generate_endpoint_diagram").diagram())[2:]:
        states, _, events = line.strip().partition(": ")
        before, _, after = states.partition(" --> ")
        drawn |= {(before, event, after) for event in events.split(", ")}
    assert drawn == {(before.value, event.value, after.value) for (before, event), after in TRANSITIONS.items()}


@pytest.mark.parametrize("members, name", [(EndpointState, "STOPPED"), (EndpointEvent, "EXPIRED")])
def test_texts_are_taken_from_the_enums(members: type, name: str) -> None:
    """What stands below a member is its text, and a rule in it leads to the page of rules."""
    assert "](rules.md#dm-" in tool("generate_endpoint_diagram").texts(members)[name]


def test_every_release_is_on_its_page() -> None:
    """And every switch."""
    text = tool("generate_versions_page").page()
    assert all(f"| `{version}` |" in text for version in RELEASES)
    assert all(f"| {switch.title} |" in text for switch in SWITCHES.values())
