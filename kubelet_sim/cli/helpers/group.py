"""The group of all commands: how errors become one line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, TextIO

import click

from kubelet_sim import exit_codes
from kubelet_sim.errors import KubeletSimError, UsageError
from kubelet_sim.foreign import escape_terminal

_WRITING_FAILED = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
DEBUG = "kubelet_sim.debug"
"""The key of the context's `meta` under which it says whether tracebacks are wanted."""


class NegativeResult(KubeletSimError):
    """The command did its work, and what it found is not what was asked for."""


class Commands(click.Group):
    """A group whose commands may raise our errors."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 - click's signature
        **extra: Any,
    ) -> Any:
        """Run a command. Errors of click's own are one line, too, and a Ctrl-C is none at all."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.ClickException as error:
            if type(error).__name__ == "NoArgsIsHelpError":  # of click 8.2 and later; its message is the help
                click.echo(error.format_message(), err=True)
            else:
                complain(_one_line(error))
            code = exit_codes.MISUSE
        except click.Abort:
            code = exit_codes.INTERRUPTED
        except OSError as error:
            give_up_output()
            complain(f"cannot write the output: {error.strerror or error}")
            code = exit_codes.COULD_NOT_RUN
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command of the context; what it raises ends with the exit code of its kind."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except BrokenPipeError:  # click's code would be that of findings
            give_up_output()
            ctx.exit(exit_codes.UNREAD)
        except Exception as error:
            if _is_of_output(error):
                raise
            if ctx.meta.get(DEBUG):
                traceback.print_exc()
            complain(str(error) if isinstance(error, KubeletSimError) else _surprise(error))
            ctx.exit(exit_code(error))


def _is_of_output(error: Exception) -> bool:
    """Whether a stream did not take what was written: errors about files name them."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _WRITING_FAILED


def give_up_output() -> None:
    """Let what is left for stdout go nowhere: Python would try to write it when it ends, and complain in many lines."""
    _give_up(sys.stdout)


def _give_up(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)


def exit_code(error: Exception) -> int:
    """The exit code for an error that a command raised."""
    match error:
        case NegativeResult():
            return exit_codes.FINDINGS
        case UsageError():
            return exit_codes.MISUSE
    return exit_codes.COULD_NOT_RUN


def complain(text: str) -> None:
    """Write one line to stderr. Where it cannot be written, the exit code has to say it alone."""
    try:
        click.echo(f"error: {escape_terminal(text)}", err=True)
    except OSError:
        _give_up(sys.stderr)


def _one_line(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    return f"{text} (see {context.command_path} --help)" if context is not None else text


def _surprise(error: Exception) -> str:
    return f"this should not have happened: {type(error).__name__}: {error} (--debug shows where)"
