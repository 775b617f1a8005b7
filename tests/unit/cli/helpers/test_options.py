from __future__ import annotations

import click
import pytest

from kubelet_sim.cli.helpers.options import env_option, to_seconds
from kubelet_sim.errors import UsageError


def test_what_is_no_duration_is_an_error_of_the_command_line() -> None:
    """As click shows them."""
    with pytest.raises(click.BadParameter):
        to_seconds(click.Context(click.Command("x")), click.Argument(["duration"]), "5x")


@pytest.mark.parametrize("text", ["novalue", "=value", ""])
def test_a_variable_needs_a_name_and_a_value(text: str) -> None:
    """What is no NAME=VALUE is refused in whichever command; a value may be empty, or hold further signs."""
    command = env_option(text="A variable.")(click.Command("x"))
    with pytest.raises(UsageError, match="--env: expected NAME=VALUE, not "):
        command.make_context("x", ["--env", text])
    context = command.make_context("x", ["--env", "A=", "--env", "B=c=d"])
    assert context.params == {"env": {"A": "", "B": "c=d"}}
