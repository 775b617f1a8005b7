"""Files to documents of plain values."""

from __future__ import annotations

import pytest

from kubelet_sim.manifests import ManifestError
from kubelet_sim.manifests.documents import DocumentOrigin, plain_copy, read_documents


def test_reads_json_with_tabs() -> None:
    """JSON is read as JSON: tabs indent it, which YAML forbids, and pairs of surrogates are one character."""
    assert read_documents('\ufeff\n{\n\t"a": "\\ud83d\\ude00"}', "f") == ((DocumentOrigin("f", 1), {"a": "😀"}),)


def test_reads_several_json_values() -> None:
    """JSON documents follow each other without a separator; null is an empty one."""
    found = read_documents('{"a": 1} null\n{"b": [2]}', "f")
    assert [(origin.number, value) for origin, value in found] == [(1, {"a": 1}), (3, {"b": [2]})]


def test_reads_a_yaml_flow_mapping() -> None:
    """A text that only looks like JSON is read as YAML."""
    assert read_documents("{a: b}", "f") == ((DocumentOrigin("f", 1), {"a": "b"}),)


def test_refuses_a_key_twice_in_json() -> None:
    """JSON's last key does not win silently."""
    with pytest.raises(ManifestError) as caught:
        read_documents('{"a": [{"b": 1, "b": 2}]}', "f")
    assert caught.value.path == "a[0].b"


def test_refuses_a_huge_text() -> None:
    """A file of more than a million characters is not even parsed."""
    with pytest.raises(ManifestError) as caught:
        read_documents("#" * 1_000_001, "f")
    assert "1000001" in caught.value.problem


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {"a": {"b": b""}}, float("nan"), ["\ud800"], {"\udfff": 1}, {1, 2}]
)
def test_copies_only_what_json_can_say(value: object) -> None:
    """Other types, keys that are no text and half characters are refused."""
    with pytest.raises(ManifestError):
        plain_copy(value, DocumentOrigin())


def test_a_copy_is_independent() -> None:
    """What is done to the original does not show in the copy."""
    original: dict[str, list[int]] = {"a": [1]}
    copy = plain_copy(original, DocumentOrigin())
    original["a"].append(2)
    assert copy == {"a": [1]}


def test_refuses_a_value_inside_itself() -> None:
    """A cycle ends at the depth limit."""
    value: list[object] = []
    value.append(value)
    with pytest.raises(ManifestError):
        plain_copy(value, DocumentOrigin())
