"""YAML as kubectl reads it; the expectations of `READ` were checked with sigs.k8s.io/yaml, kubectl's library."""

from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.manifests import ManifestError
from kubelet_sim.manifests.yaml_text import read_yaml

READ: list[tuple[str, Any]] = [
    ("a: y", {"a": True}), ("a: on", {"a": True}), ("a: No", {"a": False}), ("a: 'on'", {"a": "on"}),
    ("a: 2020-01-01", {"a": "2020-01-01"}), ("a: 1:30", {"a": "1:30"}), ("a: 1e3", {"a": 1000}), ("a: 010", {"a": 8}),
    ("a: 0o10", {"a": 8}), ("a: 1_000", {"a": 1000}), ("{1: a, true: b, 1.5: c}", {"1": "a", "true": "b", "1.5": "c"}),
    ("a: .5", {"a": 0.5}), ("a: 0x10", {"a": 16}), ("a: -0x10", {"a": -16}), ("a: !!binary aGk=", {"a": "hi"}),
    ("a: 1_0.5", {"a": 10.5}), ("a: 0b11", {"a": 3}), ("a: ~", {"a": None}), ("a:", {"a": None}), ("a: 08", {"a": 8}),
    ("a: +1", {"a": 1}), ("a: =", {"a": "="}), ("a: 1.", {"a": 1}), ("a: !!str 12", {"a": "12"}), ("a: !!int 12", {"a": 12}),
    ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}), ("a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}", {"a": {"b": 1, "c": 2}, "d": {"b": 3, "c": 2}}),
    ("a: &x {b: 1}\nc: {<<: [*x, {b: 2, d: 3}]}", {"a": {"b": 1}, "c": {"b": 1, "d": 3}}),
    ("a: 1e999", {"a": "1e999"}), ("a: " + "9" * 5000, {"a": "9" * 5000}),
]  # fmt: skip


@pytest.mark.parametrize("text, value", READ, ids=lambda x: str(x)[:30])
def test_reads_scalars_as_kubectl(text: str, value: Any) -> None:
    """Words and numbers have the types they have for kubectl: no dates, no base 60, whole floats are integers."""
    [(number, found)] = read_yaml(text, "f")
    assert (number, found) == (1, value)
    assert repr(found) == repr(value) or isinstance(value, dict)


def test_numbers_documents_and_keeps_empty_ones() -> None:
    """Documents are counted from 1; an empty one is None."""
    assert list(read_yaml("a: 1\n---\n---\n# nothing\n---\nb: 2\n", "f")) == [
        (1, {"a": 1}),
        (2, None),
        (3, None),
        (4, {"b": 2}),
    ]


@pytest.mark.parametrize(
    "text, problem",
    [
        ("a: 1\nb:\n  c: 1\n  c: 2", "twice"),
        ("!!python/object:os.system x", "tag"),
        ("!foo {a: 1}", "tag"),
        ("a: !!int abc", "!!int"),
        ("a: !!bool 2", "!!bool"),
        ("a: !!binary ___", "!!binary"),
        ("a: !!timestamp x", "tag"),
        ("a: !!float true", "!!float"),
        ("? [1]\n: 2", "key"),
        ("? null\n: 2", "key"),
        ("<<: 3", "merges"),
        ("a: &a [*a]", "deep"),
        ("[" * 5000, "deep"),
        ("a: " + "[" * 150 + "]" * 150, "deep"),
        ("\x07", "unacceptable character"),
        ('"\\U00110000"', "chr"),
        ("a: *b", "undefined alias"),
        ("a: 1\n  b: 2", "mapping values are not allowed"),
    ],
    ids=lambda x: str(x)[:20],
)
def test_refuses_with_a_manifest_error(text: str, problem: str) -> None:
    """Whatever is wrong with the text, the answer is one printable line."""
    with pytest.raises(ManifestError) as caught:
        list(read_yaml(text, "f"))
    assert problem in caught.value.problem
    assert str(caught.value).isprintable()


def test_says_line_and_column_of_a_syntax_error() -> None:
    """A syntax error has its place, counted from 1."""
    with pytest.raises(ManifestError) as caught:
        list(read_yaml("a: 1\n---\nb: 1\n\tc: 2\n", "pod.yaml"))
    assert (caught.value.source, caught.value.document, caught.value.line, caught.value.column) == ("pod.yaml", 2, 4, 1)


def test_says_where_a_key_stands_twice() -> None:
    """A repeated key has a path and the line of its second place."""
    with pytest.raises(ManifestError) as caught:
        list(read_yaml("a:\n- b: 1\n  b: 2\n", "f"))
    assert (caught.value.path, caught.value.line) == ("a[0].b", 3)


def test_refuses_an_alias_bomb() -> None:
    """Aliases of aliases are copied out up to a limit only."""
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{','.join(['*' + before] * 10)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    with pytest.raises(ManifestError) as caught:
        list(read_yaml(bomb, "f"))
    assert "aliases" in caught.value.problem
