"""The topology manager as configured: checked once, at the start, in the kubelet's order and words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType

from attrs import field, frozen

from kubelet_sim.core.go_text import quoted
from kubelet_sim.core.topology.hint_merge import Fitness, merged, only_single_nodes
from kubelet_sim.core.topology.hints import Hint, HintsByResource, flattened
from kubelet_sim.core.topology.masks import LAST_NODE, Mask, mask_of, narrowness, nodes_of, width
from kubelet_sim.errors import UsageError

DEFAULT_NODE_LIMIT = 8
_INT64_MAX = 2**63 - 1
_TRUE, _FALSE = {"1", "t", "T", "TRUE", "true", "True"}, {"0", "f", "F", "FALSE", "false", "False"}
_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


class Policy(Enum):
    """What becomes of a pod whose resources cannot be aligned."""

    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE_NUMA_NODE = "single-numa-node"


class Scope(Enum):
    """What is aligned: each container by itself, or the pod as a whole."""

    NONE = "none"
    """That of policy `none`; it cannot be chosen. Rules: TM-12"""
    CONTAINER = "container"
    POD = "pod"


@frozen
class NumaNodeInfo:
    """One NUMA node of the machine."""

    id: int
    distances: tuple[int, ...] | None = None
    """By node *id*, not by position. `None`: the machine does not tell. Rules: TM-15, TM-27"""


@frozen
class TopologySettings:
    """The choices, as a user writes them."""

    policy: str = "none"
    scope: str = "container"
    options: Mapping[str, str] = field(default=_NO_OPTIONS, hash=False)


NO_ALIGNMENT = TopologySettings()
"""Policy none."""


@frozen
class Merger:
    """A topology policy with its options, ready to merge hints."""

    policy: Policy
    scope: Scope
    default: Mask
    """All nodes. Rules: TM-16"""
    fitness: Fitness = narrowness
    uses_distances: bool = False
    """Whether the fitness is that of `prefer-closest-numa-nodes`. Rules: TM-24"""

    def result(self, answers: Sequence[HintsByResource]) -> Hint:
        """The hint that all providers together come to. Rules: TM-18, TM-30, TM-31, TM-32, TM-33"""
        lists = flattened(answers)
        if self.policy is Policy.NONE:
            return Hint()
        if self.policy is not Policy.SINGLE_NUMA_NODE:
            return merged(lists, self.default, self.fitness)
        best = merged(only_single_nodes(lists), self.default)
        return Hint(None, best.is_preferred) if best.mask == self.default else best

    @property
    def guarantees_alignment(self) -> bool:
        """Whether what is admitted is aligned for certain; it matters for metrics only. Rules: TM-35"""
        return self.policy is Policy.SINGLE_NUMA_NODE

    def admits(self, result: Hint) -> bool:
        """Whether the pod may go on. Rules: TM-18, TM-30, TM-31, TM-32"""
        return self.policy in (Policy.NONE, Policy.BEST_EFFORT) or result.is_preferred


def merger(settings: TopologySettings, nodes: Sequence[NumaNodeInfo]) -> Merger:
    """Check the settings against the machine, in the kubelet's order; policy `none` looks at nothing.

    Raises:
        UsageError: in the kubelet's words; it would not start. A node beyond 63, or one that a distance list does not
            reach, is an error of ours: the kubelet would crash later (TM-16, TM-27).

    Rules: TM-11, TM-12, TM-13, TM-14, TM-15, TM-16
    Follows: NewManager
    """
    if settings.policy == Policy.NONE.value:
        return Merger(Policy.NONE, Scope.NONE, 0)
    prefers_closest, limit = _options(settings.options)
    if prefers_closest and any(node.distances is None for node in nodes):
        raise UsageError("cannot discover NUMA topology: error getting NUMA distances from cadvisor")
    if len(nodes) > limit:
        raise UsageError(f"unsupported on machines with more than {limit} NUMA Nodes")
    if settings.policy not in {policy.value for policy in Policy}:
        raise UsageError(f"unknown policy: {quoted(settings.policy)}")
    if settings.scope not in (Scope.CONTAINER.value, Scope.POD.value):
        raise UsageError(f"unknown scope: {quoted(settings.scope)}")
    _check_ids(nodes, reach_needed=prefers_closest)
    fitness = _closeness(nodes) if prefers_closest else narrowness
    everything = mask_of(node.id for node in nodes)
    return Merger(Policy(settings.policy), Scope(settings.scope), everything, fitness, prefers_closest)


def _options(options: Mapping[str, str]) -> tuple[bool, int]:
    """Which of several errors is told is open in the kubelet; here the first name decides. Rules: TM-13, TM-14"""
    prefers_closest, limit = False, DEFAULT_NODE_LIMIT
    for name in sorted(options):
        if name == "prefer-closest-numa-nodes":
            prefers_closest = _boolean(name, options[name])
        elif name == "max-allowable-numa-nodes":
            limit = _node_limit(name, options[name])
        else:
            raise UsageError(f"unknown Topology Manager Policy option: {quoted(name)}")
    return prefers_closest, limit


def _boolean(name: str, value: str) -> bool:
    if value not in _TRUE | _FALSE:
        problem = f"strconv.ParseBool: parsing {quoted(value)}: invalid syntax"
        raise UsageError(f"bad value for option {quoted(name)}: {problem}")
    return value in _TRUE


def _node_limit(name: str, value: str) -> int:
    problem = "invalid syntax"
    if re.fullmatch(r"[+-]?[0-9]+", value):
        digits = value.lstrip("+-").lstrip("0") or "0"
        number = int(digits) if len(digits) <= len(str(_INT64_MAX)) else _INT64_MAX + 2
        number = -number if value.startswith("-") else number
        if -_INT64_MAX - 1 <= number <= _INT64_MAX:
            if number < DEFAULT_NODE_LIMIT:
                raise UsageError(f"the minimum value of {quoted(name)} should not be less than {DEFAULT_NODE_LIMIT}")
            return number
        problem = "value out of range"
    text = f"strconv.Atoi: parsing {quoted(value)}: {problem}"
    raise UsageError(f"unable to convert policy option to integer {quoted(name)}: {text}")


def _check_ids(nodes: Sequence[NumaNodeInfo], *, reach_needed: bool) -> None:
    """Where the kubelet would crash later. Rules: TM-16, TM-27"""
    for node in nodes:
        if not 0 <= node.id <= LAST_NODE:
            raise UsageError(f"NUMA node {node.id}: only nodes 0 to {LAST_NODE} can be in a mask")
        highest = max(other.id for other in nodes)
        if reach_needed and len(node.distances or ()) <= highest:
            raise UsageError(f"NUMA node {node.id}: its distances do not reach node {highest}")


def _closeness(nodes: Sequence[NumaNodeInfo]) -> Fitness:
    """Fewer nodes first, then the smaller mean distance over all ordered pairs, then the smaller number.

    With equally many nodes comparing sums is comparing means. Rules: TM-24, TM-27
    """
    distances = {node.id: node.distances or () for node in nodes}

    def fitness(mask: Mask) -> tuple[float, ...]:
        members = nodes_of(mask)
        return width(mask), sum(distances[a][b] for a in members for b in members), mask

    return fitness
