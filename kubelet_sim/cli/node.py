"""Commands about the node itself: `advance`, `trace`."""

from __future__ import annotations

from pathlib import Path

import click

from kubelet_sim.cli.lines import record_line
from kubelet_sim.cli.options import common, connected, duration_text, output_option, to_seconds
from kubelet_sim.cli.render import json_line


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


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens until the node ends.")
@output_option("table", "json")
@common
def trace(follow: bool, output: str, root: Path | None) -> None:  # noqa: FBT001 - an option
    """Show what has happened on the node, oldest first.

    A line has the time on the node's clock, what kind of thing it is (fact, effect, answer, decision, node), what it is
    about, what happened, and the rules of the kubelet it follows. With `-o json`, every line is one JSON object.

    \b
    Example: kubelet-sim trace -f
    """  # noqa: D301
    with connected(root) as node:
        for record in node.trace(follow=follow):
            click.echo(json_line(record) if output == "json" else record_line(record))
