from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.cli.helpers import completions as completing
from tests.unit.cli.helpers.test_completions import ARGUMENT, context


@pytest.mark.parametrize("complete", [completing.object_names, completing.pod_names, completing.conditions])
def test_no_node_is_no_name(complete: Any, tmp_path: Any) -> None:
    """Nothing is said, and nothing raised."""
    assert complete(context(root=tmp_path / "nowhere"), ARGUMENT, "") == []
