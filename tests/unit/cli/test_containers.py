"""How the commands about containers read their arguments: a CONTAINER that may be left out stands between others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from kubelet_sim.cli import containers
from kubelet_sim.cli.helpers.completions import container_or_directory
from kubelet_sim.cli.helpers.group import Finding
from kubelet_sim.node.oci.oci_runtime import Outcome


def parsed(command: click.Command, *words: str) -> tuple[Any, ...]:
    """POD, CONTAINER and what comes behind."""
    with command.make_context("c", list(words)) as ctx:
        last = "directory" if command is containers.bundle else "command"
        return tuple(ctx.params[name] for name in ("pod", "container", last))


@pytest.mark.parametrize(
    "words, found",
    [
        (("p",), ("p", None, ())),
        (("p", "main"), ("p", "main", ())),
        (("p", "--", "ls", "-l"), ("p", None, ("ls", "-l"))),
        (("p", "main", "--", "ls", "-l"), ("p", "main", ("ls", "-l"))),
        (("p", "main", "ls"), ("p", "main", ("ls",))),
        (("p", "--", "sh", "--", "x"), ("p", None, ("sh", "--", "x"))),
        (("--timeout", "3s", "p", "--", "main"), ("p", None, ("main",))),
    ],
)
def test_a_command_stands_behind_the_dashes(words: tuple[str, ...], found: tuple[Any, ...]) -> None:
    """And the container before them, or nowhere."""
    assert parsed(containers.exec_check, *words) == found


@pytest.mark.parametrize(
    "words, found", [(("p", "d"), ("p", None, Path("d"))), (("p", "main", "d"), ("p", "main", Path("d")))]
)
def test_the_directory_comes_last(words: tuple[str, ...], found: tuple[Any, ...]) -> None:
    """A container may stand before it."""
    assert parsed(containers.bundle, *words) == found


@pytest.mark.parametrize("words", [("p",), ("p", "a", "b", "d")])
def test_a_bundle_of_nothing_clear(words: tuple[str, ...]) -> None:
    """A directory has to be there, and no second container."""
    with pytest.raises(click.UsageError):
        parsed(containers.bundle, *words)


def test_a_directory_is_completed_behind_the_container() -> None:
    """There, no name is offered any more."""
    ctx = click.Context(containers.bundle)
    ctx.params = {"pod": "p", "container": "main"}
    [found] = container_or_directory(ctx, containers.bundle.params[1], "x")
    assert (found.type, found.value) == ("dir", "x")


@pytest.mark.parametrize(
    "outcome, text",
    [
        (Outcome("crun", 124, "", None, is_timed_out=True), "the command did not end within 2 s, and was ended"),
        (Outcome("crun", 124, "", None), "the command ended with 124"),
    ],
)
def test_a_command_that_took_too_long_has_no_exit_code_of_its_own(outcome: Outcome, text: str) -> None:
    """What it has got from us says nothing to whoever has not chosen it."""
    with pytest.raises(Finding) as found:
        containers.judge(outcome, (), 2.0)
    assert str(found.value) == text
