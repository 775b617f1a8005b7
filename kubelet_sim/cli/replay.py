"""What the command line does with transcript files: the option that writes one, and the command `replay`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubelet_sim import exit_codes
from kubelet_sim.cli.helpers.options import common, output_option, root_path
from kubelet_sim.foreign import cut, escape_terminal

if TYPE_CHECKING:
    from kubelet_sim.node.recording.replay import Difference, Replayed

_SHOWN = 20


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@output_option("table", "json")
@click.option("--as-plugin", is_flag=True, help="Serve the plugins that were recorded on a node instead, until Ctrl-C.")
@click.option("--resource", metavar="NAME", help="With --as-plugin: only the plugin of this resource.")
@click.option("--at-once", is_flag=True, help="With --as-plugin: lists follow each other without pauses.")
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="With --as-plugin: the device-plugin directory of any kubelet, instead of the node's.",
)
@common
@click.pass_context
def replay(  # noqa: PLR0913 - options
    ctx: click.Context,
    file: Path,
    output: str,
    *,
    as_plugin: bool,
    resource: str | None,
    at_once: bool,
    directory: Path | None,
    root: Path | None,
) -> None:
    """Feed a recorded transcript to the device manager of this version, and say where it answers differently.

    What came from outside is taken from FILE: lists, pods, answers of plugins, time. What the device manager made of it
    is compared: decisions, calls, verdicts. Exit code 1: something differs.

    With --as-plugin, what the plugins in FILE did is done again: they register, list their devices at the times that were
    recorded, and answer as they did then for the same devices; for other devices they answer as for the most similar ones
    that were recorded, and say so on stderr.

    \b
    Examples: kubelet-sim replay transcript.jsonl
              kubelet-sim replay transcript.jsonl --as-plugin --resource example.com/gpu
    """  # noqa: D301
    if as_plugin:
        from kubelet_sim.node.root_directory.layout import RootLayout

        where = directory.resolve() if directory else RootLayout(root_path(root)).device_plugins
        _serve(file, where, resource, at_once=at_once)
        return
    if resource is not None or at_once or directory is not None:
        raise click.UsageError("--resource, --at-once and --dir go with --as-plugin")
    from kubelet_sim.cli.helpers.transcript_files import opened_transcript
    from kubelet_sim.node.recording import replay as replaying

    with opened_transcript(file) as lines:
        came = replaying.replay(lines)
    click.echo(_as_json(came) if output == "json" else _as_text(came, file))
    if came.differences:
        ctx.exit(exit_codes.FINDINGS)


def _serve(file: Path, directory: Path, resource: str | None, *, at_once: bool) -> None:
    """Recorded plugins as stand-ins, until a signal."""
    import asyncio

    from kubelet_sim.cli.helpers.serving_node import stop_signals
    from kubelet_sim.cli.helpers.transcript_files import opened_transcript
    from kubelet_sim.errors import UsageError, there_are
    from kubelet_sim.model.ids import ResourceName
    from kubelet_sim.present.record_lines import LineWriter, standard_output
    from kubelet_sim.scenario.plugins.recorded_plugin import RecordedPlugin, recordings
    from kubelet_sim.scenario.plugins.standin import StandIn

    with opened_transcript(file) as lines:
        found = recordings(lines)
    if resource is not None:
        if resource not in found:
            raise UsageError(f"{file}: no plugin registers {resource}; {there_are(list(found))}")
        found = {ResourceName(resource): found[ResourceName(resource)]}

    async def serve(line: Callable[[str], None]) -> None:
        stopping = stop_signals()
        tasks = []
        for name, recording in found.items():

            def say(text: str, name: str = name) -> None:
                line(escape_terminal(f"{name}: {text}"))

            def warn(text: str, name: str = name) -> None:
                click.echo(escape_terminal(f"{name}: {text}"), err=True)

            plugin = RecordedPlugin(recording, directory, say, warn, at_once=at_once)
            tasks.append(asyncio.create_task(StandIn(plugin.script, directory, say, plugin=plugin).run()))
        stop = asyncio.create_task(stopping.wait())
        await asyncio.wait((*tasks, stop), return_when=asyncio.FIRST_COMPLETED)
        for task in (*tasks, stop):
            task.cancel()
        await asyncio.wait((*tasks, stop))
        for task in tasks:
            if not task.cancelled():
                task.result()

    with LineWriter(standard_output()) as writer:
        asyncio.run(serve(writer.line))


def _as_json(came: Replayed) -> str:
    from attrs import asdict

    return json.dumps(asdict(came), indent=2)


def _as_text(came: Replayed, file: Path) -> str:
    processes = "1 kubelet process" if came.processes == 1 else f"{came.processes} kubelet processes"
    count = f"{processes}, {came.facts} facts, {came.walks} walks replayed"
    if not came.differences:
        return f"{count}: the same answers"
    found = len(came.differences)
    lines = [
        f"{count}: 1 difference"
        if found == 1
        else f"{count}: {found} differences; later ones may follow from the first"
    ]
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
