"""Commands about pods: `apply`, `wait`, `container-spec`, `delete`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kubelet_sim.cli.completing import conditions, container_names, object_names, pod_names
from kubelet_sim.cli.options import (
    common,
    connected,
    duration_text,
    namespace_option,
    output_option,
    split_name,
    to_seconds,
)
from kubelet_sim.cli.text import escape_terminal


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
    with the same manifest is left alone; to change a pod, delete it first.

    \b
    Example: kubelet-sim apply -f pod.yaml
    """  # noqa: D301
    from kubelet_sim.errors import UsageError
    from kubelet_sim.manifests import read_pods

    if files.count("-") > 1:
        raise click.UsageError("standard input can be read once")
    pods = [pod for file in files for pod in read_pods(read_text(file), file)]
    if not pods:
        raise UsageError(f"there is no pod in {', '.join(files)}")
    with connected(root) as node:
        for pod in node.apply([pod.manifest for pod in pods]):
            where = "" if pod.namespace == "default" else f" in {pod.namespace}"
            click.echo(escape_terminal(f"pod/{pod.name}{where} {'created' if pod.created else 'unchanged'}"))


def read_text(file: str) -> str:
    """The text of a file, or of standard input for `-`. Raises `UsageError`."""
    from kubelet_sim.errors import UsageError

    name = "standard input" if file == "-" else file
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is no UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}") from error


@click.command()
@click.argument("kind", type=click.Choice(["pod"]), metavar="pod")
@click.argument("name", shell_complete=object_names)
@namespace_option
@common
def delete(kind: str, name: str, namespace: str, root: Path | None) -> None:
    """Delete a pod: its containers stop, and its devices are free for the next pod that needs some.

    \b
    Example: kubelet-sim delete pod my-pod
    """  # noqa: D301
    namespace, name = split_name(name, namespace)
    with connected(root) as node:
        node.delete(name, namespace)
    click.echo(escape_terminal(f"{kind}/{name} deleted"))


@click.command("container-spec")
@click.argument("pod", shell_complete=pod_names)
@click.argument("container", required=False, shell_complete=container_names)
@namespace_option
@output_option("table", "json", "yaml")
@common
def container_spec(pod: str, container: str | None, namespace: str, output: str, root: Path | None) -> None:
    """Show what the kubelet hands to the runtime for a container: the merged answers of all its plugins.

    POD is a name, or NAMESPACE/NAME. CONTAINER may be left out for a pod with one container.

    \b
    Example: kubelet-sim container-spec my-pod -o json
    """  # noqa: D301
    from kubelet_sim.cli.render import machine_text, spec_document, spec_text

    namespace, name = split_name(pod, namespace)
    with connected(root) as node:
        spec = node.container_spec(name, container, namespace)
    click.echo(spec_text(spec) if output == "table" else machine_text(spec_document(spec), output))


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

    The name of a pod may be NAMESPACE/NAME. Exit code 1 if the time is over, and at once for a pod that has ended in
    another phase; one line says how things were then.

    \b
    Examples: kubelet-sim wait --for resource/example.com/gpu=4
              kubelet-sim wait --for pod/my-pod=Running --timeout 1m
    """  # noqa: D301
    from kubelet_sim.cli.conditions import parse_condition
    from kubelet_sim.cli.group import Finding
    from kubelet_sim.errors import TransportError

    wanted = parse_condition(condition)
    last = "nothing was seen: no kubelet runs on the node"
    with connected(root) as node:
        try:
            for snapshot in node.watch(timeout):
                seen = wanted.look(snapshot)
                if seen.is_met:
                    click.echo(escape_terminal(f"{condition}: met"))
                    return
                if seen.is_final:
                    raise Finding(f"{condition} cannot come any more: {seen.text}")
                last = seen.text
        except TimeoutError:
            raise Finding(f"{condition} has not come within {duration_text(timeout)}: {last}") from None
    raise TransportError(f"the node ended before {condition}: {last}")
