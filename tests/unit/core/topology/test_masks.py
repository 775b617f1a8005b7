from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubelet_sim.core.topology import masks
from kubelet_sim.core.topology.masks import mask_of, narrowness, nodes_of, subsets, touching, width

MASKS = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize(
    "nodes, mask", [((), 0), ((0,), 1), ((3, 0), 9), ((63,), 2**63), ((5, 5), 32), (range(64), 2**64 - 1)]
)
def test_a_bit_stands_for_a_node(nodes: tuple[int, ...], mask: int) -> None:
    """Bit i stands for node i, named once or more often, in any order. Rules: TM-1"""
    assert mask_of(nodes) == mask
    assert nodes_of(mask) == tuple(sorted(set(nodes)))


@pytest.mark.parametrize("node", [-1, 64, 2**63, -(2**63)])
def test_a_mask_has_no_bit_for_a_node_outside_of_its_range(node: int) -> None:
    """There is no bit for them: a mask cannot be made of them, and asked for them it says no. Rules: DM-56, TM-1"""
    with pytest.raises(ValueError, match="bit number must be in range 0-63"):
        mask_of([0, node])
    assert touching([node]) == 0
    assert touching([node, 2]) == 4


def test_less_is_a_comparison_of_numbers() -> None:
    """Of two masks of one width the smaller number is the narrower, though its nodes be higher. Rules: TM-2, TM-3"""
    assert narrowness(mask_of([1, 2])) < narrowness(mask_of([0, 3]))
    assert narrowness(mask_of([63])) < narrowness(mask_of([0, 1]))
    assert narrowness(0) < narrowness(1)


@settings(derandomize=True)
@given(MASKS, MASKS)
def test_narrower_is_a_total_order(a: int, b: int) -> None:
    """Two different masks are never equally narrow, and none is narrower than itself. Rules: TM-3"""
    assert (narrowness(a) == narrowness(b)) == (a == b)
    assert width(a) <= width(b) or narrowness(b) < narrowness(a)


def test_small_subsets_come_first() -> None:
    """Small ones first, then by positions in the list, which need not be sorted. Rules: TM-4"""
    assert [nodes_of(mask) for mask in subsets([2, 0, 1])] == [(2,), (0,), (1,), (0, 2), (1, 2), (0, 1), (0, 1, 2)]
    assert list(subsets([])) == []


@pytest.mark.parametrize("count", [1, 4, 8])
def test_each_subset_comes_once(count: int) -> None:
    """Each non-empty one once. Rules: TM-4"""
    found = list(subsets(range(count)))

    assert sorted(found) == list(range(1, 2**count))
    assert all(width(a) <= width(b) for a, b in pairwise(found))


@pytest.mark.parametrize(
    "mask, text", [(0, "00"), (1, "01"), (2, "10"), (3, "11"), (4, "100"), (5, "0101"), (8, "1000"), (16, "10000")]
)
def test_a_mask_is_written_with_digits_in_pairs_but_for_powers_of_four(mask: int, text: str) -> None:
    """An even number of digits, but for powers of four. Rules: TM-5"""
    assert masks.text(mask) == text
