from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from kubelet_sim.cli.bundle import bundle
from kubelet_sim.cli.helpers.completions import container_or_directory


def parsed(*words: str) -> tuple[Any, ...]:
    """POD, CONTAINER and what comes behind: the container may be left out, and stands between others."""
    with bundle.make_context("c", list(words)) as ctx:
        return tuple(ctx.params[name] for name in ("pod", "container", "directory"))


@pytest.mark.parametrize(
    "words, found", [(("p", "d"), ("p", None, Path("d"))), (("p", "main", "d"), ("p", "main", Path("d")))]
)
def test_the_directory_comes_last(words: tuple[str, ...], found: tuple[Any, ...]) -> None:
    """A container may stand before it."""
    assert parsed(*words) == found


@pytest.mark.parametrize("words", [("p",), ("p", "a", "b", "d")])
def test_a_bundle_of_nothing_clear(words: tuple[str, ...]) -> None:
    """A directory has to be there, and no second container."""
    with pytest.raises(click.UsageError):
        parsed(*words)


def test_a_directory_is_completed_behind_the_container() -> None:
    """There, no name is offered any more."""
    ctx = click.Context(bundle)
    ctx.params = {"pod": "p", "container": "main"}
    [found] = container_or_directory(ctx, bundle.params[1], "x")
    assert (found.type, found.value) == ("dir", "x")
