"""Whom `conform` tells what it found: the terminal, files, and GitHub where it runs in a job there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import click

from kubelet_sim.foreign import cut, escape_terminal

if TYPE_CHECKING:
    from kubelet_sim.conformance import Report
    from kubelet_sim.conformance.reports import ReportTarget

_HELP = {
    "json": "Write a JSON document there; `-` is stdout, for each of these.",
    "junit": "Write JUnit XML there, for CI servers.",
    "html": "Write a page with everything in it there.",
    "sarif": "Write SARIF 2.1.0 there, for code scanning.",
    "tap": "Write TAP 14 there.",
    "matrix": "Write a Markdown table there: every check on every kubelet version.",
}


def report_options(command: Any) -> Any:
    """An option for each format; `wanted_reports` takes what they were given."""
    for name, text in reversed(_HELP.items()):
        command = click.option(f"--{name}", f"report_{name}", metavar="FILE", help=text)(command)
    return command


def wanted_reports(given: dict[str, Any]) -> tuple[ReportTarget, ...]:
    """Take the options of `report_options` out of the given ones. Raises `UsageError` for a path that cannot be written."""
    from kubelet_sim.conformance.reports import targets

    paths = {name: given.pop(f"report_{name}") for name in _HELP}
    return targets([(name, path) for name, path in paths.items() if path is not None])


class Audience:
    """Those who are told; a context manager.

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
