"""The options that say how a kubelet comes back, for the commands that bring one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim.cli.helpers.options import duration_option
from kubelet_sim.model.durations import duration_text

if TYPE_CHECKING:
    from kubelet_sim.model.life import Comeback


def comeback_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options to a command, which gets `comeback`."""

    @duration_option(
        "--socket-after",
        text="kubelet.sock appears so long after the directory was cleaned, on the node's clock.",
        default="0s",
        show_default=False,
    )
    @duration_option(
        "--runtime-after",
        text="The container runtime is ready so long after the kubelet began, which neither cleans its directory nor listens there before.",
        default="0s",
        show_default=False,
    )
    @click.option("--lose-checkpoint", is_flag=True, help="The checkpoint is gone.")
    @click.option("--lose-directory", is_flag=True, help="The device-plugin directory is gone, with all in it.")
    @click.option(
        "--same-inode",
        is_flag=True,
        help="kubelet.sock gets the inode number that it had, where the file system gives it.",
    )
    @functools.wraps(command)
    def with_comeback(
        *,
        runtime_after: float,
        socket_after: float,
        lose_checkpoint: bool,
        lose_directory: bool,
        same_inode: bool,
        **given: Any,
    ) -> None:
        from kubelet_sim.model.life import Comeback

        comeback = Comeback(
            socket_after,
            keeps_checkpoint=not lose_checkpoint,
            keeps_directory=not lose_directory,
            same_inode=same_inode,
            runtime_after_s=runtime_after,
        )
        command(comeback=comeback, **given)

    return with_comeback


def tell_comeback(what: str, comeback: Comeback) -> None:
    """Says that a kubelet has come back, and if it listens later, when."""
    after_s = comeback.runtime_after_s + comeback.socket_after_s
    later = f"; its socket appears in {duration_text(after_s)}" if comeback.is_late else ""
    click.echo(f"{what}{later}")
