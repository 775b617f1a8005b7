from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubelet_sim.core.topology.hint_merge import Fitness, best_count, merged, only_single_nodes
from kubelet_sim.core.topology.hints import IMPOSSIBLE, NO_PREFERENCE, Hint
from kubelet_sim.core.topology.masks import mask_of, narrowness
from kubelet_sim.core.topology.settings import NumaNodeInfo, TopologySettings, merger

Lists = Sequence[Sequence[Hint]]
DISTANCES = ((10, 30, 20, 12), (11, 10, 40, 20), (20, 21, 10, 16), (50, 20, 11, 10))
NODES = tuple(NumaNodeInfo(node, row) for node, row in enumerate(DISTANCES))
DEFAULT = mask_of(range(4))
CLOSEST = merger(TopologySettings("restricted", "container", {"prefer-closest-numa-nodes": "1"}), NODES).fitness


def wanted(*nodes: int) -> Hint:
    """A preferred hint."""
    return Hint(mask_of(nodes), is_preferred=True)


def possible(*nodes: int) -> Hint:
    """One that is not."""
    return Hint(mask_of(nodes))


# ------------------------------------------------------------------------------ the product, walked as the rules say


def _bits(mask: int) -> int:
    return f"{mask:b}".count("1")


def _merged_permutations(lists: Lists, default: int) -> Iterator[Hint]:
    """One hint for each way to take one of each list, in order, those without a node left out. Rules: TM-20, TM-21, TM-22"""
    for permutation in product(*lists):
        affinity, given_masks = default, []
        for hint in permutation:
            if hint.mask is not None:
                affinity &= hint.mask
                given_masks.append(hint.mask)
        is_preferred = all(hint.is_preferred for hint in permutation) and len(set(given_masks)) <= 1
        if affinity:
            yield Hint(affinity, is_preferred)


def _most_demanding(lists: Lists) -> int:
    """Rules: TM-25"""
    counts = [0]
    for hints in lists:
        given_masks = [hint.mask for hint in hints if hint.mask is not None]
        if given_masks:
            counts.append(min(map(_bits, given_masks)))
    return max(counts)


def _fitter(current: int, candidate: int, *, is_closest: bool) -> int:
    """Rules: TM-24, TM-27"""

    def mean(mask: int) -> float:
        members = [node for node in range(4) if mask >> node & 1]
        return sum(DISTANCES[a][b] for a in members for b in members) / len(members) ** 2

    if _bits(current) != _bits(candidate):
        return min(current, candidate, key=_bits)
    if is_closest and mean(current) != mean(candidate):
        return min(current, candidate, key=mean)
    return min(current, candidate)


def _walked(lists: Lists, default: int, *, is_closest: bool = False) -> Hint:
    """The table of comparisons, visit by visit. Rules: TM-23, TM-26"""
    best: Hint | None = None
    count = _most_demanding(lists)
    for candidate in _merged_permutations(lists, default):
        if best is None or (candidate.is_preferred and not best.is_preferred):
            best = candidate
            continue
        assert best.mask is not None
        assert candidate.mask is not None
        if best.is_preferred and not candidate.is_preferred:
            continue
        c, k = _bits(best.mask), _bits(candidate.mask)
        fitter = Hint(_fitter(best.mask, candidate.mask, is_closest=is_closest), best.is_preferred)
        if best.is_preferred or c > count:
            best = fitter
        elif c == count:
            best = fitter if k == count else best
        elif k == count or c < k < count:
            best = candidate
        elif k == c:
            best = fitter
    return best or Hint(default)


MASKS = st.none() | st.integers(1, 15) | st.integers(0, 31)
HINTS = st.builds(Hint, MASKS, st.booleans())
SMALL_LISTS = st.lists(st.lists(HINTS, min_size=1, max_size=5), max_size=4)
UNPREFERRED_LISTS = st.lists(st.lists(st.builds(Hint, MASKS), min_size=1, max_size=5), min_size=1, max_size=4)


@settings(deadline=None, max_examples=400, derandomize=True)
@given(SMALL_LISTS | UNPREFERRED_LISTS, st.sampled_from([DEFAULT, DEFAULT, 5, 0]), st.booleans())
def test_the_closed_form_is_the_walk(lists: Lists, default: int, is_closest: bool) -> None:
    """What is found mask by mask is what the walk over all permutations finds. Rules: TM-20…TM-28, TM-29"""
    fitness: Fitness = CLOSEST if is_closest else narrowness

    assert best_count(lists) == _most_demanding(lists)
    assert merged(lists, default, fitness) == _walked(lists, default, is_closest=is_closest)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.lists(HINTS, min_size=1, max_size=3), max_size=3))
def test_the_order_of_hints_does_not_matter(lists: Lists) -> None:
    """Neither the order of lists nor of hints matters. Rules: TM-17, TM-28"""
    expected = merged(lists, DEFAULT)

    for arranged in permutations(lists):
        assert merged([list(reversed(hints)) for hints in arranged], DEFAULT) == expected


# --------------------------------------------------------------------------------------------------- rule by rule


@pytest.mark.parametrize("lists", [[], [NO_PREFERENCE], [NO_PREFERENCE, NO_PREFERENCE]])
def test_nobody_has_an_opinion(lists: Lists) -> None:
    """All nodes, preferred. Rules: TM-20, TM-21"""
    assert merged(lists, DEFAULT) == wanted(0, 1, 2, 3)


def test_a_list_without_hints() -> None:
    """It leaves no permutation: all nodes, not preferred. Rules: TM-20, TM-23"""
    assert merged([[], [wanted(1)]], DEFAULT) == possible(0, 1, 2, 3)


def test_a_merged_hint_is_preferred_if_all_are() -> None:
    """Preferred is what all prefer alike; those without a mask agree with everybody. Rules: TM-21"""
    assert merged([[wanted(1), wanted(2)], NO_PREFERENCE, [wanted(2), wanted(3)]], DEFAULT) == wanted(2)


def test_overlap_is_no_agreement() -> None:
    """Different masks never give a preferred result, though they have nodes in common. Rules: TM-21"""
    assert merged([[wanted(0, 1)], [wanted(1, 2)]], DEFAULT) == possible(1)
    assert merged([[wanted(0, 1)], [wanted(1)]], DEFAULT) == possible(1)


def test_impossible_spoils_it() -> None:
    """One resource that cannot be had makes every permutation one that is not preferred. Rules: TM-9, TM-21"""
    assert merged([[wanted(0)], IMPOSSIBLE], DEFAULT) == possible(0)


def test_masks_without_a_common_node_come_to_all_nodes() -> None:
    """Masks without a common node come to all nodes, not preferred. Rules: TM-22, TM-23"""
    assert merged([[wanted(0)], [wanted(1)]], DEFAULT) == possible(0, 1, 2, 3)


def test_preferred_comes_before_narrow() -> None:
    """A wide agreement is better than a narrow overlap. Rules: TM-26"""
    assert merged([[possible(0), wanted(1, 2, 3)], [wanted(1, 2, 3)]], DEFAULT) == wanted(1, 2, 3)


def test_of_preferred_hints_the_narrowest_wins() -> None:
    """Fewer nodes, then the smaller number. Rules: TM-24, TM-26"""
    assert merged([[wanted(0, 1), wanted(3), wanted(2)]], DEFAULT) == wanted(2)
    assert merged([[wanted(0, 3), wanted(1, 2)]], DEFAULT) == wanted(1, 2)


def test_as_wide_as_the_most_demanding_resource_needs() -> None:
    """Without agreement neither the narrowest nor the widest wins, but what the most demanding one needs. Rules: TM-25, TM-26, TM-28"""
    lists = [[possible(0), possible(0, 1), possible(0, 1, 2)], [possible(0, 1), possible(0, 1, 2, 3)]]

    assert best_count(lists) == 2
    assert merged(lists, DEFAULT) == possible(0, 1)


def test_without_a_hint_as_wide_as_needed_the_next_narrower_wins() -> None:
    """Then the next narrower width, or, if all are wider, the least. Rules: TM-26, TM-28"""
    assert merged([[possible(0, 1, 2)], [possible(1, 2, 3)]], DEFAULT) == possible(1, 2)
    assert merged([[Hint(0b10000), possible(0, 1)]], DEFAULT) == possible(0, 1)


def test_width_is_counted_before_the_cut() -> None:
    """What a resource needs is counted on its own masks, unknown nodes included. Rules: TM-25, TM-34"""
    assert best_count([[Hint(mask_of([0, 8]))], [possible(1)]]) == 2
    assert best_count([NO_PREFERENCE, IMPOSSIBLE]) == best_count([]) == 0
    assert best_count([[Hint(0), possible(1)]]) == 0


def test_nodes_that_the_kubelet_does_not_know() -> None:
    """They are cut off after the comparison; a mask of nothing else is dropped. Rules: TM-21, TM-22, TM-34"""
    odd = Hint(mask_of([1, 8]), is_preferred=True)

    assert merged([[odd], [odd]], DEFAULT) == wanted(1)
    assert merged([[odd], [wanted(1)]], DEFAULT) == possible(1)
    assert merged([[Hint(mask_of([8]), is_preferred=True)]], DEFAULT) == possible(0, 1, 2, 3)


def test_a_machine_without_nodes_merges_to_an_empty_mask() -> None:
    """Nothing can be merged: an empty mask, not preferred. Rules: TM-16, TM-33"""
    assert merged([NO_PREFERENCE], 0) == Hint(0)
    assert merged([[wanted(0)]], 0) == Hint(0)


def test_of_equally_many_nodes_the_closest_win() -> None:
    """With equally many nodes the smaller sum of distances, both ways, wins; then the smaller number. Rules: TM-24, TM-27"""
    lists = [[wanted(0, 1), wanted(0, 3), wanted(2, 3)]]

    assert merged(lists, DEFAULT) == wanted(0, 1)
    assert merged(lists, DEFAULT, CLOSEST) == wanted(2, 3)
    assert merged([[wanted(0, 1, 2), wanted(0, 3)]], DEFAULT, CLOSEST) == wanted(0, 3)
    alike = merger(
        TopologySettings("restricted", "container", {"prefer-closest-numa-nodes": "1"}),
        [NumaNodeInfo(node, (10,) * 4) for node in range(4)],
    ).fitness
    assert merged(lists, DEFAULT, alike) == wanted(0, 1)


def test_few_nodes_come_before_close_ones() -> None:
    """Two nodes far from each other are better than three that are close. Rules: TM-24"""
    distances = ((10, 10, 10, 200), (10, 10, 10, 10), (10, 10, 10, 10), (200, 10, 10, 10))
    settings = TopologySettings("restricted", "container", {"prefer-closest-numa-nodes": "1"})
    fitness = merger(settings, [NumaNodeInfo(node, row) for node, row in enumerate(distances)]).fitness

    assert merged([[wanted(0, 1, 2), wanted(0, 3)]], DEFAULT, fitness) == wanted(0, 3)


def test_single_numa_node_keeps_hints_of_one_node_only() -> None:
    """Kept are preferred hints of one node or of no mask; a list may become empty. Rules: TM-19"""
    lists = [[wanted(0), wanted(0, 1), possible(1)], NO_PREFERENCE, IMPOSSIBLE, [Hint(0, is_preferred=True)]]

    assert only_single_nodes(lists) == [[wanted(0)], list(NO_PREFERENCE), [], []]


@pytest.mark.timeout(120)
def test_the_product_is_not_walked() -> None:
    """Ten resources with every subset of eight nodes are merged at once. Rules: TM-29"""
    hints = [Hint(mask, is_preferred=mask.bit_count() == 2) for mask in range(1, 256)]

    assert merged([hints] * 10, 255) == wanted(0, 1)
    assert merged([[Hint(mask) for mask in range(1, 256)]] * 10, 255) == possible(0)
