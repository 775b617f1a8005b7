"""The command `run`: a node that serves until it is stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kubelet_sim.cli.helpers.group import DEBUG
from kubelet_sim.cli.helpers.kubelet_options import chosen, kubelet_options
from kubelet_sim.cli.helpers.options import (
    choice_option,
    common,
    directory_option,
    file_option,
    root_path,
    transcript_option,
)
from kubelet_sim.foreign import escape_terminal


@click.command()
@choice_option(
    "--clock",
    of=("real", "manual"),
    default="real",
    text="Whether time passes by itself, or by `kubelet-sim advance`.",
)
@choice_option(
    "--socket-appears",
    of=("bind", "rename"),
    default="rename",
    text="How kubelet.sock comes into being: as the kubelet does it, or such that a plugin can dial at once.",
)
@click.option("--node-name", default="kubelet-sim", show_default=True, metavar="NAME", help="What the node is called.")
@click.option(
    "--kubelet-version",
    default="1.36",
    show_default=True,
    metavar="VERSION",
    help="Which kubelet it behaves like, see `kubelet-sim versions`.",
)
@file_option(
    "--ready-file",
    text="Written when the node listens, removed when it ends: JSON with root, registration_socket and pid.",
)
@directory_option(
    "--pods", text="Run the pods whose manifests lie there: static pods, as a kubelet has them.", exists=True
)
@kubelet_options
@transcript_option
@click.option("--plain", is_flag=True, help="Lines instead of the live view, on a terminal too.")
@common
def run(  # noqa: PLR0913 - as many as it has options
    *,
    root: Path | None,
    clock: str,
    socket_appears: str,
    node_name: str,
    kubelet_version: str,
    ready_file: Path | None,
    pods: Path | None,
    transcript: Path | None,
    plain: bool,
    **kubelet: Any,
) -> None:
    """Start a node and let it serve until Ctrl-C or SIGTERM.

    On a terminal it shows resources, devices, pods, events and what happens last; elsewhere, and with --plain, one line
    tells each thing that happens, but for a status round that only falls due (--debug: that, too). It goes on when
    nobody reads its lines any more, as after `| head`. Devices of the node are what plugins bring: run one with
    `kubelet-sim exec` in another terminal, or point a plugin at the directory `device-plugins` below the root.

    The files of --pods hold one Pod each. They are looked at when the node starts and every 20 s of its clock: a new file
    is a new pod, one that has changed is deleted and created anew, one that goes takes its pod with it. The node's name
    is put behind each pod's: NAME-kubelet-sim, unless --node-name says otherwise.

    With --http, /metrics and /healthz are those of a kubelet as far as device plugins go. Anybody who can reach the
    address may look, and nobody can change anything there.

    \b
    Example: kubelet-sim run --clock manual
    """  # noqa: D301
    import asyncio

    from attrs import evolve

    from kubelet_sim.cli.helpers.serving_node import Extras, serve
    from kubelet_sim.model.node import checked_node_name
    from kubelet_sim.node.clock import ManualClock
    from kubelet_sim.node.config import NodeConfig, SocketAppears
    from kubelet_sim.present.live_view import LiveView, is_possible
    from kubelet_sim.present.record_lines import LineWriter, standard_output
    from kubelet_sim.profiles import profile_of

    config = NodeConfig(
        root=root_path(root),
        profile=profile_of(kubelet_version),
        node_name=checked_node_name(node_name),
        socket_appears=SocketAppears(socket_appears),
        has_control_socket=True,
    )
    choice = chosen(config, **kubelet)
    time = ManualClock() if clock == "manual" else None
    manifests = pods or choice.static_pods
    tells_all = bool(click.get_current_context().meta.get(DEBUG))
    where = manifests.resolve() if manifests else None
    extras = Extras(ready_file, where, notes=choice.notes, tells_all=tells_all, transcript=transcript)
    if plain or not is_possible():
        with LineWriter(standard_output()) as lines:
            asyncio.run(serve(choice.node, time, lines.line, extras))
        return
    with LiveView(standard_output()) as view:
        asyncio.run(serve(choice.node, time, view.line, evolve(extras, view=view)))
    click.echo(f"kubelet-sim has stopped: nothing runs at {escape_terminal(str(config.root))} any more")
