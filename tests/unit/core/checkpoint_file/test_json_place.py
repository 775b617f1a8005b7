from __future__ import annotations

import json

import pytest

from kubelet_sim.core.checkpoint_file.json_place import line_and_column, position

TEXT = """{
  "Data": {"Extra": ["]", {"a\\"b": [1, {}]}, ""], "PodDeviceEntries": [
    null,
    {"PodUID": 7, "DeviceIDs": {"0": ["x"], "\\u0031": 5}}
  ]}
}"""


@pytest.mark.parametrize(
    "path, begins",
    [
        ("the file", "{"),
        ("Data", '{"Extra"'),
        ("Data.Extra[1]", '{"a'),
        ("Data.PodDeviceEntries[0]", "null"),
        ("Data.PodDeviceEntries[1].PodUID", "7"),
        ('Data.PodDeviceEntries[1].DeviceIDs["0"]', '["x"]'),
        ('Data.PodDeviceEntries[1].DeviceIDs["1"]', "5"),
    ],
)
def test_a_value_is_found(path: str, begins: str) -> None:
    """By names as they are written in the file, by numbers, by keys, past whatever stands before. Rules: CP-12"""
    json.loads(TEXT)
    place = line_and_column(TEXT, path)

    assert place is not None
    assert TEXT.splitlines()[place[0] - 1][place[1] - 1 :].startswith(begins)


@pytest.mark.parametrize("path", ["Data.Nothing", "Data.PodDeviceEntries[7]", "Data.PodDeviceEntries[0].PodUID", "x"])
def test_a_path_that_there_is_not(path: str) -> None:
    """No place is better than a wrong one. Rules: CP-12"""
    assert line_and_column(TEXT, path) is None


def test_deep_nesting_is_passed() -> None:
    """What stands before may be nested deeper than Python recurses. Rules: CP-12"""
    text = '{"x":' + "[" * 50_000 + "]" * 50_000 + ',"Data":3}'

    assert line_and_column(text, "Data") == (1, len(text) - 1)


def test_position_counts_from_one() -> None:
    """Lines and columns count characters, from 1. Rules: CP-12"""
    assert position("ab\ncd", 0) == (1, 1)
    assert position("ab\ncd", 2) == (1, 3)
    assert position("ab\ncd", 4) == (2, 2)
