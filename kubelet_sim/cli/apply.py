"""The command `apply`: pods come to the node."""

from __future__ import annotations

from pathlib import Path

import click

from kubelet_sim.cli.helpers.given_pods import pods_of
from kubelet_sim.cli.helpers.options import common, connected, where_text
from kubelet_sim.foreign import escape_terminal


@click.command()
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A file of manifests, - for standard input. May be given several times.",
)
@common
def apply(files: tuple[str, ...], root: Path | None) -> None:
    """Put pods on the node: all pods of all files, or none of them.

    Manifests are Pods as people have them, in YAML or JSON, several documents in a file if need be. A pod that is there
    with the same manifest is left alone. One with other amounts of cpu and memory is resized while it runs, if the kubelet's
    release does that (1.33 and later) and lets it pass admission again: `get pods NAME -o yaml` has PodResizePending if not.
    For any other change, delete the pod first.

    \b
    Example: kubelet-sim apply -f pod.yaml
    """  # noqa: D301
    pods = pods_of(files)
    with connected(root) as node:
        for pod in node.apply([pod.manifest for pod in pods]):
            where = where_text(pod.namespace)
            click.echo(escape_terminal(f"pod/{pod.name}{where} {pod.word}"))
