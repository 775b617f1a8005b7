from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.story.order import Call, Choices, FollowedOrder, plain_choices, read_choices

GPU, NIC = "example.com/gpu", "example.com/nic"


def _following(*calls: Call, resources: tuple[str, ...] = ()) -> FollowedOrder:
    order = FollowedOrder()
    order.follow(Choices(calls, resources))
    return order


def test_as_written_without_choices() -> None:
    """A story without recorded choices is played as before: limits as written, ids sorted. Rules: DM-89, DM-92"""
    order = FollowedOrder()

    assert list(order.arrange("DM-89", [NIC, GPU])) == [NIC, GPU]
    assert list(order.arrange("DM-92", {"b", "a"})) == ["a", "b"]


def test_ids_of_the_next_call_come_first() -> None:
    """What the kubelet allocated is taken; once the call was made, what it allocated next. Rules: DM-90, DM-92"""
    order = _following(Call("Allocate", GPU, ("c",)), Call("Allocate", NIC, ("b",)))

    assert list(order.arrange("DM-92", {"a", "b", "c"})) == ["c", "a", "b"]
    order.called("Allocate")
    assert list(order.arrange("DM-92", {"a", "b", "c"})) == ["b", "a", "c"]


def test_what_had_to_be_included_comes_first() -> None:
    """What was taken before the plugin was asked is taken before what was taken after it. Rules: DM-90, DM-94"""
    order = _following(Call("GetPreferredAllocation", GPU, ("c",)), Call("Allocate", GPU, ("b", "c")))

    assert list(order.arrange("DM-90", {"a", "b", "c"}))[:1] == ["c"]
    order.called("GetPreferredAllocation")
    assert set(list(order.arrange("DM-92", {"a", "b", "c"}))[:2]) == {"b", "c"}


def test_limits_in_the_order_of_calls() -> None:
    """Limits come in the order of the calls that are still to come, then those that failed without one. Rules: DM-89"""
    order = _following(Call("PreStartContainer", NIC), Call("Allocate", GPU, ("a",)), resources=("example.com/fpga",))

    assert list(order.arrange("DM-103", ["example.com/fpga", GPU, NIC])) == [NIC, GPU, "example.com/fpga"]
    order.called("PreStartContainer")
    assert list(order.arrange("DM-89", ["example.com/a", NIC, "example.com/fpga", GPU])) == [
        GPU,
        "example.com/fpga",
        "example.com/a",
        NIC,
    ]


def test_a_call_that_the_kubelet_did_not_make() -> None:
    """It changes nothing: the difference is for whoever compares."""
    order = _following(Call("Allocate", GPU, ("b",)))

    order.called("PreStartContainer")

    assert list(order.arrange("DM-92", {"a", "b"})) == ["b", "a"]


def test_nothing_is_added() -> None:
    """A choice that was not allowed is not followed. Rules: DM-92"""
    order = _following(Call("Allocate", GPU, ("z",)))

    assert list(order.arrange("DM-92", {"a", "b"})) == ["a", "b"]


def test_who_wins_a_conflict() -> None:
    """The resource whose value won comes first in the merge. Rules: DM-123, DM-124"""
    order = _following(resources=(NIC,))

    assert list(order.arrange("DM-123", [GPU, NIC])) == [NIC, GPU]


def test_choices_are_read_as_written() -> None:
    """Choices in a file and choices in memory are the same."""
    choices = Choices((Call("Allocate", GPU, ("a", "b")),), (NIC,))

    assert plain_choices(choices) == {"calls": [["Allocate", GPU, ["a", "b"]]], "resources": [NIC]}
    assert read_choices(plain_choices(choices)) == choices
    assert plain_choices(Choices()) == {}


@pytest.mark.parametrize("wrong", [[], {"call": []}, {"calls": [["Free", GPU, []]]}, {"calls": [["Allocate", GPU]]}])
def test_choices_that_are_none(wrong: Any) -> None:
    """Anything else is refused, with a word on what was expected."""
    with pytest.raises(UsageError):
        read_choices(wrong)
