"""The command `reboot`: the node starts anew, with no container running."""

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
@click.option(
    "--shuffle",
    type=click.IntRange(0, 2**63 - 1),
    metavar="SEED",
    help="Admit the pods in an order of its own, the same for the same SEED; else the oldest is first.",
)
@common
def reboot(*, root: Path | None, shuffle: int | None, comeback: Comeback) -> None:
    """Reboot the node: no container runs, then a kubelet starts as with `restart`.

    Pods are admitted again with the devices of the checkpoint, if these are healthy then; as no container runs, a pod whose
    plugin has not come back is rejected. Plugins are yours: end them before, if they are to be gone.

    \b
    Example: kubelet-sim reboot --lose-checkpoint
    """  # noqa: D301
    with connected(root) as node:
        node.reboot(comeback, seed=shuffle)
    tell_comeback("node rebooted", comeback)
