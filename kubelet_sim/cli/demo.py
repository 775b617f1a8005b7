"""The command `demo`: the main job in one go."""

from __future__ import annotations

from pathlib import Path

import click

from kubelet_sim import exit_codes
from kubelet_sim.cli.helpers.options import debug, transcript_option


@click.command()
@transcript_option
@debug
@click.pass_context
def demo(ctx: click.Context, transcript: Path | None) -> None:
    """Show the main job in a few seconds: a node, a device plugin, a pod, and what its container gets.

    Everything happens in a directory of its own below /tmp; nothing of it is left at the end.

    \b
    Example: kubelet-sim demo
    """  # noqa: D301
    import asyncio

    from kubelet_sim.cli.helpers.demo_story import tell_story

    if not asyncio.run(tell_story(click.echo, transcript)):
        ctx.exit(exit_codes.INTERRUPTED)
