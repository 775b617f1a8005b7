"""Sets of NUMA nodes as 64-bit integers: bit i stands for node i."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

LAST_NODE = 63
Mask = int
"""The absence of a mask is `None`, which is not the same as a mask without any bit."""


def mask_of(nodes: Iterable[int]) -> Mask:
    """The mask with these nodes; one outside of 0 to 63 raises `ValueError`. Rules: TM-1"""
    mask = 0
    for node in nodes:
        if not 0 <= node <= LAST_NODE:
            raise ValueError("bit number must be in range 0-63")
        mask |= 1 << node
    return mask


def touching(nodes: Iterable[int]) -> Mask:
    """The same for asking whether a mask has any of the nodes: those outside of 0 to 63 never are in one. Rules: TM-1"""
    return mask_of(node for node in nodes if 0 <= node <= LAST_NODE)


def nodes_of(mask: Mask) -> tuple[int, ...]:
    """The NUMA nodes in the mask, ascending."""
    return tuple(node for node in range(mask.bit_length()) if mask >> node & 1)


def width(mask: Mask) -> int:
    """How many nodes are in it."""
    return mask.bit_count()


def narrowness(mask: Mask) -> tuple[int, int]:
    """A key: fewer nodes come first, then the smaller number, which need not be the one with the lower nodes.

    Rules: TM-2, TM-3
    """
    return mask.bit_count(), mask


def subsets(nodes: Sequence[int]) -> Iterator[Mask]:
    """All non-empty subsets, smaller ones first, within a size in the order of positions in the list. Rules: TM-4"""
    bits = [1 << node for node in nodes]
    for size in range(1, len(bits) + 1):
        for chosen in combinations(bits, size):
            yield sum(chosen)


def text(mask: Mask) -> str:
    """As the kubelet's log prints it: binary, padded to an even number of digits but for powers of four. Rules: TM-5"""
    digits = f"{mask:b}"
    is_power_of_four = mask > 1 and mask.bit_count() == 1 and len(digits) % 2 == 1
    return digits if is_power_of_four or len(digits) % 2 == 0 else "0" + digits
