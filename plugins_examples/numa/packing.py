"""Which devices go well together: as few NUMA nodes as possible. Pure, nothing here knows gRPC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def pack(available: Sequence[str], must_include: Sequence[str], size: int, node_of: Mapping[str, int]) -> list[str]:
    """`size` of the available devices on few nodes, those of `must_include` first; fewer if there are not enough.

    The nodes of `must_include` are filled up before another is begun. Then the node is taken that has enough, and of
    those the one with least to spare, so that the large ones stay whole; else the one that has most.
    """
    chosen, included = list(must_include), set(must_include)
    begun = {node_of[device] for device in must_include}
    free: dict[int, list[str]] = {}
    for device in available:
        if device not in included:
            free.setdefault(node_of[device], []).append(device)
    while free and (missing := size - len(chosen)) > 0:
        node = min(free, key=lambda each: (each not in begun, *_fit(len(free[each]), missing), each))
        chosen += free.pop(node)[:missing]
    return chosen


def _fit(free: int, missing: int) -> tuple[bool, int]:
    """Smaller is better: enough before too few, then the least to spare, or the most."""
    return (False, free) if free >= missing else (True, -free)
