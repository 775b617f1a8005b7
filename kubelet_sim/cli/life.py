"""Commands that end and begin what a node is made of: `restart`, `reboot`, `crash`, `start`, `exit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim.cli.helpers.completions import container_names, pod_names
from kubelet_sim.cli.helpers.options import F, common, connected, namespace_option, to_seconds
from kubelet_sim.foreign import escape_terminal
from kubelet_sim.model.durations import duration_text
from kubelet_sim.model.ids import split_pod_name

if TYPE_CHECKING:
    from kubelet_sim.model.life import Comeback


def comeback_options(command: F) -> F:
    """Add the options that say how a kubelet comes back."""
    for option in (
        click.option(
            "--same-inode",
            is_flag=True,
            help="kubelet.sock gets the inode number that it had, where the file system gives it.",
        ),
        click.option("--lose-directory", is_flag=True, help="The device-plugin directory is gone, with all in it."),
        click.option("--lose-checkpoint", is_flag=True, help="The checkpoint is gone."),
        click.option(
            "--runtime-after",
            default="0s",
            callback=to_seconds,
            metavar="DURATION",
            help="The container runtime is ready so long after the kubelet began, which neither cleans its directory nor listens there before.",
        ),
        click.option(
            "--socket-after",
            default="0s",
            callback=to_seconds,
            metavar="DURATION",
            help="kubelet.sock appears so long after the directory was cleaned, on the node's clock.",
        ),
    ):
        command = option(command)
    return command


def _how(
    *, runtime_after: float, socket_after: float, lose_checkpoint: bool, lose_directory: bool, same_inode: bool
) -> Comeback:
    from kubelet_sim.model.life import Comeback

    return Comeback(
        socket_after,
        keeps_checkpoint=not lose_checkpoint,
        keeps_directory=not lose_directory,
        same_inode=same_inode,
        runtime_after_s=runtime_after,
    )


def _say(what: str, how: Comeback) -> None:
    after_s = how.runtime_after_s + how.socket_after_s
    later = f"; its socket appears in {duration_text(after_s)}" if how.is_late else ""
    click.echo(f"{what}{later}")


@click.command()
@comeback_options
@common
def restart(root: Path | None, **how: Any) -> None:
    """Restart the kubelet of the node.

    Its sockets go and come back, plugins have to register again; containers keep running, and the checkpoint says which
    devices they hold. Returns when every pod was admitted again, which may reject it; with --socket-after or
    --runtime-after, at once. On a node without a kubelet one is started.

    \b
    Examples: kubelet-sim restart
              kubelet-sim restart --socket-after 30s
    """  # noqa: D301
    comeback = _how(**how)
    with connected(root) as node:
        node.restart(comeback)
    _say("kubelet restarted", comeback)


@click.command()
@comeback_options
@click.option(
    "--shuffle",
    type=click.IntRange(0, 2**63 - 1),
    metavar="SEED",
    help="Admit the pods in an order of its own, the same for the same SEED; else the oldest is first.",
)
@common
def reboot(root: Path | None, shuffle: int | None, **how: Any) -> None:
    """Reboot the node: no container runs, then a kubelet starts as with `restart`.

    Pods are admitted again with the devices of the checkpoint, if these are healthy then; as no container runs, a pod whose
    plugin has not come back is rejected. Plugins are yours: end them before, if they are to be gone.

    \b
    Example: kubelet-sim reboot --lose-checkpoint
    """  # noqa: D301
    comeback = _how(**how)
    with connected(root) as node:
        node.reboot(comeback, seed=shuffle)
    _say("node rebooted", comeback)


@click.command()
@common
def crash(root: Path | None) -> None:
    """End the kubelet of the node, which stays away until `start` or `restart`.

    Nobody is told: kubelet.sock stays and refuses callers, streams of plugins are cut. Containers run on; pods can be applied
    and deleted, and wait for a kubelet.

    \b
    Example: kubelet-sim crash
    """  # noqa: D301
    with connected(root) as node:
        node.crash()
    click.echo("kubelet crashed; kubelet-sim start brings another one")


@click.command()
@comeback_options
@common
def start(root: Path | None, **how: Any) -> None:
    """Start a kubelet on a node whose kubelet has crashed. A node is started with `run`.

    Returns when every pod was admitted; with --socket-after or --runtime-after, at once.

    \b
    Example: kubelet-sim start
    """  # noqa: D301
    comeback = _how(**how)
    with connected(root) as node:
        node.start_kubelet(comeback)
    _say("kubelet started", comeback)


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
