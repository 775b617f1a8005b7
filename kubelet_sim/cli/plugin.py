"""The command `plugin`: a device plugin that is not there, for trying pods and for teaching."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from kubelet_sim.cli.helpers.options import common, directory_option, env_option, file_option, root_path
from kubelet_sim.foreign import escape_terminal

_MOST_DEVICES = 100_000
_ON_NODES = re.compile(r"\d{1,4}(?:,\d{1,4})*", re.ASCII)
_COUNTED = re.compile(r"\d{1,4}:\d{1,6}(?:,\d{1,4}:\d{1,6})*", re.ASCII)


@click.command("plugin")
@click.option("--resource", metavar="NAME", help="The resource that it serves, such as example.com/dev.")
@click.option(
    "--devices",
    "count",
    type=click.IntRange(0, _MOST_DEVICES),
    metavar="N",
    help="How many devices it has: dev-0, dev-1, … Four, if nothing says otherwise.",
)
@click.option(
    "--numa",
    metavar="NODES",
    help="Where they are: 0,1 deals them out to these NUMA nodes in turn, 0:2,1:2 says how many are on each.",
)
@env_option(
    "envs",
    text="A variable for containers; {ids} in it becomes their devices. Else one named after the resource.",
)
@file_option(
    "--script",
    text="What it does, in YAML or JSON, with the keys that plugins have in stories. Options above go before it.",
)
@click.option("--socket", metavar="NAME", help="The name of its socket. Else one made from the resource.")
@directory_option("--socket-dir", text="The device-plugin directory of any kubelet, instead of the node's.")
@file_option(
    "--unhealthy-file",
    text="Device ids in this file, parted by spaces or lines, are unhealthy as long as they stand there.",
)
@click.option("--force", is_flag=True, help="Register even a name that no device plugin may have, to see it refused.")
@common
def plugin(  # noqa: PLR0913 - options
    *,
    resource: str | None,
    count: int | None,
    numa: str | None,
    envs: dict[str, str],
    script: Path | None,
    socket: str | None,
    socket_dir: Path | None,
    unhealthy_file: Path | None,
    force: bool,
    root: Path | None,
) -> None:
    """Run a stand-in for a device plugin until Ctrl-C or SIGTERM, and show what it is asked.

    It registers with the node, waits for one that is not there yet, and registers again whenever the kubelet has
    restarted. Its answer to Allocate has what --env and the script say.

    \b
    Examples: kubelet-sim plugin --resource example.com/dev --devices 4 --numa 0:2,1:2
              kubelet-sim plugin --script my-plugin.yaml
    """  # noqa: D301
    from kubelet_sim.cli.helpers.given_files import read_given
    from kubelet_sim.errors import UsageError
    from kubelet_sim.manifests.documents import read_documents
    from kubelet_sim.node.root_directory.layout import RootLayout
    from kubelet_sim.present.record_lines import LineWriter, standard_output
    from kubelet_sim.scenario.plugins.script import read_script

    source: dict[str, Any] = {}
    if script is not None:
        documents = [value for _, value in read_documents(read_given(str(script)), str(script))]
        if len(documents) != 1 or not isinstance(documents[0], dict):
            raise UsageError(f"{script}: expected one mapping, with the keys that a plugin has in a story")
        source = documents[0]
    source = with_options(source, resource=resource, count=count, numa=numa, envs=envs, socket=socket)
    try:
        read = read_script(source)
    except UsageError as error:
        raise UsageError(f"{script}: {error}" if script else str(error)) from error
    directory = socket_dir.resolve() if socket_dir else RootLayout(root_path(root)).device_plugins
    check_names(read.resource, read.socket, directory, is_forced=force)

    import asyncio

    from kubelet_sim.cli.helpers.serving_node import run_until_stopped
    from kubelet_sim.scenario.plugins.standin import StandIn

    async def serve(line: Any) -> None:
        stand_in = StandIn(read, directory, lambda text: line(escape_terminal(text)), unhealthy_file=unhealthy_file)
        await run_until_stopped(stand_in.run())

    with LineWriter(standard_output()) as lines:
        asyncio.run(serve(lines.line))


def with_options(
    source: dict[str, Any],
    *,
    resource: str | None = None,
    count: int | None = None,
    numa: str | None = None,
    envs: Mapping[str, str] = MappingProxyType({}),
    socket: str | None = None,
) -> dict[str, Any]:
    """The script with what the options say, and what it needs besides. Raises `UsageError`."""
    from kubelet_sim.errors import UsageError

    script = dict(source)
    if resource is not None:
        script["resource"] = resource
    name = script.get("resource")
    if not isinstance(name, str):
        raise UsageError("a plugin serves a resource: name one with --resource, or in the script")
    if socket is not None:
        script["socket"] = socket
    script.setdefault("socket", socket_name(name))
    if count is not None or numa is not None or "devices" not in script:
        script["devices"] = devices(count, numa)
    if envs:
        allocate = dict(script.get("allocate") or {})
        allocate["envs"] = {**(allocate.get("envs") or {}), **envs}
        script["allocate"] = allocate
    script.setdefault("allocate", {"envs": {re.sub(r"[^A-Z0-9]+", "_", name.upper()): "{ids}"}})
    return script


def check_names(resource: str, socket: str, directory: Path, *, is_forced: bool) -> None:
    """Refuse what a kubelet would, and a socket that is none of ours. Raises `UsageError`. Rules: DM-24"""
    from kubelet_sim.errors import UsageError
    from kubelet_sim.model.plugin import SOCKET_NAME
    from kubelet_sim.model.resource_name import is_extended_resource_name
    from kubelet_sim.wire.unix_socket import LONGEST_PATH, is_possible

    if not (is_forced or is_extended_resource_name(resource)):
        raise UsageError(
            f"{resource!r} is no name of an extended resource, such as example.com/dev [DM-24]; --force registers it anyway"
        )
    if socket in {"", ".", ".."} or "/" in socket:
        raise UsageError(f"{socket!r} is no name of a socket in the device-plugin directory")
    if socket == SOCKET_NAME:
        raise UsageError(f"{SOCKET_NAME} is the kubelet's own socket: choose another name")
    if not is_possible(directory / socket):
        raise UsageError(
            f"{directory / socket} cannot be a socket: a path has at most {LONGEST_PATH} bytes, none of them 0"
        )


def devices(count: int | None, numa: str | None) -> list[dict[str, Any]]:
    """Healthy devices as a script has them. Raises `UsageError` for what says nothing of NUMA nodes."""
    from kubelet_sim.errors import UsageError

    if numa is None:
        return [{"id": f"dev-{number}"} for number in range(4 if count is None else count)]
    if _ON_NODES.fullmatch(numa):
        nodes = [int(node) for node in numa.split(",")]
        return [
            {"id": f"dev-{number}", "numa": [nodes[number % len(nodes)]]}
            for number in range(4 if count is None else count)
        ]
    if not _COUNTED.fullmatch(numa):
        raise UsageError(
            f"{numa!r} does not say where devices are; expected NUMA nodes as 0,1 or with counts as 0:2,1:2"
        )
    placed = [int(node) for node, amount in _counts(numa) for _ in range(amount)]
    if count is not None and count != len(placed):
        raise UsageError(f"--numa {numa} places {len(placed)} devices, --devices says {count}")
    if len(placed) > _MOST_DEVICES:
        raise UsageError(f"--numa {numa} places {len(placed)} devices; at most {_MOST_DEVICES}")
    return [{"id": f"dev-{number}", "numa": [node]} for number, node in enumerate(placed)]


def _counts(numa: str) -> list[tuple[str, int]]:
    return [(node, int(amount)) for node, _, amount in (part.partition(":") for part in numa.split(","))]


def socket_name(resource: str) -> str:
    """A file name that says whose socket it is, whatever the resource's name holds."""
    word = re.sub(r"[^A-Za-z0-9.-]+", "-", resource).strip("-.")[:40]
    return f"{word or 'plugin'}.sock"
