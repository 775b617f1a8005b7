"""The command `get`: lists of what is on the node."""

from __future__ import annotations

from pathlib import Path

import click

from kubelet_sim.cli.helpers.completions import object_names
from kubelet_sim.cli.helpers.options import (
    common,
    connected,
    kind_argument,
    namespace_option,
    one_name,
    output_option,
)
from kubelet_sim.foreign import escape_terminal

KINDS = ("node", "resources", "devices", "plugins", "pods", "allocations", "events")
ALIASES = {"no": "node", "nodes": "node", "po": "pods", "ev": "events"} | {each[:-1]: each for each in KINDS[1:]}


@click.command()
@kind_argument(KINDS, ALIASES)
@click.argument("name", required=False, shell_complete=object_names)
@namespace_option
@click.option("-A", "--all-namespaces", is_flag=True, expose_value=False, help="For kubectl's sake: lists show all.")
@output_option("table", "wide", "json", "yaml", "name")
@common
def get(kind: tuple[str, str], name: str | None, namespace: str, output: str, root: Path | None) -> None:
    """List what is on the node.

    NAME narrows the list: a resource for resources, devices and plugins, a pod for pods, allocations and events. Singular
    names of the kinds are fine, and so is KIND/NAME. READY, STATUS and RESTARTS of pods are those of kubectl; a pod that runs
    without a resource which it asks for, because nobody has listed that one, is shown as `Running (without NAME)`.

    Without a kubelet, after a crash, there are pods and the node as the API server has them, and no more.

    In JSON and YAML, `get node` is a Node, `get pods NAME` a Pod, and `get events` a list of Events as the API server has
    them. All else is a list, however many entries it has. `-o wide` has further columns: uids, paths, health of what is in use, ages on
    the node's clock.

    \b
    Examples: kubelet-sim get pods
              kubelet-sim get pods my-pod -o yaml
              kubelet-sim get devices example.com/gpu -o json
    """  # noqa: D301
    from kubelet_sim.model.ids import split_pod_name
    from kubelet_sim.present.documents import events_about, machine_text, node_document
    from kubelet_sim.present.view_tables import NAMES, document, list_table, node_table, select

    sort, named = kind
    name = one_name(named, name)
    if sort == "node" and name is not None:
        raise click.UsageError("there is one node: leave its name out")
    is_for_programs = output in {"json", "yaml"}
    with connected(root) as node:
        snapshot = node.status()
        events = node.events() if sort == "events" and not is_for_programs else ()
        shown: object = None
        if is_for_programs and sort == "pods" and name is not None:
            namespace, name = split_pod_name(name, namespace)
            shown = node.pod(name, namespace)
        elif is_for_programs and sort == "node":
            shown = node_document(node.objects("nodes")[0], snapshot)
        elif is_for_programs and sort == "events":
            shown = events_about(node.objects("events"), name, namespace)
    if shown is not None:
        click.echo(machine_text(shown, output))
        return
    if sort == "node":
        click.echo("node" if output == "name" else node_table(snapshot))
        return
    views = select(snapshot, sort, name, namespace, events)
    if is_for_programs:
        click.echo(machine_text([document(view) for view in views], output))
    elif output == "name":
        for view in views:
            click.echo(escape_terminal(f"{sort[:-1]}/{NAMES[sort](view)}"))
    elif views:
        click.echo(list_table(sort, views, snapshot if output == "wide" else None, snapshot.now_s))
    else:
        click.echo(f"no {sort}", err=True)
