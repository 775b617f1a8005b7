"""The command `delete`, which takes pods off the node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim.cli.helpers.completions import object_names
from kubelet_sim.cli.helpers.given_pods import pods_of
from kubelet_sim.cli.helpers.options import common, connected, namespace_option, split_kind, where_text
from kubelet_sim.foreign import escape_terminal
from kubelet_sim.model.ids import split_pod_name

if TYPE_CHECKING:
    from kubelet_sim.model.life import Deletion

_POD_ALIASES = {"po": "pod", "pods": "pod"}


@click.command()
@click.argument("kind", required=False, metavar="[pod[/NAME]]")
@click.argument("names", nargs=-1, shell_complete=object_names, metavar="[NAME]...")
@click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE", help="Delete the pods of this file of manifests."
)
@click.option("--all", "every", is_flag=True, help="Delete all pods of the namespace.")
@click.option(
    "--grace-period",
    type=click.IntRange(0),
    metavar="SECONDS",
    help="How long containers may take to stop, on the node's clock; else as each pod says, or 30.",
)
@click.option("--now", is_flag=True, help="The same as --grace-period 1.")
@click.option("--force", is_flag=True, help="Forget the pods at once; containers may still be stopping.")
@click.option("--wait/--no-wait", "waits", default=True, show_default=True, help="Wait until they are gone.")
@namespace_option
@common
def delete(
    *,
    kind: str | None,
    names: tuple[str, ...],
    files: tuple[str, ...],
    every: bool,
    namespace: str,
    root: Path | None,
    **choices: Any,
) -> None:
    """Delete pods: their containers stop, and their devices are free for the next pod that needs some.

    Containers stop at once, unless a pod says otherwise by the annotation stop.kubelet-sim/CONTAINER, a number of seconds;
    until then the pod is Terminating and keeps its devices. Without a kubelet, pods are gone at once.

    A pod that is not there does not keep the others from being deleted; it is told at the end, with exit code 2.

    \b
    Examples: kubelet-sim delete pod my-pod
              kubelet-sim delete -f pod.yaml
              kubelet-sim delete pod --all
    """  # noqa: D301
    from kubelet_sim.errors import UsageError

    how = _deletion(**choices)
    wanted = [split_pod_name(name, namespace) for name in _deletable(kind, names)]
    if bool(wanted) + bool(files) + every != 1:
        raise click.UsageError("which pods? Say pod NAME, -f FILE or pod --all")
    wanted += [(pod.namespace, pod.name) for pod in pods_of(files)]
    problems = []
    with connected(root) as node:
        if every:
            wanted = [(pod.namespace, pod.name) for pod in node.status().pods if pod.namespace == namespace]
        for place, name in dict.fromkeys(wanted):
            try:
                node.delete(name, place, how)
            except UsageError as error:
                problems.append(str(error))
            else:
                click.echo(escape_terminal(f"pod/{name}{where_text(place)} {'force ' if how.is_forced else ''}deleted"))
    if problems:
        raise UsageError("; ".join(problems))
    if not wanted:
        click.echo("no pods", err=True)


def _deletion(grace_period: int | None, *, now: bool, force: bool, waits: bool) -> Deletion:
    from kubelet_sim.model.life import Deletion

    if now and grace_period is not None:
        raise click.UsageError("--now is a grace period of its own: leave --grace-period out")
    return Deletion(1 if now else grace_period, is_forced=force, waits=waits)


def _deletable(kind: str | None, names: tuple[str, ...]) -> list[str]:
    """Names behind `pod`, or words that are `pod/NAME`."""
    if kind is None:
        return []
    first = split_kind(("pod",), _POD_ALIASES, kind)[1]
    return [first, *(split_kind(("pod",), _POD_ALIASES, word)[1] for word in names)] if first else list(names)
