"""Reading a matrix of NUMA distances."""

from __future__ import annotations

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests.numa_distances import read_numa_distances


@pytest.mark.parametrize("text", ["[[10, 21], [20, 10]]", "- [10, 21]\n- [20, 10]\n"])
def test_a_matrix_is_read(text: str) -> None:
    """JSON or YAML, one row a node; the two directions may differ. Rules: TM-27"""
    assert read_numa_distances(text, "d.yaml") == ((10, 21), (20, 10))


@pytest.mark.parametrize(
    "text, problem",
    [
        ("[[10, 20], [20]]", "row 1 has 1 distances"),
        ("[[10, 0], [20, 10]]", "Expected a whole number above 0"),
        ("[[10, x], [20, 10]]", "Expected a whole number above 0"),
        ("[[10, true], [20, 10]]", "Expected a whole number above 0"),
        ("{a: b}", "Expected a list"),
        ("", "0 documents"),
    ],
)
def test_what_is_no_matrix_is_refused(text: str, problem: str) -> None:
    """In one line, with the file's name. Rules: TM-15"""
    with pytest.raises(UsageError, match=problem) as refusal:
        read_numa_distances(text, "d.yaml")
    assert "d.yaml" in str(refusal.value)
