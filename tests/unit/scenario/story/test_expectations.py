from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.scenario.story.expectations import matches, text_matches


@pytest.mark.parametrize(
    "expected, came",
    [
        ({}, {}),
        (None, None),
        ({"a": 1, "b": {"c": []}}, {"b": {"c": []}, "a": 1}),
        ({"healthy": {"r": ["a", "b"]}}, {"healthy": {"r": ["b", "a"]}}),
        ({"ids": ["a", "a", "b"]}, {"ids": ["a", "b", "a"]}),
        ({"mounts": [["/a", "/h", True], ["/b", "/h", False]]}, {"mounts": [["/b", "/h", False], ["/a", "/h", True]]}),
        (
            {"entries": [{"pod": "a", "ids": ["x", "y"]}, {"pod": "b"}]},
            {"entries": [{"pod": "b"}, {"pod": "a", "ids": ["y", "x"]}]},
        ),
        ({"calls": [{"ids": ["a", "b"]}, {"ids": ["c"]}]}, {"calls": [{"ids": ["b", "a"]}, {"ids": ["c"]}]}),
        ({"message": "failed to dial device plugin: ..."}, {"message": "failed to dial device plugin: context\nended"}),
        ({"p": {"message": "a ... c", "code": "X"}}, {"p": {"message": "a b c", "code": "X"}}),
        ({"error": "no ..., which"}, {"error": "no , which"}),
        ({"options": None}, {"options": None}),
        ({"seconds": 1}, {"seconds": 1.0}),
    ],
)
def test_what_fits(expected: Any, came: Any) -> None:
    """Mappings by key, lists as bags, texts with `...`."""
    assert matches(expected, came)


@pytest.mark.parametrize(
    "expected, came",
    [
        ({}, {"a": 1}),
        ({"a": 1}, {}),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": True}),
        ({"a": True}, {"a": 1}),
        ({"a": False}, {"a": 0}),
        ({"a": None}, {"a": {}}),
        ({"a": {}}, {"a": None}),
        ({"a": []}, {"a": {}}),
        ({"a": "1"}, {"a": 1}),
        ({"a": ["b"]}, {"a": "b"}),
        ({"ids": ["a", "b"]}, {"ids": ["a"]}),
        ({"ids": ["a"]}, {"ids": ["a", "b"]}),
        ({"ids": ["a", "a", "b"]}, {"ids": ["a", "b", "b"]}),
        ({"mounts": [["/a", "/h", True]]}, {"mounts": [["/h", "/a", True]]}),
        ({"entries": [{"pod": "a"}]}, {"entries": [{"pod": "b"}]}),
        ({"calls": [{"ids": ["a"]}, {"ids": ["b"]}]}, {"calls": [{"ids": ["b"]}, {"ids": ["a"]}]}),
        ({"message": "failed to dial device plugin: ..."}, {"message": "failed to dial"}),
        ({"message": "a ... c"}, {"message": "a b d"}),
        ({"message": "a.c"}, {"message": "abc"}),
        ({"ids": ["..."]}, {"ids": ["a"]}),
        ({"reason": "..."}, {"reason": "anything"}),
    ],
)
def test_what_does_not_fit(expected: Any, came: Any) -> None:
    """Nothing may be missing, nothing may come on top, and kinds of values are told apart."""
    assert not matches(expected, came)


def test_a_pattern_is_the_whole_text() -> None:
    """Text before or after a pattern without `...` at that end is a difference."""
    assert text_matches("... b ...", "a b c")
    assert not text_matches("b ...", "a b c")
    assert not text_matches("... b", "a b c")
