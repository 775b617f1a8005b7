from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.cli.exec_check import exec_check, judge
from kubelet_sim.cli.helpers.group import NegativeResult
from kubelet_sim.node.oci.oci_runtime import ContainerRun


def parsed(*words: str) -> tuple[Any, ...]:
    """POD, CONTAINER and what comes behind: the container may be left out, and stands between others."""
    with exec_check.make_context("c", list(words)) as ctx:
        return tuple(ctx.params[name] for name in ("pod", "container", "command"))


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
    assert parsed(*words) == found


@pytest.mark.parametrize(
    "outcome, text",
    [
        (ContainerRun("crun", 124, "", None, is_timed_out=True), "the command did not end within 2 s, and was ended"),
        (ContainerRun("crun", 124, "", None), "the command ended with 124"),
    ],
)
def test_a_command_that_took_too_long_has_no_exit_code_of_its_own(outcome: ContainerRun, text: str) -> None:
    """What it has got from us says nothing to whoever has not chosen it."""
    with pytest.raises(NegativeResult) as found:
        judge(outcome, (), 2.0)
    assert str(found.value) == text
