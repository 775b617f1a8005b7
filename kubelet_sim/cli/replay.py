"""What the command line does with transcript files: the option that writes one, and the command `replay`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from kubelet_sim import exit_codes
from kubelet_sim.cli.helpers.options import common, directory_option, output_option, root_path, show_as
from kubelet_sim.foreign import escape_terminal


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@output_option("table", "json")
@click.option("--as-plugin", is_flag=True, help="Serve the plugins that were recorded on a node instead, until Ctrl-C.")
@click.option("--resource", metavar="NAME", help="With --as-plugin: only the plugin of this resource.")
@click.option("--at-once", is_flag=True, help="With --as-plugin: lists follow each other without pauses.")
@directory_option(
    "--dir", "directory", text="With --as-plugin: the device-plugin directory of any kubelet, instead of the node's."
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
    from kubelet_sim.present.replayed_text import replayed_text

    with opened_transcript(file) as lines:
        came = replaying.replay(lines)
    show_as(output, came, lambda: replayed_text(came, str(file)))
    if came.differences:
        ctx.exit(exit_codes.FINDINGS)


def _serve(file: Path, directory: Path, resource: str | None, *, at_once: bool) -> None:
    """Recorded plugins as stand-ins, until a signal."""
    import asyncio

    from kubelet_sim.cli.helpers.serving_node import run_until_stopped
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
        stand_ins = []
        for name, recording in found.items():

            def say(text: str, name: str = name) -> None:
                line(escape_terminal(f"{name}: {text}"))

            def warn(text: str, name: str = name) -> None:
                click.echo(escape_terminal(f"{name}: {text}"), err=True)

            plugin = RecordedPlugin(recording, directory, say, warn, at_once=at_once)
            stand_ins.append(StandIn(plugin.script, directory, say, plugin=plugin))
        await run_until_stopped(*(each.run() for each in stand_ins))

    with LineWriter(standard_output()) as writer:
        asyncio.run(serve(writer.line))
