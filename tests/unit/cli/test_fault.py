"""The commands about faults, as far as they need no node."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from kubelet_sim.cli.fault import Faults, fault
from kubelet_sim.cli.helpers.completions import fault_names
from kubelet_sim.cli.main import cli
from kubelet_sim.node.faults import FAMILIES, KINDS


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_fault_is_a_command_with_help(name: str) -> None:
    """Its options are its arguments and filters, and its count; the example can be copied."""
    kind = KINDS[name]
    command = fault.get_command(click.Context(fault), name)
    assert command is not None
    options = {option for parameter in command.params for option in parameter.opts}
    wanted = {f"--{each.name}" for each in kind.arguments} | {f"--{each}" for each in kind.filters}
    assert options == wanted | {"--root", "--debug", "-o", "--output"} | ({"--count"} if kind.counts else set())
    shown = CliRunner().invoke(cli, ["fault", name, "--help"])
    assert shown.exit_code == 0
    assert f"kubelet-sim fault {name}" in shown.output


def test_all_faults_are_shown_by_family() -> None:
    """One line each."""
    shown = CliRunner().invoke(cli, ["fault", "show"]).output.splitlines()
    assert len(shown) == len(FAMILIES) + len(KINDS)
    assert all(len(line) < 130 for line in shown)


def test_a_fault_as_json() -> None:
    """For whoever makes something of the list."""
    [told] = json.loads(CliRunner().invoke(cli, ["fault", "show", "cut-stream", "-o", "json"]).output)
    assert told["arguments"][0]["name"] == "code"
    assert told["filters"] == ["resource", "socket"]
    assert told["beyond_a_kubelet"] is False


def test_names_are_completed() -> None:
    """Those of faults, and our own words."""
    assert fault_names(click.Context(fault), None, "restart-t") == ["restart-twice"]
    assert isinstance(fault, Faults)
    found = [item.value for item in fault.shell_complete(click.Context(fault), "s")]
    assert {"show", "stale-socket", "stop-plugin"} <= set(found)
    assert "list" not in found


@pytest.mark.parametrize("word", ["abc", "0"])
def test_what_is_no_id_is_told(word: str) -> None:
    """With what an id is, and where they are."""
    shown = CliRunner().invoke(cli, ["fault", "undo", word]).output
    assert f"{word!r} is no id of a fault" in shown
    assert "fault list" in shown


@pytest.mark.parametrize("arguments", [["undo"], ["undo", "1", "--all"], ["undo", "0"], ["no-such-fault"]])
def test_misuse_needs_no_node(arguments: list[str]) -> None:
    """The exit code says whose mistake it is."""
    assert CliRunner().invoke(cli, ["fault", *arguments]).exit_code == 2
