"""Many hints become one. The kubelet walks the product of all lists; what comes out is a function of far fewer masks.

The closed form (TM-28) asks for the masks that can come out, not for the ways to them. They are found list by list, each
mask once, so the work is bounded by the number of masks and not by the product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kubelet_sim.core.topology.hints import Hint
from kubelet_sim.core.topology.masks import Mask, narrowness, width

HintLists = Sequence[Sequence[Hint]]
Fitness = Callable[[Mask], tuple[float, ...]]
"""A key for masks: the fittest one is the smallest. Rules: TM-24"""


def merged(lists: HintLists, default: Mask, fitness: Fitness = narrowness) -> Hint:
    """The best merged hint; without any, the default affinity, not preferred.

    Args:
        lists: see `hints.flattened`; an empty list among them leaves no permutation at all.
        default: the mask of all nodes.
        fitness: how to choose between masks.

    Rules: DM-121, TM-20, TM-21, TM-22, TM-23, TM-24, TM-26, TM-28, TM-29, TM-34
    Follows: mergePermutation, compareHints, HintMerger.Merge
    """
    if not all(lists):
        return Hint(default, is_preferred=False)
    preferred = [mask & default for mask in _agreed(lists, default)]
    if any(preferred):
        return Hint(min(filter(None, preferred), key=fitness), is_preferred=True)
    reachable = _reachable(lists, default)
    if not reachable:
        return Hint(default, is_preferred=False)
    return Hint(_best_not_preferred(reachable, best_count(lists), fitness), is_preferred=False)


def _agreed(lists: HintLists, default: Mask) -> Iterable[Mask]:
    """Masks on which preferred hints of all lists agree, as given; lists may abstain with no mask. Rules: TM-21"""
    opinions = [{hint.mask for hint in hints if hint.is_preferred} for hints in lists]
    outspoken = [opinion for opinion in opinions if None not in opinion]
    if not outspoken:
        yield default
    candidates = set.intersection(*outspoken) if outspoken else set().union(*opinions)
    for mask in candidates:
        if mask is not None:
            yield mask


def _reachable(lists: HintLists, default: Mask) -> set[Mask]:
    """Every mask with a bit that some permutation ends in. Rules: TM-21, TM-22"""
    masks = {default} - {0}
    for hints in lists:
        offered = {default if hint.mask is None else hint.mask for hint in hints}
        masks = {mask & other for mask in masks for other in offered} - {0}
    return masks


def _best_not_preferred(masks: set[Mask], best: int, fitness: Fitness) -> Mask:
    """As many nodes as the most demanding resource needs, or fewer if need be, or more if not. Rules: TM-26, TM-28"""
    widths = {width(mask) for mask in masks}
    wanted = max((w for w in widths if w <= best), default=min(widths))
    return min((mask for mask in masks if width(mask) == wanted), key=fitness)


def best_count(lists: HintLists) -> int:
    """How many nodes the most demanding resource needs at least; 0 without any mask. Rules: TM-25"""
    narrowest = (min((h.mask for h in hints if h.mask is not None), key=narrowness, default=None) for hints in lists)
    return max((width(mask) for mask in narrowest if mask is not None), default=0)


def only_single_nodes(lists: HintLists) -> list[list[Hint]]:
    """What `single-numa-node` looks at: preferred hints of one node, or of no mask. Rules: TM-19"""
    return [
        [hint for hint in hints if hint.is_preferred and (hint.mask is None or width(hint.mask) == 1)]
        for hints in lists
    ]
