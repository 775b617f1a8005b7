from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.cli.helpers.serving_node import check_ready_file, is_routine
from kubelet_sim.errors import UsageError
from kubelet_sim.transcript import Record


def test_a_ready_file_is_tried_beforehand(tmp_path: Path) -> None:
    """Its directory has to be there, and nothing is left of the trial."""
    check_ready_file(None)
    check_ready_file(tmp_path / "ready")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match=r"ready file .*: No such file or directory"):
        check_ready_file(tmp_path / "missing" / "ready")


def test_that_a_status_is_due_is_routine() -> None:
    """What comes of it is not (DM-65)."""
    assert is_routine(Record(1, 10.0, "fact", "node", "node status is due", ("DM-65",)))
    assert not is_routine(Record(2, 10.0, "decision", "node", "node status, allocatable", ("DM-65",)))
    assert not is_routine(Record(3, 10.0, "fact", "node", "the runtime reports 1 running container", ("DM-7",)))
