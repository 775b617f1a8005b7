from __future__ import annotations

import click
import pytest

from kubelet_sim.cli.helpers.group import Commands, NegativeResult
from kubelet_sim.cli.helpers.options import debug
from kubelet_sim.errors import InvariantError, PluginFault, TransportError, UsageError

Capture = pytest.CaptureFixture[str]


def end_of(group: click.Group, arguments: list[str], capsys: Capture) -> tuple[int | str | None, str]:
    """The exit code and stderr of a command that prints nothing else."""
    with pytest.raises(SystemExit) as end:
        group(arguments, prog_name="program")
    printed = capsys.readouterr()
    assert printed.out == ""
    return end.value.code, printed.err


def outcome(error: BaseException, capsys: Capture, *options: str) -> tuple[int | str | None, str]:
    """The exit code and stderr of a command that raises."""

    @click.command()
    @debug
    def fail() -> None:
        raise error

    return end_of(Commands("program", commands={"fail": fail}), ["fail", *options], capsys)


@pytest.mark.parametrize(
    "error, code",
    [
        (NegativeResult("f"), 1),
        (UsageError("u"), 2),
        (TransportError("t"), 3),
        (PluginFault("p"), 3),
        (InvariantError("i"), 3),
    ],
)
def test_our_errors_are_one_line_and_a_code(error: Exception, code: int, capsys: Capture) -> None:
    """Who is at fault decides the exit code."""
    assert outcome(error, capsys) == (code, f"error: {error}\n")


def test_a_surprise_is_one_line_too(capsys: Capture) -> None:
    """A bug of ours says what it is, and how to see more."""
    code, text = outcome(RuntimeError("boom"), capsys)
    assert code == 3
    assert text.startswith("error: ")
    assert "RuntimeError: boom" in text
    assert text.count("\n") == 1


def test_debug_shows_the_traceback(capsys: Capture) -> None:
    """And still ends with the line."""
    code, text = outcome(TransportError("t"), capsys, "--debug")
    assert code == 3
    assert "Traceback" in text
    assert text.endswith("error: t\n")


def test_foreign_text_in_an_error_is_escaped(capsys: Capture) -> None:
    """An error text may hold what a plugin sent."""
    assert outcome(UsageError("a\x1b]0;x\x07\nb"), capsys) == (2, "error: a\\x1b]0;x\\x07\\nb\n")


def test_a_group_without_a_command_shows_its_help(capsys: Capture) -> None:
    """On its lines, as it was written; the exit code says that nothing was done."""
    group = Commands("program", commands={"inner": click.Group("inner", help="What it is for.")})
    code, text = end_of(group, ["inner"], capsys)
    assert code == 2
    assert "\n  What it is for.\n" in text
    assert "error:" not in text


@pytest.mark.parametrize("arguments", [["fail", "--nope"], ["nope"], ["fail", "extra"]])
def test_misuse_is_one_line(arguments: list[str], capsys: Capture) -> None:
    """Errors of click look like ours, and point at the help."""
    group = Commands("program", commands={"fail": click.Command("fail")})
    code, text = end_of(group, arguments, capsys)
    assert code == 2
    assert text.startswith("error: ")
    assert text.count("\n") == 1
    assert "--help" in text


def test_ctrl_c_is_no_error(capsys: Capture) -> None:
    """No traceback, and the code that shells use for it."""
    code, text = outcome(KeyboardInterrupt(), capsys)
    assert (code, text.strip()) == (130, "")


def test_a_commands_own_code_is_kept(capsys: Capture) -> None:
    """`exec` ends with the plugin's code."""

    @click.command()
    @click.pass_context
    def seven(ctx: click.Context) -> None:
        ctx.exit(7)

    assert end_of(Commands("program", commands={"seven": seven}), ["seven"], capsys) == (7, "")


def test_output_that_nobody_reads_to_its_end_is_no_finding(capsys: Capture) -> None:
    """As the shell has it for whoever dies of a closed pipe: 141, and nothing is said of it."""

    @click.group(cls=Commands)
    def group() -> None:
        """Some commands."""

    @group.command()
    def tell() -> None:
        """Nobody listens any more."""
        raise BrokenPipeError(32, "Broken pipe")

    assert end_of(group, ["tell"], capsys) == (141, "")
