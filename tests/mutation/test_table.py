"""The table of planted faults and the core belong together; `plant.py` plants them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.faults import FAULTS, Fault

CORE = Path(__file__).parents[2] / "kubelet_sim" / "core"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.what)
def test_a_fault_has_its_place_in_the_core(fault: Fault) -> None:
    """The text that a fault replaces stands in its file exactly once: whoever moves code moves its faults."""
    text = (CORE / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1
    assert fault.new != fault.old
