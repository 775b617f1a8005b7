"""The command `conform`: test a device plugin as a kubelet would use it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from kubelet_sim import exit_codes
from kubelet_sim.cli.helpers.options import (
    choice_option,
    common,
    directory_option,
    env_option,
    file_option,
    output_option,
    show_as,
)
from kubelet_sim.foreign import cut, escape_terminal
from kubelet_sim.model.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubelet_sim.conformance import Report, SuiteConfig
    from kubelet_sim.conformance.reports import ReportTarget

_HOOK_HELP = {
    "break": "A shell command that breaks the device {id} of {resource}.",
    "mend": "One that mends it; without an id, everything.",
    "add": "One that adds a device.",
    "remove": "One that removes the device {id}.",
    "no-hardware": "One that takes all hardware away.",
    "monitor-down": "One that makes the source of health unavailable.",
}


def _hook_options(command: Any) -> Any:
    for name, text in reversed(_HOOK_HELP.items()):
        command = click.option(f"--{name}", f"hook_{name.replace('-', '_')}", metavar="CMD", help=text)(command)
    return command


_REPORT_HELP = {
    "json": "Write a JSON document there; `-` is stdout, for each of these.",
    "junit": "Write JUnit XML there, for CI servers.",
    "html": "Write a page with everything in it there.",
    "sarif": "Write SARIF 2.1.0 there, for code scanning.",
    "tap": "Write TAP 14 there.",
    "matrix": "Write a Markdown table there: every check on every kubelet version.",
}


def _report_options(command: Any) -> Any:
    for name, text in reversed(_REPORT_HELP.items()):
        command = click.option(f"--{name}", f"report_{name}", metavar="FILE", help=text)(command)
    return command


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] [CMD]...")
@click.option("--attach", is_flag=True, help="Serve --root to a plugin that others start, or have started.")
@env_option(text="A variable for the plugin.")
@directory_option("--cwd", text="Where the plugin starts.", exists=True)
@click.option("--start-timeout", metavar="DURATION", help="How long it may take to register and list.  [default: 30s]")
@choice_option(
    "--isolate",
    of=("auto", "namespace", "none"),
    text="Whether it finds the node at /var/lib/kubelet, in a mount namespace of its own.  [default: auto]",
)
@click.option("--expect-resource", multiple=True, metavar="NAME", help="A resource that it has to register.")
@_hook_options
@click.option("--most-devices", type=click.IntRange(1), metavar="N", help="How many devices the plugin is made for.")
@click.option("--numa-nodes", metavar="N,N", help="Those of the plugin's machine.  [default: of this one]")
@click.option(
    "--consumer", metavar="CMD", help="A command that reads the pod resources API, to be tested as well or instead."
)
@click.option(
    "--kubelet-version", multiple=True, metavar="VERSION", help="May be repeated: one run for each.  [default: 1.36]"
)
@click.option("--quick", "mode", flag_value="quick", help="Only errors that can be seen from outside at once.")
@click.option("--full", "mode", flag_value="full", help="Observe as long as the table of checks says.")
@click.option("--strict", is_flag=True, default=None, help="Warnings count.")
@click.option("--beyond", is_flag=True, default=None, help="Also try what no kubelet does.")
@click.option("--select", multiple=True, metavar="WORD", help="Only checks of this id, group, level or pattern.")
@click.option("--skip", multiple=True, metavar="WORD", help="No checks of this id, group, level or pattern.")
@file_option("--known-failures", text="Ids of checks that may fail, one a line. One that passes fails the run.")
@click.option("--fail-fast", is_flag=True, default=None, help="Stop at the first check that fails.")
@click.option("--rerun-failed", is_flag=True, default=None, help="Only what did not pass the last time, if anything.")
@click.option("--seed", type=click.IntRange(0), help="Of all that is left to chance.  [default: any]")
@click.option("--shuffle", is_flag=True, default=None, help="Make the checks in an order of the seed.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1, 32),
    help="How many instances of the plugin run side by side.  [default: what it allows]",
)
@_report_options
@click.option("--list", "is_list", is_flag=True, help="Show the selected checks and make none.")
@output_option("table", "json", text="The form of --list.")
@click.option("-v", "--verbose", is_flag=True, help="A line for skipped checks, too, and what was noted of each.")
@common
@click.pass_context
def conform(
    ctx: click.Context,
    /,
    *,
    command: tuple[str, ...],
    root: Path | None,
    is_list: bool,
    output: str,
    verbose: bool,
    **given: Any,
) -> None:
    """Test a device plugin: what a kubelet does with it, and what it makes of that.

    CMD starts the plugin. `{dir}` in it is the device-plugin directory and `{socket}` the kubelet's socket; a plugin that
    has /var/lib/kubelet compiled in finds the node there and needs neither. No cluster, no container engine and no hardware
    is needed, and nothing of this machine is touched.

    With --attach a node is brought to the directory of --root, and the plugin is one that runs beside it, before or after: by
    hand, by `kubelet-sim exec`, in a container. What needs a start of its own is skipped then.

    Options can stand in `[tool.kubelet-sim.conform]` of pyproject.toml or in `[conform]` of kubelet-sim.toml, by their long
    names; the command line goes before them. `kubelet-sim explain ID` tells of a check what it does, why, and how to
    mend the plugin.

    What was found is shown here, and written to files as you like; in a job of GitHub's it is shown there as well.

    Ctrl-C or SIGTERM ends it: what was found so far is shown and written, and the plugin is ended.

    Exit codes: 0 conforms, 1 findings, 2 misuse, 3 the plugin could not be run, 130 it was interrupted.

    \b
    Example: kubelet-sim conform -- ./my-plugin --socket-dir {dir}
    """  # noqa: D301
    from kubelet_sim.conformance import CHECKS
    from kubelet_sim.conformance.check import in_order
    from kubelet_sim.conformance.config_file import read_config
    from kubelet_sim.conformance.reports.json import check_value
    from kubelet_sim.conformance.selection import selected

    wanted = _wanted_reports(given)
    config = chosen(read_config(Path.cwd()), command, root, given)
    if is_list:
        checks, width = selected(in_order(), config), max(map(len, CHECKS))
        lines = [f"{each.id:{width}}  {each.level.value:7}  {each.title}" for each in checks]
        show_as(output, list(map(check_value, checks)), lambda: "\n".join(lines))
        return
    reports = _run(config, wanted, verbose=verbose)
    if any(each.was_interrupted for each in reports):
        ctx.exit(exit_codes.INTERRUPTED)
    if not all(each.could_run for each in reports):
        ctx.exit(
            exit_codes.COULD_NOT_RUN if not any(each.bad for each in reports if each.could_run) else exit_codes.FINDINGS
        )
    if any(each.bad for each in reports):
        ctx.exit(exit_codes.FINDINGS)


def _wanted_reports(given: dict[str, Any]) -> tuple[ReportTarget, ...]:
    """Take the options of `_report_options` out of the given ones. Raises `UsageError` for a path that cannot be written."""
    from kubelet_sim.conformance.reports import targets

    paths = {name: given.pop(f"report_{name}") for name in _REPORT_HELP}
    return targets([(name, path) for name, path in paths.items() if path is not None])


class _Audience:
    """Those who are told what was found: the terminal, files, and GitHub in a job there; a context manager.

    When a report goes to stdout, everything else goes to stderr. In a job of GitHub's no line of a plugin is a command.
    """

    def __init__(self, wanted: Sequence[ReportTarget]) -> None:
        from kubelet_sim.conformance.reports.github import is_there

        self._wanted = wanted
        self._on_stderr = any(each.path == "-" for each in wanted)
        self._token = secrets.token_hex(16) if is_there(os.environ) else None
        self._annotations = ""

    def __enter__(self) -> Self:
        from kubelet_sim.conformance.reports.github import silenced

        if self._token is not None:
            click.echo(silenced(self._token), err=self._on_stderr)
        return self

    def __exit__(self, *_: object) -> None:
        from kubelet_sim.conformance.reports.github import heard_again

        if self._token is not None:
            click.echo(heard_again(self._token), err=self._on_stderr)
            click.echo(self._annotations, nl=False, err=self._on_stderr)

    def say(self, line: str) -> None:
        """One line on the terminal; text of others in it is made harmless."""
        click.echo(escape_terminal(cut(line)), err=self._on_stderr)

    def tell(self, reports: Sequence[Report]) -> None:
        """Everything, at the end of the run. Raises `TransportError` for a file that cannot be written after all."""
        from kubelet_sim.conformance.reports import append_summary, write
        from kubelet_sim.conformance.reports.github import annotation_lines
        from kubelet_sim.conformance.reports.matrix import terminal
        from kubelet_sim.conformance.reports.terminal import report_lines

        for report in reports:
            for line in report_lines(report):
                self.say(line)
        if len(reports) > 1:
            for line in ("", *terminal(reports).splitlines()):
                self.say(line)
        if self._token is not None:
            self._annotations = annotation_lines(reports)
            append_summary(os.environ, reports)
        write(self._wanted, reports)


def _run(config: SuiteConfig, wanted: Sequence[ReportTarget], *, verbose: bool) -> Sequence[Report]:
    """The reports, told; fewer than were wanted, or not whole, if a signal came."""
    from kubelet_sim.conformance.reports import write
    from kubelet_sim.conformance.reports.terminal import progress_line
    from kubelet_sim.conformance.suite import CannotBeRun, Progress
    from kubelet_sim.conformance.suite import conform as test
    from kubelet_sim.node.interruptible import run_interruptible

    reports: list[Report] = []
    latest = Progress(0, 0)
    with _Audience(wanted) as audience:

        def tell(progress: Progress) -> None:
            nonlocal latest
            latest = progress
            line = progress_line(progress, is_verbose=verbose)
            if line is not None:
                audience.say(line)

        def interrupted() -> None:
            audience.say(f"interrupted after {latest.done} of {latest.total} checks; the plugin is being ended")

        try:
            run_interruptible(test(config, tell, reports.append), interrupted)
        except KeyboardInterrupt:
            if not reports:
                raise
        except CannotBeRun:  # one line says it all; servers that read reports want theirs
            write(wanted, reports)
            raise
        audience.tell(reports)
    return reports


def chosen(config: SuiteConfig, command: tuple[str, ...], root: Path | None, given: dict[str, Any]) -> SuiteConfig:
    """The choices of the file with those of the command line, which go before.

    Raises:
        UsageError: two of them do not go together.
    """
    from attrs import evolve

    from kubelet_sim.conformance.config import HOOKS
    from kubelet_sim.conformance.config_file import changes_of
    from kubelet_sim.errors import UsageError

    changes: dict[str, Any] = {"command": command, "attach": None} if command else {}
    if given.pop("attach"):
        if root is None:
            raise UsageError(
                "--attach needs --root DIR: the directory in whose device-plugins the plugin will find kubelet.sock"
            )
        changes |= {"attach": root, "command": command}
    hooks = {name: text for name in HOOKS if (text := given.pop(f"hook_{name.replace('-', '_')}"))}
    changes["hooks"] = {**config.hooks, **hooks}
    changes["env"] = {**config.env, **given.pop("env")}
    if timeout := given.pop("start_timeout"):
        try:
            changes["start_timeout_s"] = parse_duration(timeout)
        except ValueError as error:
            raise UsageError(f"--start-timeout: {error}") from error
    table = {
        name.replace("_", "-"): str(value) if isinstance(value, Path) else value
        for name, value in given.items()
        if value is not None and value != ()
    }
    if "numa-nodes" in table:
        table["numa-nodes"] = _nodes(table["numa-nodes"])
    return evolve(config, **changes, **changes_of(table, "the command line", Path()))


def _nodes(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() for word in words):
        raise click.BadParameter(f"--numa-nodes: {text!r} is no list of numbers, such as 0,1")
    return list(map(int, words))
