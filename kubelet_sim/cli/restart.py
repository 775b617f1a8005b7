"""The command `restart`: another kubelet on the node."""

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
def restart(*, root: Path | None, comeback: Comeback) -> None:
    """Restart the kubelet of the node.

    Its sockets go and come back, plugins have to register again; containers keep running, and the checkpoint says which
    devices they hold. Returns when every pod was admitted again, which may reject it; with --socket-after or
    --runtime-after, at once. On a node without a kubelet one is started.

    \b
    Examples: kubelet-sim restart
              kubelet-sim restart --socket-after 30s
    """  # noqa: D301
    with connected(root) as node:
        node.restart(comeback)
    tell_comeback("kubelet restarted", comeback)
