from __future__ import annotations

from collections.abc import Mapping

import pytest

from kubelet_sim.core.topology.hints import Hint, HintsByResource
from kubelet_sim.core.topology.masks import mask_of
from kubelet_sim.core.topology.settings import Merger, NumaNodeInfo, Policy, Scope, TopologySettings, merger
from kubelet_sim.errors import UsageError

TWO = (NumaNodeInfo(0, (10, 20)), NumaNodeInfo(1, (20, 10)))
CLOSEST, LIMIT = "prefer-closest-numa-nodes", "max-allowable-numa-nodes"
BAD_NUMBER = f'unable to convert policy option to integer "{LIMIT}": strconv.Atoi: parsing '


def _merger(policy: str, scope: str = "container", nodes: int = 2) -> Merger:
    return merger(TopologySettings(policy, scope), [NumaNodeInfo(node) for node in range(nodes)])


def _refusal(settings: TopologySettings, nodes: tuple[NumaNodeInfo, ...] = TWO) -> str:
    with pytest.raises(UsageError) as caught:
        merger(settings, nodes)
    return str(caught.value)


def test_the_default_policy_is_none_by_container() -> None:
    """Policy none, scope container, no options. Rules: TM-11"""
    assert TopologySettings() == TopologySettings("none", "container", {})
    assert merger(TopologySettings(), TWO).scope is Scope.NONE


def test_policy_none_looks_at_nothing() -> None:
    """Whatever else is written, however many nodes there are. Rules: TM-12"""
    wild = TopologySettings("none", "nonsense", {"nonsense": "x", LIMIT: "one"})

    assert merger(wild, [NumaNodeInfo(node) for node in range(100)]).policy is Policy.NONE


@pytest.mark.parametrize(
    "settings, nodes, text",
    [
        (TopologySettings("odd", "odd", {"odd": "1"}), 9, 'unknown Topology Manager Policy option: "odd"'),
        (TopologySettings("odd", "odd", {CLOSEST: "1"}), 9, "cannot discover NUMA topology: error getting NUMA distances from cadvisor"),
        (TopologySettings("odd", "odd"), 9, "unsupported on machines with more than 8 NUMA Nodes"),
        (TopologySettings("odd", "odd"), 8, 'unknown policy: "odd"'),
        (TopologySettings("restricted", "odd"), 8, 'unknown scope: "odd"'),
        (TopologySettings("restricted", "none"), 8, 'unknown scope: "none"'),
        (TopologySettings("", ""), 1, 'unknown policy: ""'),
        (TopologySettings("restricted", "container", {LIMIT: "9"}), 10, "unsupported on machines with more than 9 NUMA Nodes"),
    ],
)  # fmt: skip
def test_the_first_error_is_told(settings: TopologySettings, nodes: int, text: str) -> None:
    """Options, then the machine, then the names. Rules: TM-12, TM-15"""
    assert _refusal(settings, tuple(NumaNodeInfo(node) for node in range(nodes))) == text


@pytest.mark.parametrize("value", ["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"])
def test_a_truth_is_read_in_gos_spellings(value: str) -> None:
    """Go's spellings; a false one is as if it were not there. Rules: TM-13, TM-15"""
    settings = TopologySettings("single-numa-node", "container", {CLOSEST: value})
    merger(settings, TWO)
    if value in ("1", "t", "T", "TRUE", "true", "True"):
        assert "cadvisor" in _refusal(settings, (NumaNodeInfo(0),))
    else:
        merger(settings, (NumaNodeInfo(0),))


@pytest.mark.parametrize("value", ["", "yes", "tRUE", " true", "2", 'a"b'])
def test_a_text_that_is_no_truth_is_refused(value: str) -> None:
    """Anything else is refused with its text quoted. Rules: TM-13"""
    shown = value.replace('"', '\\"')

    assert _refusal(TopologySettings("restricted", "container", {CLOSEST: value})) == (
        f'bad value for option "{CLOSEST}": strconv.ParseBool: parsing "{shown}": invalid syntax'
    )


@pytest.mark.parametrize(
    "value, text",
    [
        ("7", f'the minimum value of "{LIMIT}" should not be less than 8'),
        ("-9223372036854775808", f'the minimum value of "{LIMIT}" should not be less than 8'),
        ("9223372036854775808", f'{BAD_NUMBER}"9223372036854775808": value out of range'),
        ("-9223372036854775809", f'{BAD_NUMBER}"-9223372036854775809": value out of range'),
        ("9" * 5000, f'{BAD_NUMBER}"{"9" * 5000}": value out of range'),
        ("", f'{BAD_NUMBER}"": invalid syntax'),
        ("1_0", f'{BAD_NUMBER}"1_0": invalid syntax'),
        (" 9", f'{BAD_NUMBER}" 9": invalid syntax'),
        ("9\n", f'{BAD_NUMBER}"9\\n": invalid syntax'),
        ("0x9", f'{BAD_NUMBER}"0x9": invalid syntax'),
        ("٩", f'{BAD_NUMBER}"٩": invalid syntax'),
        ("+-9", f'{BAD_NUMBER}"+-9": invalid syntax'),
    ],
)
def test_a_limit_below_8_or_with_other_digits_is_refused(value: str, text: str) -> None:
    """A number from 8 on, in decimal digits with an optional sign. Rules: TM-13"""
    assert _refusal(TopologySettings("restricted", "container", {LIMIT: value})) == text


@pytest.mark.parametrize("value, limit", [("8", 8), ("+9", 9), ("0010", 10), ("9223372036854775807", 64)])
def test_a_limit_allows_as_many_nodes_and_not_one_more(value: str, limit: int) -> None:
    """As many nodes are allowed, and not one more. Rules: TM-12, TM-13"""
    settings = TopologySettings("best-effort", "container", {LIMIT: value})

    merger(settings, [NumaNodeInfo(node) for node in range(limit)])
    if limit < 64:
        assert "unsupported" in _refusal(settings, tuple(NumaNodeInfo(node) for node in range(limit + 1)))


@pytest.mark.parametrize("node", [-1, 64])
def test_a_node_that_no_mask_can_have(node: int) -> None:
    """The kubelet would crash at the first merge; here it does not start. Rules: TM-16"""
    assert _refusal(TopologySettings("best-effort"), (NumaNodeInfo(node),)) == (
        f"NUMA node {node}: only nodes 0 to 63 can be in a mask"
    )


def test_distances_that_do_not_reach() -> None:
    """They are looked up by node id, so a node with a high id needs a long list. Rules: TM-27"""
    settings = TopologySettings("best-effort", "container", {CLOSEST: "true"})
    nodes = (NumaNodeInfo(0, (10, 20, 30, 40)), NumaNodeInfo(3, (10, 20, 30)))

    assert _refusal(settings, nodes) == "NUMA node 3: its distances do not reach node 3"
    merger(TopologySettings("best-effort"), nodes)


SOME: Mapping[str, list[HintsByResource]] = {
    "agreed on one": [{"r": (Hint(1, is_preferred=True), Hint(3))}],
    "agreed on two": [{"r": (Hint(3, is_preferred=True),)}],
    "no agreement": [{"r": (Hint(1),)}],
    "impossible": [{"r": ()}],
    "no preference": [{"r": None}],
    "nobody": [{}, {}],
}


@pytest.mark.parametrize(
    "policy, case, result, is_admitted",
    [
        ("none", "impossible", Hint(), True),
        ("none", "agreed on one", Hint(), True),
        ("best-effort", "agreed on one", Hint(1, is_preferred=True), True),
        ("best-effort", "no agreement", Hint(1), True),
        ("best-effort", "impossible", Hint(3), True),
        ("restricted", "agreed on one", Hint(1, is_preferred=True), True),
        ("restricted", "agreed on two", Hint(3, is_preferred=True), True),
        ("restricted", "no agreement", Hint(1), False),
        ("restricted", "impossible", Hint(3), False),
        ("restricted", "nobody", Hint(3, is_preferred=True), True),
        ("single-numa-node", "agreed on one", Hint(1, is_preferred=True), True),
        ("single-numa-node", "agreed on two", Hint(), False),
        ("single-numa-node", "no agreement", Hint(), False),
        ("single-numa-node", "impossible", Hint(), False),
        ("single-numa-node", "no preference", Hint(None, is_preferred=True), True),
        ("single-numa-node", "nobody", Hint(None, is_preferred=True), True),
    ],
)
def test_each_policy_admits_what_it_should(policy: str, case: str, result: Hint, is_admitted: bool) -> None:
    """What each policy makes of an answer, on two nodes. Rules: TM-18, TM-19, TM-30, TM-31, TM-32, TM-49"""
    chosen = _merger(policy)

    assert chosen.result(SOME[case]) == result
    assert chosen.admits(result) is is_admitted


def test_a_single_node_is_no_affinity() -> None:
    """On a machine of one node a perfectly aligned result says nothing. Rules: TM-32"""
    answers: list[HintsByResource] = [{"r": (Hint(1, is_preferred=True),)}]

    assert _merger("single-numa-node", nodes=1).result(answers) == Hint(None, is_preferred=True)
    assert _merger("restricted", nodes=1).result(answers) == Hint(1, is_preferred=True)


@pytest.mark.parametrize(
    "policy, result, is_admitted",
    [("best-effort", Hint(0), True), ("restricted", Hint(0), False), ("single-numa-node", Hint(), False)],
)
def test_two_policies_refuse_every_pod_without_nodes(policy: str, result: Hint, is_admitted: bool) -> None:
    """Two policies refuse every pod there, also one that asks for nothing. Rules: TM-33"""
    chosen = _merger(policy, nodes=0)

    assert chosen.result([{}]) == result
    assert chosen.admits(result) is is_admitted


def test_closeness_is_nothing_to_single_nodes() -> None:
    """That policy goes by width and number. Rules: TM-15, TM-24"""
    nodes = (NumaNodeInfo(0, (90, 20)), NumaNodeInfo(1, (20, 10)))
    both: list[HintsByResource] = [{"r": (Hint(1, is_preferred=True), Hint(2, is_preferred=True))}]
    options = {CLOSEST: "true"}

    assert merger(TopologySettings("single-numa-node", "pod", options), nodes).result(both).mask == 1
    assert merger(TopologySettings("restricted", "pod", options), nodes).result(both).mask == 2


def test_all_nodes_are_the_default() -> None:
    """The ids count, not the positions. Rules: TM-15, TM-16"""
    assert merger(TopologySettings("restricted"), [NumaNodeInfo(5), NumaNodeInfo(2)]).default == mask_of([2, 5])
