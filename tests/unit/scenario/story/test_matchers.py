"""Words with which a story says what it expects."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.story.expectations import MATCHERS, Patience, check, is_matcher, matches, patience


@pytest.mark.parametrize(
    "expected, came",
    [
        ({"contains": {"a": 1}}, {"a": 1, "b": 2}),
        ({"contains": {"a": {"b": 1}}}, {"a": {"b": 1, "c": 2}, "d": 3}),
        ({"contains": {"a": {"absent": True}}}, {"b": 1}),
        ({"contains": ["a"]}, ["b", "a"]),
        ({"contains": [{"x": 1}]}, [{"x": 2}, {"x": 1, "y": 1}]),
        ({"contains": "ell"}, "hello"),
        ({"a": {"absent": True}}, {}),
        ({"a": {"any": True}, "b": {"any": "text"}}, {"a": None, "b": ""}),
        ({"unordered": [1, {"at-least": 2}]}, [3, 1]),
        ({"ordered": [1, 2]}, [1, 2]),
        ({"one-of": [1, {"matches": "^a"}]}, "ab"),
        ({"between": [1, 3]}, 3),
        ({"at-least": 1, "at-most": 2}, 1.5),
        ({"not": {"contains": "x"}}, "y"),
        ({"exactly": {"any": True}}, {"any": True}),
        ([{"at-least": 1}, 1], [1, 2]),
        ([["A", {"matches": "x"}]], [["A", "axb"]]),
        ({"contains": {"calls": [{"rpc": "b"}]}}, {"calls": [{"rpc": "a"}, {"rpc": "b", "ids": []}]} | {"x": 1}),
    ],
)
def test_what_fits(expected: Any, came: Any) -> None:
    """At any depth; all words of a matcher have to hold."""
    check(expected)
    if expected == {"contains": {"calls": [{"rpc": "b"}]}}:
        expected = {"contains": {"calls": {"contains": [{"rpc": "b"}]}}}
    assert matches(expected, came)


@pytest.mark.parametrize(
    "expected, came",
    [
        ({"contains": {"a": 1}}, {"b": 1}),
        ({"contains": {"a": [1]}}, {"a": [1, 2]}),
        ({"contains": ["a", "a"]}, ["a"]),
        ({"a": {"absent": True}}, {"a": 1}),
        ({"absent": True}, None),
        ({"a": {"any": True}}, {}),
        ({"any": "number"}, True),
        ({"ordered": [1, 2]}, [2, 1]),
        ({"between": [1, 3]}, "2"),
        ({"at-least": 1, "at-most": 2}, 3),
        ({"not": 1}, 1),
        ({"exactly": {"any": True}}, 1),
        ({"matches": "x"}, 7),
    ],
)
def test_what_does_not(expected: Any, came: Any) -> None:
    """A text is no number, a truth neither, and a part of a list has to be there as often as it is named."""
    check(expected)
    assert not matches(expected, came)


def test_other_mappings_are_no_matchers() -> None:
    """One word that is none makes all of it names."""
    assert not is_matcher({"contains": 1, "x": 2})
    assert not is_matcher({})
    assert matches({"contains": 1, "x": 2}, {"contains": 1, "x": 2})


@pytest.mark.parametrize(
    "wrong",
    [{"matches": "("}, {"between": [2, 1]}, {"at-least": "1"}, {"any": "thing"}, {"absent": False}, {"one-of": 1}],
)
def test_what_is_no_matcher_is_refused(wrong: Any) -> None:
    """With the way out for those who meant a name."""
    with pytest.raises(UsageError, match="write exactly: if that is a name"):
        check({"a": [wrong]})


def test_patience_says_how_long_and_by_which_clock() -> None:
    """How long, by which clock, and what else is expected."""
    assert patience({"within": "5m", "clock": "node", "a": 1}) == (Patience(300.0, "node"), {"a": 1})
    assert patience({"a": 1}) == (None, {"a": 1})
    with pytest.raises(UsageError, match="within: expected seconds"):
        patience({"within": "soon"})


def test_every_word_is_told() -> None:
    """The page has a sentence for each."""
    assert all(each.about.endswith(".") for each in MATCHERS.values())
