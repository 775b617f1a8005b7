"""The command that runs a plugin: `exec`. It works on the file system alone and never loads gRPC."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from kubelet_sim.cli.helpers.options import common, root_path
from kubelet_sim.foreign import escape_terminal


@click.command("exec", context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] CMD...")
@common
@click.pass_context
def exec_(ctx: click.Context, command: tuple[str, ...], root: Path | None) -> None:
    """Run a device plugin on the node.

    The plugin finds the node's directory at /var/lib/kubelet/device-plugins, where most plugins look for the kubelet, and
    plugins_registry beside it if the node has a plugin watcher; nothing else on this machine sees that (a mount namespace
    of its own, no privilege needed where the system allows it). `{dir}` in CMD becomes that directory, `{socket}` the
    kubelet's socket in it and `{pod-resources}` that of the pod resources API, so that a command for `conform` or `fuzz`
    will do.

    Its output comes line by line behind the command's name; standard input is not passed on. Ctrl-C and SIGTERM go to the
    plugin, which has 5 s to end; a second Ctrl-C kills it at once. Whatever it has started is gone when this ends.

    The exit code is the plugin's: 127 if there is no such command, 126 if it cannot be run, 128 + N if signal N ended it.

    \b
    Example: kubelet-sim exec -- ./my-plugin --resource example.com/gpu
    """  # noqa: D301
    from kubelet_sim.errors import TransportError
    from kubelet_sim.node.plugin.foreground import run_plugin
    from kubelet_sim.node.plugin.isolation import isolated_command, namespaces_available
    from kubelet_sim.node.root_directory.layout import KUBELET_ROOT, RootLayout
    from kubelet_sim.node.root_directory.root_checks import somebody_listens
    from kubelet_sim.wire.control_address import no_node

    layout = RootLayout(root_path(root))
    # The kubelet's socket is gone for a moment when it restarts, and a node in a test has no control socket.
    if not (somebody_listens(layout.control_socket) or somebody_listens(layout.registration_socket)):
        raise no_node(layout.path)
    if (why := namespaces_available()) is not None:
        raise TransportError(f"{why} ({layout.device_plugins})")
    prefix = escape_terminal(os.path.basename(command[0]) or command[0])  # noqa: PTH119 - a name, perhaps no path

    def out(line: str) -> None:
        shown = "\t".join(map(escape_terminal, line.split("\t")))  # columns are meant, and do no harm
        sys.stdout.write(f"{prefix} | {shown}\n")
        sys.stdout.flush()

    def interrupted() -> None:
        click.echo("stopping; Ctrl-C again to kill", err=True)

    words = [RootLayout(Path(KUBELET_ROOT)).fill_in(word) for word in command]
    ctx.exit(run_plugin(isolated_command(layout.device_plugins, words), out=out, interrupted=interrupted))
