"""Commands about pods: `apply`, `wait`, `delete`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim.cli.helpers.completions import conditions, object_names
from kubelet_sim.cli.helpers.given_files import read_text
from kubelet_sim.cli.helpers.options import F, common, connected, namespace_option, split_kind, to_seconds, where_text
from kubelet_sim.foreign import escape_terminal
from kubelet_sim.model.durations import duration_text
from kubelet_sim.model.ids import split_pod_name

if TYPE_CHECKING:
    from kubelet_sim.model.life import Deletion
    from kubelet_sim.model.pod import Pod
    from kubelet_sim.model.views import NodeSnapshot
    from kubelet_sim.wire.control_client import ControlClient

_POD_ALIASES = {"po": "pod", "pods": "pod"}
_ANSWER_S = 10.0
"""A node that is alive answers in milliseconds, and a `--timeout 0` is meant for what is waited for."""


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
    pods = _pods_of(files)
    with connected(root) as node:
        for pod in node.apply([pod.manifest for pod in pods]):
            where = where_text(pod.namespace)
            click.echo(escape_terminal(f"pod/{pod.name}{where} {pod.word}"))


def _pods_of(files: tuple[str, ...]) -> list[Pod]:
    """The pods of files of manifests, none for no file. Raises `UsageError` for files without a pod."""
    from kubelet_sim.errors import UsageError
    from kubelet_sim.manifests import read_pods

    if files.count("-") > 1:
        raise click.UsageError("standard input can be read once")
    pods = [pod for file in files for pod in read_pods(read_text(file), file)]
    if files and not pods:
        raise UsageError(f"there is no pod in {', '.join(files)}")
    return pods


def deletion_options(command: F) -> F:
    """Add the options that say how pods are deleted."""
    for option in (
        click.option("--wait/--no-wait", "waits", default=True, show_default=True, help="Wait until they are gone."),
        click.option("--force", is_flag=True, help="Forget the pods at once; containers may still be stopping."),
        click.option("--now", is_flag=True, help="The same as --grace-period 1."),
        click.option(
            "--grace-period",
            type=click.IntRange(0),
            metavar="SECONDS",
            help="How long containers may take to stop, on the node's clock; else as each pod says, or 30.",
        ),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("kind", required=False, metavar="[pod[/NAME]]")
@click.argument("names", nargs=-1, shell_complete=object_names, metavar="[NAME]...")
@click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE", help="Delete the pods of this file of manifests."
)
@click.option("--all", "every", is_flag=True, help="Delete all pods of the namespace.")
@deletion_options
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
    wanted += [(pod.namespace, pod.name) for pod in _pods_of(files)]
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


@click.command()
@click.option(
    "--for",
    "condition",
    required=True,
    metavar="CONDITION",
    help="What to wait for.",
    shell_complete=conditions,
)
@click.option(
    "--timeout",
    default="30s",
    show_default=True,
    callback=to_seconds,
    metavar="DURATION",
    help="How long at most, in real time.",
)
@common
def wait(condition: str, timeout: float, root: Path | None) -> None:
    """Wait until something holds.

    \b
    resource/NAME=N     the resource has N healthy devices, which is what pods can get
    pod/NAME=PHASE      the pod is Pending, Running, Succeeded or Failed
    pod/NAME=deleted    there is no such pod

    Of a resource the device manager is asked, which knows at once what a plugin lists; the node object, as `get node`
    shows it, follows every ten seconds. A second line, on stderr, tells that a pod runs without a device.

    The name of a pod may be NAMESPACE/NAME. Exit code 1 if the time is over, and at once for a pod that has ended in
    another phase; one line says how things were then.

    \b
    Examples: kubelet-sim wait --for resource/example.com/gpu=4
              kubelet-sim wait --for pod/my-pod=Running --timeout 1m
    """  # noqa: D301
    from kubelet_sim.cli.helpers.group import Finding
    from kubelet_sim.cli.helpers.wait_conditions import parse_condition
    from kubelet_sim.errors import TransportError

    wanted = parse_condition(condition)
    last = "nothing was seen: no kubelet runs on the node"
    with connected(root) as node:
        try:
            for snapshot in _looks(node, timeout):
                seen = wanted.look(snapshot)
                if seen.is_met:
                    click.echo(escape_terminal(f"{condition}: met"))
                    if seen.note:
                        click.echo(escape_terminal(f"note: {seen.note}"), err=True)
                    return
                if seen.is_final:
                    raise Finding(f"{condition} cannot come any more: {seen.text}")
                last = seen.text
        except TimeoutError:
            raise Finding(f"{condition} has not come within {duration_text(timeout)}: {last}") from None
    raise TransportError(f"the node ended before {condition}: {last}")


def _looks(node: ControlClient, timeout_s: float) -> Iterator[NodeSnapshot]:
    """The node at once, however short the time is, and then at every change. Raises `TimeoutError` in the end."""
    from kubelet_sim.errors import TransportError, UsageError

    with contextlib.suppress(TransportError, UsageError):  # between two kubelets
        yield node.status(max(timeout_s, _ANSWER_S))
    yield from node.watch(timeout_s)
