"""Arguments of faults, as they come from a command line or a scenario file."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.node.faults.arguments import Argument, bound, choice, ids, number, seconds, text

ALL = (
    text("text", "t", "Text."),
    number("number", None, "A number.", least=1),
    seconds("seconds", 1.5, "Seconds."),
    choice("choice", ("x", "y"), "x", "A choice."),
    ids("ids", "Ids."),
)


def test_what_is_left_out_is_the_default() -> None:
    """Every argument has a value."""
    assert bound(ALL, {}) == {"text": "t", "number": None, "seconds": 1.5, "choice": "x", "ids": ()}


def test_text_and_plain_values_are_read_alike() -> None:
    """A command line has text only, a file has numbers and lists."""
    plain = {"text": "", "number": 3, "seconds": 2, "choice": "y", "ids": ["a", "b"]}
    typed = {"text": "", "number": "3", "seconds": "2", "choice": "y", "ids": "a,b"}
    assert bound(ALL, plain) == bound(ALL, typed)
    assert bound(ALL, plain)["ids"] == ("a", "b")


def test_seconds_may_have_a_unit() -> None:
    """As everywhere else in a story, and on a command line."""
    assert [bound(ALL, {"seconds": text})["seconds"] for text in ("500ms", "1m30s", "2")] == [0.5, 90.0, 2.0]


@pytest.mark.parametrize(
    "given",
    [
        {"text": 1},
        {"number": 0},
        {"number": "x"},
        {"number": True},
        {"seconds": -1},
        {"seconds": "inf"},
        {"seconds": "nan"},
        {"seconds": "5 parsecs"},
        {"choice": "z"},
        {"ids": 7},
        {"ids": [7]},
        {"other": 1},
    ],
)
def test_what_cannot_be_names_the_argument(given: dict[str, Any]) -> None:
    """The error says which one, and what was expected."""
    with pytest.raises(UsageError, match=next(iter(given))):
        bound(ALL, given)


@pytest.mark.parametrize("argument, shown", list(zip(ALL, ("t", "", "1.5", "x", ""), strict=True)))
def test_a_default_for_people(argument: Argument, shown: str) -> None:
    """None is nothing."""
    assert argument.default_text == shown
