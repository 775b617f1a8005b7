"""Every step is an entry of its own, which says all that there is to say of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kubelet_sim.scenario import steps
from kubelet_sim.scenario.steps.registry import STEPS
from kubelet_sim.scenario.steps.step_kind import StepKind


@pytest.mark.parametrize("kind", STEPS.values(), ids=lambda kind: kind.name)
def test_a_step_says_what_happens_and_how_it_is_told(kind: StepKind) -> None:
    """Its page has a sentence, and so has the story that is told; a text names only keys that it needs."""
    assert kind.about.endswith(".")
    assert kind.told
    if isinstance(kind.told, str):
        assert kind.told.format_map(dict.fromkeys(kind.needs, 1))


def test_every_entry_is_found_by_its_name() -> None:
    """As many as are written down, so that no two have one name, and no subject is left out."""
    room = Path(steps.__file__).parent
    written = [path.read_text(encoding="utf-8") for path in room.glob("*.py")]
    assert all(kind.name == name for name, kind in STEPS.items())
    assert len(STEPS) == sum(len(re.findall(r"^@(?:command_)?step\(", text, re.MULTILINE)) for text in written)
