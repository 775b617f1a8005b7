"""The command `podresources`: what a monitoring agent sees, on a node of ours and on a real one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from kubelet_sim.cli.helpers.completions import pod_names
from kubelet_sim.cli.helpers.group import NegativeResult
from kubelet_sim.cli.helpers.options import choice_option, common, namespace_option, output_option, root_path
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.ids import split_pod_name

if TYPE_CHECKING:
    from kubelet_sim.wire.pod_resources_client import PodResourcesClient

CALLS = ("list", "get", "allocatable")
T = TypeVar("T")


@click.command()
@click.argument("call", type=click.Choice(CALLS))
@click.argument("name", required=False, shell_complete=pod_names)
@namespace_option
@click.option(
    "--socket",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The API's socket, also a real kubelet's; without it, that of the running node.",
)
@choice_option("--api", of=("v1", "v1alpha1"), default="v1", text="The version of the API to list with.")
@output_option("table", "wide", "json", "yaml")
@common
def podresources(
    call: str, name: str | None, namespace: str, socket: Path | None, api: str, output: str, root: Path | None
) -> None:
    """Ask the pod resources API which devices and CPUs pods hold, and what the node has to give.

    \b
    list          all pods, with the devices of each container
    get NAME      one pod
    allocatable   what the node has to give, in use or not

    This is a plain client of the API: it shows what exporters are told, and works on a real node, too. The table has each
    device once. JSON and YAML have the messages as they came, in the names of the API: an entry for each device and NUMA
    node, with `topology` only where there is one. `-o wide` adds memory and claims, which an emulated node has none of.

    The exit code is 1 if the kubelet refuses: a pod that is not there, a method that is switched off, too many calls.

    \b
    Examples: kubelet-sim podresources list
              kubelet-sim podresources get my-pod -o yaml
              kubelet-sim podresources list --socket /var/lib/kubelet/pod-resources/kubelet.sock
    """  # noqa: D301
    from kubelet_sim.model.pod_resources import ApiVersion
    from kubelet_sim.present import pod_resources_text as texts
    from kubelet_sim.present.documents import machine_text

    if (call == "get") != (name is not None):
        raise click.UsageError("get needs the NAME of a pod" if call == "get" else f"{call} takes no NAME")
    if api != "v1" and call != "list":
        raise click.UsageError(f"{api} has no method but list")
    path, version, is_wide = _socket_path(socket, root), ApiVersion(api), output == "wide"
    if call == "allocatable":
        resources = _asked(path, lambda client: client.allocatable())
        document, text = texts.allocatable_document(resources), texts.allocatable_table(resources, wide=is_wide)
    elif name is not None:
        where, named = split_pod_name(name, namespace)
        pod = _asked(path, lambda client: client.get(named, where))
        document, text = texts.pod_document(pod), texts.pods_table([pod], wide=is_wide)
    else:
        pods = _asked(path, lambda client: client.list(version))
        document, text = texts.list_document(pods, version), texts.pods_table(pods, wide=is_wide)
    if output in {"json", "yaml"}:
        click.echo(machine_text(document, output))
    else:
        click.echo(text or "nothing", err=not text)


def _socket_path(socket: Path | None, root: Path | None) -> Path:
    if socket is not None:
        return socket
    from kubelet_sim.node.root_directory.layout import RootLayout

    return RootLayout(root_path(root)).pod_resources_socket


def _asked(path: Path, ask: Callable[[PodResourcesClient], Awaitable[T]]) -> T:
    """What came. Raises `NegativeResult` for a call that the kubelet refused."""
    from kubelet_sim.node.interruptible import run_interruptible
    from kubelet_sim.wire.pod_resources_client import PodResourcesClient

    async def work() -> T:
        async with PodResourcesClient(path) as client:
            return await ask(client)

    try:
        return run_interruptible(work())
    except RpcFailed as failure:
        raise NegativeResult(f"the kubelet at {path} refused: {failure.description} ({failure.code})") from failure
