"""What the command line does with transcript files: the option that writes one, and the command `replay`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubelet_sim.cli.group import EXIT_FINDINGS
from kubelet_sim.cli.options import debug, output_option
from kubelet_sim.cli.text import cut, escape_terminal

if TYPE_CHECKING:
    from kubelet_sim.node.recording.replaying import Difference, Replayed

transcript_option = click.option(
    "--transcript",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write everything that happens there, one JSON object a line; `trace` and `replay` read it.",
)
_SHOWN = 20


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@output_option("table", "json")
@debug
@click.pass_context
def replay(ctx: click.Context, file: Path, output: str) -> None:
    """Feed a recorded transcript to the device manager of this version, and say where it answers differently.

    What came from outside is taken from FILE: lists, pods, answers of plugins, time. What the device manager made of it
    is compared: decisions, calls, verdicts. Exit code 1: something differs.

    \b
    Example: kubelet-sim replay transcript.jsonl
    """  # noqa: D301
    from kubelet_sim.errors import UsageError
    from kubelet_sim.node.recording import replaying

    try:
        with click.open_file(str(file), encoding="utf-8") as lines:
            came = replaying.replay(lines)
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is no transcript: it is no UTF-8 text") from error
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error
    click.echo(_as_json(came) if output == "json" else _as_text(came, file))
    if came.differences:
        ctx.exit(EXIT_FINDINGS)


def _as_json(came: Replayed) -> str:
    from attrs import asdict

    return json.dumps(asdict(came), indent=2)


def _as_text(came: Replayed, file: Path) -> str:
    count = f"{came.processes} kubelet processes, {came.facts} facts, {came.walks} walks replayed"
    if not came.differences:
        return f"{count}: the same answers"
    lines = [f"{count}: {len(came.differences)} differences; those after the first may follow from it"]
    for each in came.differences[:_SHOWN]:
        lines += _difference_lines(each, file)
    left = len(came.differences) - _SHOWN
    return "\n".join(lines + ([f"… and {left} more"] if left > 0 else []))


def _difference_lines(difference: Difference, file: Path) -> list[str]:
    def shown(value: object) -> str:
        return escape_terminal(cut(json.dumps(value)))

    return [
        f"{escape_terminal(str(file))}:{difference.line}: {escape_terminal(cut(difference.what))}",
        f"    recorded: {shown(difference.recorded)}",
        f"    today:    {shown(difference.today)}",
    ]
