"""The commands `checkpoint show` and `checkpoint verify`: any node's file, without a node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubelet_sim.cli.helpers.given_files import standard_input
from kubelet_sim.cli.helpers.options import debug, output_option, show_as

if TYPE_CHECKING:
    from kubelet_sim.core.checkpoint_file.diagnosis import Diagnosis

_file = click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))


@click.group()
def checkpoint() -> None:
    """Read a device manager's checkpoint file: of a real node or an emulated one, running or not.

    On a node it is /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint. FILE may be `-` for standard input. Nothing
    is written.

    \b
    Example: sudo cat /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint | kubelet-sim checkpoint show -
    """  # noqa: D301


@checkpoint.command()
@_file
@click.option("--pod", metavar="UID", help="Only what this pod holds. The file knows pods by uid, not by name.")
@click.option("--resource", metavar="NAME", help="Only this resource.")
@output_option("table", "wide", "json", "yaml")
@debug
def show(file: str, pod: str | None, resource: str | None, output: str) -> None:
    """Show which pod holds which device, and what the plugins answered for it.

    For each pod and container: resources, device ids by NUMA node (-1: none), and the decoded Allocate answer. Then the
    registered resources with their healthy devices, and what a kubelet would make of the file. `-o wide` spells the
    answers out. A file whose checksum does not fit is shown all the same, and so is one of a kubelet before 1.20.

    Exit codes, as of `verify`: 0 a kubelet would use the file, 1 it would start without it, 2 the file cannot be read or is
    too large.

    \b
    Example: kubelet-sim checkpoint show kubelet_internal_checkpoint --resource example.com/gpu
    """  # noqa: D301
    from kubelet_sim.cli.helpers.group import NegativeResult
    from kubelet_sim.present.checkpoint_text import damage_text, show_document, show_text

    name, diagnosis = _read(file)
    if diagnosis.document is None:
        raise NegativeResult(f"{name} is no checkpoint: {damage_text(diagnosis)}")
    document = show_document(name, diagnosis, pod=pod, resource=resource)
    show_as(output, document, lambda: show_text(document, wide=output == "wide"))
    if not diagnosis.fits:
        what = "old" if diagnosis.is_old_format and diagnosis.is_right else "corrupt"
        raise NegativeResult(f"{name} is {what}, a kubelet would start without it: {damage_text(diagnosis)}")


@checkpoint.command()
@_file
@output_option("text", "json", "yaml")
@debug
def verify(file: str, output: str) -> None:
    """Say whether a kubelet would believe the file, and if not, where it is damaged.

    What is no JSON, or not of the right shape, is told with line, column and path. When the checksum does not fit, single
    changes are tried that would make it fit: null for empty, an entry too much, one character, one byte of an answer.

    Exit codes: 0 the checksum fits, 1 a kubelet would start without the file, 2 the file cannot be read or is too large.

    \b
    Example: kubelet-sim checkpoint verify /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint
    """  # noqa: D301
    from kubelet_sim import exit_codes
    from kubelet_sim.present.checkpoint_text import verify_document, verify_text

    document = verify_document(*_read(file))
    show_as(output, document, lambda: verify_text(document))
    if not document["fits"]:
        click.get_current_context().exit(exit_codes.FINDINGS)


def _read(file: str) -> tuple[str, Diagnosis]:
    """The name to call the file by, and what is known of it. Raises `UsageError`."""
    from kubelet_sim.core.checkpoint_file.diagnosis import diagnose
    from kubelet_sim.node.root_directory.checkpoint_file import MOST_BYTES, read_for_people, within_bounds

    if file == "-":
        return "standard input", diagnose(within_bounds("standard input", standard_input(MOST_BYTES + 1)))
    return file, diagnose(read_for_people(Path(file)))
