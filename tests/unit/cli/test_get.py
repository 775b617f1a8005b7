from __future__ import annotations

import click
import pytest

from kubelet_sim.cli.get import ALIASES, KINDS
from kubelet_sim.cli.helpers.options import one_name, split_kind


@pytest.mark.parametrize("word, kind", [*((kind, kind) for kind in KINDS), ("po", "pods"), ("device", "devices")])
def test_kinds_have_aliases(word: str, kind: str) -> None:
    """Singular and plural mean the same, and a name may stand behind a slash."""
    assert split_kind(KINDS, ALIASES, word) == (kind, "")
    assert split_kind(KINDS, ALIASES, f"{word}/n/x") == (kind, "n/x")


def test_an_unknown_kind_is_refused() -> None:
    """The error lists the kinds."""
    with pytest.raises(click.BadParameter, match="allocations"):
        split_kind(KINDS, ALIASES, "services")


def test_one_name_is_enough() -> None:
    """`get pod/a b` is misuse."""
    assert (one_name("a", None), one_name("", "b"), one_name("", None)) == ("a", "b", None)
    with pytest.raises(click.UsageError, match="a and b"):
        one_name("a", "b")
