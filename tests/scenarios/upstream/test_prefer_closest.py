"""Upstream: topology_manager_test.go, prefer-closest suite. Distances are respected.

A story's NUMA nodes are all equally far from each other, so these stories are told here, with distances of their own.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from attrs import evolve, frozen

from kubelet_sim.core.topology.settings import NumaNodeInfo
from kubelet_sim.scenario.play.player import play
from kubelet_sim.scenario.play.report import wrong_step_text
from kubelet_sim.scenario.story.node_spec import NodeSpec
from kubelet_sim.scenario.story.story_reader import story_from_mapping

RESOURCE = "example.com/nic"
DISTANCES = ((10, 20, 16, 24), (20, 10, 28, 12), (16, 28, 10, 32), (24, 12, 32, 10))
"""Of the pairs, 1 and 3 are closest, then 0 and 2, then 0 and 1."""
OPTIONS = {"prefer-closest-numa-nodes": "true"}
REFUSED = {
    "admit": False,
    "reason": "TopologyAffinityError",
    "message": "Resources cannot be allocated with Topology locality",
}
ADMITTED = {"admit": True, "reason": "", "message": ""}


@frozen
class FarApart(NodeSpec):
    """The node of a story, with those distances."""

    @property
    def machine(self) -> tuple[NumaNodeInfo, ...]:
        """The NUMA nodes."""
        return tuple(NumaNodeInfo(node, DISTANCES[node]) for node in self.numa)


def wrong_in(node: NodeSpec, *steps: dict[str, Any], unhealthy: frozenset[int] = frozenset()) -> str | None:
    """What is wrong with a story in which each of four NUMA nodes has one nic, before which a plugin registers."""
    nics = [
        {"id": f"nic-{at}", "numa": [at], "health": "Unhealthy" if at in unhealthy else "Healthy"} for at in node.numa
    ]
    story = story_from_mapping(
        {
            "name": "prefer-closest",
            "plugins": {"p": {"resource": RESOURCE, "socket": "p.sock", "devices": nics}},
            "steps": [{"do": "register", "plugin": "p", "expect": {"code": "OK", "message": ""}}, *steps],
        }
    )
    played = asyncio.run(play(evolve(story, node=node)))
    return None if played.wrong is None else wrong_step_text(played)


def admitted(count: int, expected: dict[str, Any], name: str = "one") -> dict[str, Any]:
    """The step that admits a pod with so many nics."""
    container = {"name": "main", "resources": {"limits": {RESOURCE: count}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "uid": name},
        "spec": {"containers": [container]},
    }
    return {"do": "admit", "pod": pod, "expect": expected}


def on_nodes(*nodes: int, is_preferred: bool = True, name: str = "one") -> tuple[dict[str, Any], dict[str, Any]]:
    """The steps that see a pod's affinity and its nics, one of each of the NUMA nodes."""
    affinity = {"nodes": list(nodes), "preferred": is_preferred}
    return (
        {"do": "affinity", "pod": name, "container": "main", "expect": affinity},
        {"do": "allocated", "pod": name, "expect": {"main": {RESOURCE: [f"nic-{at}" for at in nodes]}}},
    )


@pytest.mark.parametrize("policy", ["best-effort", "restricted"])
@pytest.mark.parametrize("scope", ["container", "pod"])
class TestDistances:
    """Of NUMA nodes that are equally many, the closest win. Rules: TM-24, TM-27."""

    def test_the_closest_pair_wins(self, policy: str, scope: str) -> None:
        """Two nics come from the two nodes that are closest to each other."""
        node = FarApart((0, 1, 2, 3), policy, scope, OPTIONS)
        assert wrong_in(node, admitted(2, ADMITTED), *on_nodes(1, 3)) is None

    def test_the_next_pod_gets_the_closest_of_what_is_left(self, policy: str, scope: str) -> None:
        """A second pod of two nics gets the pair that is left, far as it is."""
        node = FarApart((0, 1, 2, 3), policy, scope, OPTIONS)
        steps = [admitted(2, ADMITTED), *on_nodes(1, 3), admitted(2, ADMITTED, "two"), *on_nodes(0, 2, name="two")]
        assert wrong_in(node, *steps) is None

    def test_a_closer_pair_that_cannot_be_is_passed_over(self, policy: str, scope: str) -> None:
        """Without node 3, nodes 0 and 2 are closest."""
        node = FarApart((0, 1, 2, 3), policy, scope, OPTIONS)
        assert wrong_in(node, admitted(2, ADMITTED), *on_nodes(0, 2), unhealthy=frozenset({3})) is None

    def test_fewer_nodes_win_over_closer_ones(self, policy: str, scope: str) -> None:
        """One nic comes from one node, the lowest one: every node is as close to itself."""
        node = FarApart((0, 1, 2, 3), policy, scope, OPTIONS)
        assert wrong_in(node, admitted(1, ADMITTED), *on_nodes(0)) is None

    def test_three_nodes_are_measured_as_a_whole(self, policy: str, scope: str) -> None:
        """Of three nodes, all pairs count: 0, 1 and 3 are closest together."""
        node = FarApart((0, 1, 2, 3), policy, scope, OPTIONS)
        assert wrong_in(node, admitted(3, ADMITTED), *on_nodes(0, 1, 3)) is None

    def test_without_the_option_numbers_decide(self, policy: str, scope: str) -> None:
        """Two nics come from the nodes 0 and 1, however far they are apart."""
        node = FarApart((0, 1, 2, 3), policy, scope)
        assert wrong_in(node, admitted(2, ADMITTED), *on_nodes(0, 1)) is None


def test_one_numa_node_stays_one() -> None:
    """Under single-numa-node two close nodes are no better than two far ones. Rules: TM-19, TM-42."""
    node = FarApart((0, 1, 2, 3), "single-numa-node", "container", OPTIONS)
    assert wrong_in(node, admitted(2, REFUSED)) is None
    assert wrong_in(node, admitted(1, ADMITTED), *on_nodes(0)) is None
