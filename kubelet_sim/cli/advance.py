"""The command `advance`: time passes on a node with a manual clock."""

from __future__ import annotations

from pathlib import Path

import click

from kubelet_sim.cli.helpers.options import common, connected, to_seconds
from kubelet_sim.model.durations import duration_text


@click.command()
@click.argument("duration", callback=to_seconds)
@common
def advance(duration: float, root: Path | None) -> None:
    """Let time pass at once on a node with a manual clock.

    DURATION is written as in Go (10s, 5m, 1h30m, 500ms); a plain number counts seconds. What falls due on the way, such
    as a node status or the end of a grace period, has happened when this returns.

    \b
    Example: kubelet-sim advance 5m
    """  # noqa: D301
    with connected(root) as node:
        now_s = node.advance(duration)
    click.echo(f"{duration_text(duration)} passed; the node's clock says {duration_text(now_s)}")
