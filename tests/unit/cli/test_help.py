from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kubelet_sim import __version__
from kubelet_sim.cli.main import cli
from tests.patience import PATIENCE_S

CONTEXT = click.Context(cli)
FOUND = {name: command for name in cli.list_commands(CONTEXT) if (command := cli.get_command(CONTEXT, name))}
ROOT = Path(__file__).resolve().parents[3]


def test_help_needs_neither_grpc_nor_anything_else_heavy() -> None:
    """The help of every command is there before a library is loaded."""
    script = (
        "import sys\n"
        "from kubelet_sim.cli.main import cli\n"
        "found = {name: cli.get_command(None, name) for name in cli.list_commands(None)}\n"
        "inner = [[name, each] for name, group in found.items() for each in getattr(group, 'commands', ())]\n"
        "for names in [[], *([name] for name in found), *inner]:\n"
        "    try:\n"
        "        cli([*names, '--help'])\n"
        "    except SystemExit as end:\n"
        "        assert not end.code\n"
        "print(sorted({'aiohttp', 'grpc', 'google', 'psutil', 'yaml', 'rich', 'attrs', 'asyncio'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


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


def test_a_command_loads_none_of_the_others() -> None:
    """Whoever waits for the answer of one command does not wait for the files of thirty."""
    script = (
        "import sys\n"
        "from kubelet_sim.cli.main import COMMANDS, cli\n"
        "try:\n"
        "    cli(['get', '--help'])\n"
        "except SystemExit:\n"
        "    pass\n"
        "files = {name: 'kubelet_sim.cli.' + name.replace('-', '_') for name in COMMANDS}\n"
        "print([name for name, file in files.items() if file in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=50, check=True
    )
    assert done.stdout.splitlines()[-1] == "['get']"


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


def test_the_page_of_the_documentation_is_fresh() -> None:
    """`docs/reference/cli.md` is made from the commands."""
    script = ROOT / "tools" / "generate_cli_page.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_no_command_shows_the_help() -> None:
    """And the version is the package's."""
    assert "kubelet-sim demo" in CliRunner().invoke(cli, []).output
    assert CliRunner().invoke(cli, ["--version"]).output == f"kubelet-sim {__version__}\n"
