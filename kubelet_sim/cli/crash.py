"""The command `crash`: the node has no kubelet any more."""

from __future__ import annotations

from pathlib import Path

import click

from kubelet_sim.cli.helpers.options import common, connected


@click.command()
@common
def crash(root: Path | None) -> None:
    """End the kubelet of the node, which stays away until `start` or `restart`.

    Nobody is told: kubelet.sock stays and refuses callers, streams of plugins are cut. Containers run on; pods can be applied
    and deleted, and wait for a kubelet.

    \b
    Example: kubelet-sim crash
    """  # noqa: D301
    with connected(root) as node:
        node.crash()
    click.echo("kubelet crashed; kubelet-sim start brings another one")
