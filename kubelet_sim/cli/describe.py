"""The command `describe`: all that is known of the node, or of one pod, plugin or resource, and why it is so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim.cli.helpers.completions import object_names
from kubelet_sim.cli.helpers.options import (
    common,
    connected,
    kind_argument,
    namespace_option,
    one_name,
    output_option,
    show_as,
)

if TYPE_CHECKING:
    from kubelet_sim.wire.control_client import ControlClient

KINDS = ("node", "pod", "plugin", "resource")
ALIASES = {"no": "node", "po": "pod"} | {f"{each}s": each for each in KINDS}


@click.command()
@kind_argument(KINDS, ALIASES)
@click.argument("name", required=False, shell_complete=object_names)
@namespace_option
@output_option("text", "json", "yaml")
@common
def describe(kind: tuple[str, str], name: str | None, namespace: str, output: str, root: Path | None) -> None:
    """Show all that the node knows of one thing, and why it is so.

    \b
    node             capacity, allocatable, the pods that count with what they ask for,
                     and events, as kubectl describes a node
    pod NAME         phase and reason, containers with devices and their health, what each
                     container got, events, and the decisions with the rules they follow
    plugin NAME      connections, options, streams, devices, what it was asked; NAME is its
                     resource, its socket, or the number of a connection
    resource NAME    the books: capacity, allocatable, health, what is in use and by whom,
                     and how long a resource is kept whose plugin has gone

    \b
    Example: kubelet-sim describe pod my-pod
    """  # noqa: D301
    from kubelet_sim.present.description import plugin_document, pod_document, resource_document
    from kubelet_sim.present.description_text import plugin_text, pod_text, resource_text
    from kubelet_sim.present.node_description import described_node, node_text

    sort, named = kind
    wanted = one_name(named, name)
    if wanted is not None and sort == "node":
        raise click.UsageError("there is one node: leave its name out")
    if wanted is None and sort != "node":
        raise click.UsageError(f"which {sort}? Name one")
    thing = wanted or ""
    looks: Mapping[str, tuple[Callable[[ControlClient], dict[str, Any]], Callable[[dict[str, Any]], str]]] = {
        "node": (described_node, node_text),
        "pod": (lambda node: pod_document(node, thing, namespace), pod_text),
        "plugin": (lambda node: plugin_document(node, thing), plugin_text),
        "resource": (lambda node: resource_document(node, thing), resource_text),
    }
    look, text = looks[sort]
    with connected(root) as node:
        document = look(node)
    show_as(output, document, lambda: text(document))
