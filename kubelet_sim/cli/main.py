"""The entry point: every command in its place."""

from __future__ import annotations

import io
import sys

import click

from kubelet_sim import __version__, exit_codes
from kubelet_sim.cli.advance import advance
from kubelet_sim.cli.apply import apply
from kubelet_sim.cli.bundle import bundle
from kubelet_sim.cli.call import call
from kubelet_sim.cli.checkpoint import checkpoint
from kubelet_sim.cli.completion import completion
from kubelet_sim.cli.conform import conform
from kubelet_sim.cli.container_spec import container_spec
from kubelet_sim.cli.crash import crash
from kubelet_sim.cli.delete import delete
from kubelet_sim.cli.demo import demo
from kubelet_sim.cli.describe import describe
from kubelet_sim.cli.exec import exec_
from kubelet_sim.cli.exec_check import exec_check
from kubelet_sim.cli.exit import exit_
from kubelet_sim.cli.explain import explain
from kubelet_sim.cli.fault import fault
from kubelet_sim.cli.fuzz import fuzz
from kubelet_sim.cli.get import get
from kubelet_sim.cli.helpers.group import Commands, complain
from kubelet_sim.cli.helpers.options import debug
from kubelet_sim.cli.plugin import plugin
from kubelet_sim.cli.podresources import podresources
from kubelet_sim.cli.reboot import reboot
from kubelet_sim.cli.replay import replay
from kubelet_sim.cli.restart import restart
from kubelet_sim.cli.run import run
from kubelet_sim.cli.scenario import scenario
from kubelet_sim.cli.start import start
from kubelet_sim.cli.trace import trace
from kubelet_sim.cli.versions import versions
from kubelet_sim.cli.wait import wait

PROGRAM = "kubelet-sim"


@click.group(
    cls=Commands,
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


for _command in (
    demo,
    run,
    exec_,
    plugin,
    apply,
    wait,
    get,
    describe,
    container_spec,
    bundle,
    exec_check,
    podresources,
    delete,
    exit_,
    restart,
    reboot,
    crash,
    start,
    fault,
    advance,
    trace,
    replay,
    call,
    scenario,
    conform,
    fuzz,
    explain,
    checkpoint,
    versions,
    completion,
):
    cli.add_command(_command)


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    if sys.stdout is None:  # closed by the caller: the next file that is opened would be taken for it
        complain("cannot write the output: standard output is closed")
        sys.exit(exit_codes.COULD_NOT_RUN)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter is no reason to fail
    cli(prog_name=PROGRAM)
