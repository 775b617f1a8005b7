"""Variables of a story are put in where they are referred to."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.story.story_reader import story_from_mapping
from kubelet_sim.scenario.story.variables import filled, references

KNOWN = {"n": 3, "t": "text", "m": {"a.b": ["x", {"k": "v"}]}, "yes": True}


@pytest.mark.parametrize(
    "text, value",
    [
        ("${n}", 3),
        ("${n} and ${t}", "3 and text"),
        ('${m["a.b"][1].k}', "v"),
        ("${m}", KNOWN["m"]),
        ("is ${yes}", "is true"),
        ("$${n}", "${n}"),
        ("$n {n}", "$n {n}"),
    ],
)
def test_a_reference_alone_becomes_the_value(text: str, value: Any) -> None:
    """One alone becomes the value, others stand in their text."""
    assert filled({"k": [text]}, KNOWN) == {"k": [value]}


@pytest.mark.parametrize(
    "text, problem",
    [
        ("${x}", "there is no variable 'x'; there are: n, t, m, yes"),
        ("${n.a}", "there is no 'a' in 3"),
        ('${m["a.b"][7]}', "there is no 7"),
        ("a ${m}", "is no text that could stand in"),
        ("${}", "does not begin with the name"),
        ("${n!}", "expected .key or"),
    ],
)
def test_a_wrong_reference_says_which_there_are(text: str, problem: str) -> None:
    """An error about a reference says which variables and keys there are."""
    with pytest.raises(UsageError, match=None) as caught:
        filled(text, KNOWN)
    assert problem in str(caught.value)


def test_what_is_saved_later_stays() -> None:
    """A reference to what is saved later stays, with the text around it."""
    assert filled("${n} ${late}", KNOWN, ["late"]) == "${n} ${late}"
    assert list(references({"a": ["${x.y} $${z}"]})) == ["x"]


def test_a_story_without_variables_has_none() -> None:
    """`${…}` is text there, as it always was."""
    plugin = {"resource": "r", "socket": "${s}"}
    assert story_from_mapping({"plugins": {"p": plugin}}).scripts["p"].socket == "${s}"
    assert story_from_mapping({"vars": {"s": "x"}, "plugins": {"p": plugin}}).scripts["p"].socket == "x"


def test_a_step_may_refer_to_earlier_ones_only() -> None:
    """What is saved afterwards is not there yet."""
    steps = [{"do": "allocated", "pod": "${x.y}"}, {"do": "in-use", "save": "x"}]
    with pytest.raises(UsageError, match="there is no variable 'x'"):
        story_from_mapping({"steps": steps})
    late = story_from_mapping({"steps": steps[::-1]}).steps[1]
    assert late.late is not None
    assert dict(late.late({"x": {"y": "one"}}).arguments) == {"pod": "one"}
