"""The command `start`: a kubelet on a node whose kubelet has crashed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubelet_sim.cli.helpers.comeback_options import comeback_options, tell_comeback
from kubelet_sim.cli.helpers.options import common, connected

if TYPE_CHECKING:
    from kubelet_sim.model.life import Comeback


@click.command()
@comeback_options
@common
def start(*, root: Path | None, comeback: Comeback) -> None:
    """Start a kubelet on a node whose kubelet has crashed. A node is started with `run`.

    Returns when every pod was admitted; with --socket-after or --runtime-after, at once.

    \b
    Example: kubelet-sim start
    """  # noqa: D301
    with connected(root) as node:
        node.start_kubelet(comeback)
    tell_comeback("kubelet started", comeback)
