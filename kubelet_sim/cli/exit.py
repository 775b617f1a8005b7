"""The command `exit`: a container ends by itself."""

from __future__ import annotations

from pathlib import Path

import click

from kubelet_sim.cli.helpers.completions import container_names, pod_names
from kubelet_sim.cli.helpers.options import common, connected, namespace_option
from kubelet_sim.foreign import escape_terminal
from kubelet_sim.model.ids import split_pod_name


@click.command("exit")
@click.argument("pod", shell_complete=pod_names)
@click.argument("container", required=False, shell_complete=container_names)
@click.option("--code", type=click.IntRange(0, 255), default=0, show_default=True, help="What it ends with.")
@namespace_option
@common
def exit_(pod: str, container: str | None, code: int, namespace: str, root: Path | None) -> None:
    """End a container that runs, as its program might; the pod's restart policy says what comes of it.

    POD is a name, or NAMESPACE/NAME. CONTAINER may be left out for a pod with one app container. The kubelet restarts at
    once the first time, then after 10 s, 20 s and so on up to 5 minutes of the node's clock.

    \b
    Example: kubelet-sim exit my-pod --code 1
    """  # noqa: D301
    namespace, name = split_pod_name(pod, namespace)
    with connected(root) as node:
        ended = node.exit_container(name, container, namespace, code=code)
    click.echo(escape_terminal(f"container {ended} of pod {name} ended with exit code {code}"))
