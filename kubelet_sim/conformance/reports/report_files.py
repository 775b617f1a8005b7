"""Reports into files: whether they can be written is known before the run, and none is ever there by half.

The one place among the reports that touches the machine.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from attrs import frozen

from kubelet_sim.conformance.verdict import Report
from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.text_files import replace

STDOUT = "-"


@frozen
class ReportFormat:
    """One kind of report that can be written to a file."""

    name: str
    render: Callable[[Sequence[Report]], str | bytes]


def _of_module(name: str, function: str = "render") -> Callable[[Sequence[Report]], str | bytes]:
    """Returns what renders reports by a function of that module, which is imported when it is needed."""

    def render(reports: Sequence[Report]) -> str | bytes:
        module = import_module(f"kubelet_sim.conformance.reports.{name}")
        rendered: str | bytes = getattr(module, function)(reports)
        return rendered

    return render


FORMATS = {
    each.name: each
    for each in (
        ReportFormat("json", _of_module("json")),
        ReportFormat("junit", _of_module("junit")),
        ReportFormat("html", _of_module("html")),
        ReportFormat("sarif", _of_module("sarif")),
        ReportFormat("tap", _of_module("tap")),
        ReportFormat("matrix", _of_module("matrix", "markdown")),
    )
}
"""Every kind of report that can be written to a file, by name."""


@frozen
class ReportTarget:
    """A report that the user wants: its kind, and where it goes."""

    format: ReportFormat
    path: str
    """A file, or `-` for stdout."""


def targets(wanted: Sequence[tuple[str, str]]) -> tuple[ReportTarget, ...]:
    """Pairs of format and path, looked at: call it before the run.

    Raises:
        UsageError: a path cannot be written, is named twice, or two reports want stdout; a format that there is not.
    """
    seen: set[str] = set()
    found = []
    for name, path in wanted:
        if name not in FORMATS:
            raise UsageError(f"there is no format {name!r} of a report; there are: {', '.join(FORMATS)}")
        place = path if path == STDOUT else str(Path(path).absolute())
        if place in seen:
            raise UsageError(f"--{name} {path}: another report is written there already")
        seen.add(place)
        if path != STDOUT and (why := _why_not_writable(Path(path))):
            raise UsageError(f"--{name} {path}: {why}")
        found.append(ReportTarget(FORMATS[name], path))
    return tuple(found)


def _why_not_writable(path: Path) -> str:
    """Whether a file can appear there is tried, not guessed: permissions are not all that forbids it."""
    try:
        if path.is_dir():
            return "is a directory: name a file"
        if _is_special(path):
            return "" if os.access(path, os.W_OK) else "cannot be written: permission denied"
        if path.exists() and not os.access(path, os.W_OK):
            return "cannot be written: permission denied"
        descriptor, name = tempfile.mkstemp(prefix=".kubelet-sim-", dir=path.parent)
    except OSError as error:
        return f"cannot be written: {path.parent}: {error.strerror or error}"
    os.close(descriptor)
    Path(name).unlink()
    return ""


def _is_special(path: Path) -> bool:
    """A pipe or a device, `/dev/stdout` say: to be written to, never to be replaced."""
    return path.exists() and not path.is_file()


def write(wanted: Sequence[ReportTarget], reports: Sequence[Report]) -> None:
    """Render and write each; one that fails does not keep the others from being written.

    Raises:
        TransportError: at the end, for the first that could not be written (a disk that is full by now).
    """
    failures = []
    for target in wanted:
        text = target.format.render(reports)
        data = text.encode("utf-8", errors="backslashreplace") if isinstance(text, str) else text
        try:
            _put(target.path, data)
        except OSError as error:
            failures.append(f"--{target.format.name} {target.path}: cannot be written: {error.strerror or error}")
    if failures:
        raise TransportError(failures[0])


def _put(path: str, data: bytes) -> None:
    if path == STDOUT:
        sys.stdout.write(data.decode("utf-8"))
        sys.stdout.flush()
    elif _is_special(Path(path)):
        with Path(path).open("wb") as file:
            file.write(data)
    else:
        replace(Path(path), data)


def append_summary(environ: Mapping[str, str], reports: Sequence[Report]) -> None:
    """Add the summary to the page of GitHub's job, if this is one. A page that cannot be written is no reason to fail."""
    from kubelet_sim.conformance.reports import github

    path = environ.get("GITHUB_STEP_SUMMARY")
    if path is None or not github.is_there(environ):
        return
    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(github.summary(reports))
    except OSError:
        return
