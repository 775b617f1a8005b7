"""The entry point, and the list of all commands."""

from __future__ import annotations

import io
import sys
from importlib import import_module

import click

from kubelet_sim import __version__, exit_codes
from kubelet_sim.cli.helpers.group import Commands, complain
from kubelet_sim.cli.helpers.options import debug

PROGRAM = "kubelet-sim"
COMMANDS = (
    *("demo", "run", "exec", "plugin"),
    *("apply", "wait", "get", "describe", "container-spec", "bundle", "exec-check", "podresources", "delete"),
    *("exit", "restart", "reboot", "crash", "start", "fault", "advance"),
    *("trace", "replay", "call", "scenario", "conform", "fuzz"),
    *("explain", "checkpoint", "versions", "completion"),
)
"""Each stands in the file of its name; in the order in which the documentation has them."""


class _Program(Commands):
    """The group of all commands, each loaded when it is asked for: nobody waits for the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names of all commands, sorted as `--help` has them."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; one whose name means something to Python has `_` behind it in its file."""
        # Of a name that there is not, click says which others it may have been: it wants to see them all.
        for each in (cmd_name,) if cmd_name in COMMANDS else COMMANDS:
            if each not in self.commands:
                name = each.replace("-", "_")
                module = import_module(f"kubelet_sim.cli.{name}")
                self.add_command(getattr(module, name, None) or getattr(module, f"{name}_"), each)
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=_Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
@debug
@click.pass_context
def cli(ctx: click.Context) -> None:
    """A kubelet's device manager without a cluster, for people who write device plugins.

    \b
    See it work:     kubelet-sim demo
    Start a node:    kubelet-sim run
    Run a plugin:    kubelet-sim exec -- ./my-plugin
    Test a plugin:   kubelet-sim conform -- ./my-plugin
    Run a pod:       kubelet-sim apply -f pod.yaml
    See its devices: kubelet-sim container-spec my-pod
    No plugin yet?   kubelet-sim plugin --resource example.com/dev

    Exit codes: 0 clean, 1 findings (a wait that was not met, a story that failed), 2 misuse, 3 could not run.
    """  # noqa: D301 - `\b` is for click: the lines stay as they are
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    if sys.stdout is None:  # closed by the caller: the next file that is opened would be taken for it
        complain("cannot write the output: standard output is closed")
        sys.exit(exit_codes.COULD_NOT_RUN)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter is no reason to fail
    cli(prog_name=PROGRAM)
