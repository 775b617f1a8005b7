from __future__ import annotations

import inspect

import click
import pytest
from click.testing import CliRunner

from kubelet_sim import __version__
from kubelet_sim.cli.main import cli

CONTEXT = click.Context(cli)
FOUND = {name: command for name in cli.list_commands(CONTEXT) if (command := cli.get_command(CONTEXT, name))}


INNER = [f"{of} {name}" for of, group in FOUND.items() if isinstance(group, click.Group) for name in group.commands]


@pytest.mark.parametrize("name", [*sorted(FOUND), *sorted(INNER)])
def test_every_command_shows_an_example(name: str) -> None:
    """An example is a command line that can be copied."""
    result = CliRunner().invoke(cli, [*name.split(), "--help"])
    assert result.exit_code == 0
    assert f"kubelet-sim {name}" in result.output.partition("Example")[2]


@pytest.mark.parametrize("name", sorted(FOUND))
def test_every_command_stands_in_the_file_of_its_name(name: str) -> None:
    """`kubelet-sim container-spec` is found in `kubelet_sim/cli/container_spec.py`, and so are the commands of a group."""
    command = FOUND[name]
    of_group = list(command.commands.values()) if isinstance(command, click.Group) else []
    for each in [command, *of_group]:
        assert each.callback is not None
        assert inspect.unwrap(each.callback).__module__ == f"kubelet_sim.cli.{name.replace('-', '_')}"


def test_a_name_that_there_is_not_gets_the_nearest_one() -> None:
    """Although the commands are loaded one by one; with a click that says so."""
    result = CliRunner().invoke(cli, ["descrbe"])
    assert result.exit_code == 2
    assert "No such command 'descrbe'." in result.output
    assert set(cli.commands) == set(FOUND)


NO_ROOT = {"call", "checkpoint", "completion", "demo", "explain", "fault", "fuzz", "replay", "scenario", "versions"}
"""Commands that need no running node."""


@pytest.mark.parametrize("name", sorted(set(FOUND) - NO_ROOT))
def test_every_command_on_a_node_takes_a_root(name: str) -> None:
    """By option; the variable stands in its help."""
    options = {option for parameter in FOUND[name].params for option in parameter.opts}
    assert {"--root", "--debug"} <= options


def test_no_command_shows_the_help() -> None:
    """And the version is the package's."""
    assert "kubelet-sim demo" in CliRunner().invoke(cli, []).output
    assert CliRunner().invoke(cli, ["--version"]).output == f"kubelet-sim {__version__}\n"
