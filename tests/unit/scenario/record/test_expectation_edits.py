"""Expectations that are written into the text of a file."""

from __future__ import annotations

import json

import pytest
import yaml

from kubelet_sim.scenario.record.expectation_edits import with_expectations
from kubelet_sim.scenario.story.story_reader import read_stories

LONG = {f"key-{n}": "x" * 30 for n in range(4)}


@pytest.mark.parametrize(
    "before, after",
    [
        ("- do: in-use\n", "- do: in-use\n  expect: {a: 1}\n"),
        ("- do: in-use  # why\n\n# next\n", "- do: in-use\n  expect: {a: 1}  # why\n\n# next\n"),
        ("- {do: in-use}\n", "- {do: in-use, expect: {a: 1}}\n"),
        ("- do: in-use\n  expect:\n    b: 2\n    c: [1]\n# end\n", "- do: in-use\n  expect: {a: 1}\n# end\n"),
        ("- {expect: {b: 2}, do: in-use}  # x\n", "- {expect: {a: 1}, do: in-use}  # x\n"),
        ("- expect: 7 # was\n  do: in-use", "- expect: {a: 1} # was\n  do: in-use"),
    ],
)
def test_one_step(before: str, after: str) -> None:
    """What is not the expectation of the step, comments among it, stays as it was."""
    head = "name: s  # a story\nsteps:\n"
    (story,) = read_stories(head + before, "f")
    place = story.steps[0].place
    assert place is not None
    edited = with_expectations(
        head + before, [(place, {"a": 1})], lambda value: yaml.safe_dump(value, default_flow_style=True).strip()
    )
    assert edited == head + after


def test_a_long_one_takes_a_line_for_each_key() -> None:
    """An expectation that is too long for a line is written as a block, and reads the same."""
    text = "name: s\nsteps:\n- do: in-use\n- do: pause\n"
    (story,) = read_stories(text, "f")
    places = [(step.place, LONG) for step in story.steps if step.place is not None]
    edited = with_expectations(text, places, json.dumps)
    assert [step["expect"] for step in yaml.safe_load(edited)["steps"]] == [LONG, LONG]
    assert max(map(len, edited.splitlines())) < 100
