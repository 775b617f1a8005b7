"""The text of a manifest error."""

from __future__ import annotations

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests import ManifestError
from kubelet_sim.manifests.errors import path_text, quoted


def test_says_file_document_path_and_what_to_do() -> None:
    """The parts of the line come in the order in which one looks for the place."""
    error = ManifestError(
        "found 1", expected="Expected text", source="p.yaml", document=2, path=("spec", "containers", 0, "name")
    )
    assert str(error) == "p.yaml, document 2, spec.containers[0].name: found 1. Expected text"
    assert isinstance(error, UsageError)


def test_names_standard_input() -> None:
    """The file name - is written out."""
    assert (
        str(ManifestError("bad", source="-", document=1, line=3, column=4))
        == "standard input, document 1, line 3, column 4: bad"
    )


def test_says_only_the_problem_without_a_place() -> None:
    """A document from nowhere has no place to name."""
    assert str(ManifestError("bad")) == "bad"


def test_escapes_a_file_name() -> None:
    """A file name cannot write to the terminal."""
    assert str(ManifestError("bad", source="a\n\x1b[31m")) == "a\\n\\x1b[31m: bad"


@pytest.mark.parametrize(
    "path, text",
    [
        ((), ""),
        (("spec", "containers", 0, "resources", "limits", "example.com/dev"), 'spec.containers[0].resources.limits["example.com/dev"]'),
        (("a b", 'c"d'), '["a b"]["c\\"d"]'),
        ((0, "\u202e"), '[0]["\\u202e"]'),
    ],
)  # fmt: skip
def test_a_path_has_plain_keys_after_dots_and_others_in_brackets(path: tuple[str | int, ...], text: str) -> None:
    """Plain keys stand after dots, others in brackets and quotes."""
    assert path_text(path) == text


@pytest.mark.parametrize(
    "value, text",
    [
        (None, "null"), (True, "true"), (1.5, "1.5"), (10**500, "a huge number"), ({}, "a mapping"), ([], "a list"),
        (b"", "a value of type bytes"), ('a"\n', '"a\\"\\n"'), ("x" * 200, '"' + "x" * 80 + '…"'),
    ],
)  # fmt: skip
def test_a_value_is_quoted_short_and_on_one_line(value: object, text: str) -> None:
    """A value is shown short and on one line."""
    assert quoted(value) == text
