from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from kubelet_sim.cli.group import Commands, Finding
from kubelet_sim.cli.options import debug
from kubelet_sim.errors import InvariantError, PluginFault, TransportError, UsageError


def outcome(error: BaseException, *options: str) -> tuple[int, str]:
    """The exit code and stderr of a command that raises."""

    @click.command()
    @debug
    def fail() -> None:
        raise error

    group = Commands("program", commands={"fail": fail})
    result = CliRunner().invoke(group, ["fail", *options], prog_name="program")
    assert result.stdout == ""
    return result.exit_code, result.stderr


@pytest.mark.parametrize(
    "error, code",
    [
        (Finding("f"), 1),
        (UsageError("u"), 2),
        (TransportError("t"), 3),
        (PluginFault("p"), 3),
        (InvariantError("i"), 3),
    ],
)
def test_our_errors_are_one_line_and_a_code(error: Exception, code: int) -> None:
    """Who is at fault decides the exit code."""
    assert outcome(error) == (code, f"error: {error}\n")


def test_a_surprise_is_one_line_too() -> None:
    """A bug of ours says what it is, and how to see more."""
    code, text = outcome(RuntimeError("boom"))
    assert code == 3
    assert text.startswith("error: ")
    assert "RuntimeError: boom" in text
    assert text.count("\n") == 1


def test_debug_shows_the_traceback() -> None:
    """And still ends with the line."""
    code, text = outcome(TransportError("t"), "--debug")
    assert code == 3
    assert "Traceback" in text
    assert text.endswith("error: t\n")


def test_foreign_text_in_an_error_is_escaped() -> None:
    """An error text may hold what a plugin sent."""
    assert outcome(UsageError("a\x1b]0;x\x07\nb")) == (2, "error: a\\x1b]0;x\\x07\\nb\n")


@pytest.mark.parametrize("arguments", [["fail", "--nope"], ["nope"], ["fail", "extra"]])
def test_misuse_is_one_line(arguments: list[str]) -> None:
    """click's own errors look like ours, and point at the help."""
    group = Commands("program", commands={"fail": click.Command("fail")})
    result = CliRunner().invoke(group, arguments, prog_name="program")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert "--help" in result.stderr


def test_ctrl_c_is_no_error() -> None:
    """No traceback, and the code that shells use for it."""
    code, text = outcome(KeyboardInterrupt())
    assert (code, text.strip()) == (130, "")


def test_a_commands_own_code_is_kept() -> None:
    """`exec` ends with the plugin's code."""

    @click.command()
    @click.pass_context
    def seven(ctx: click.Context) -> None:
        ctx.exit(7)

    assert CliRunner().invoke(Commands("program", commands={"seven": seven}), ["seven"]).exit_code == 7
