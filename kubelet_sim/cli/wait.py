"""The command `wait`: it ends when something holds on the node."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubelet_sim.cli.helpers.completions import conditions
from kubelet_sim.cli.helpers.options import common, connected, duration_option
from kubelet_sim.foreign import escape_terminal
from kubelet_sim.model.durations import duration_text

if TYPE_CHECKING:
    from kubelet_sim.model.views import NodeSnapshot
    from kubelet_sim.wire.control_client import ControlClient

_ANSWER_S = 10.0
"""A node that is alive answers in milliseconds, and a `--timeout 0` is meant for what is waited for."""


@click.command()
@click.option(
    "--for", "condition", required=True, metavar="CONDITION", help="What to wait for.", shell_complete=conditions
)
@duration_option("--timeout", text="How long at most, in real time.", default="30s")
@common
def wait(condition: str, timeout: float, root: Path | None) -> None:
    """Wait until something holds.

    \b
    resource/NAME=N     the resource has N healthy devices, which is what pods can get
    pod/NAME=PHASE      the pod is Pending, Running, Succeeded or Failed
    pod/NAME=deleted    there is no such pod

    Of a resource the device manager is asked, which knows at once what a plugin lists; the node object, as `get node`
    shows it, follows every ten seconds. A second line, on stderr, tells that a pod runs without a device.

    The name of a pod may be NAMESPACE/NAME. Exit code 1 if the time is over, and at once for a pod that has ended in
    another phase; one line says how things were then.

    \b
    Examples: kubelet-sim wait --for resource/example.com/gpu=4
              kubelet-sim wait --for pod/my-pod=Running --timeout 1m
    """  # noqa: D301
    from kubelet_sim.cli.helpers.group import NegativeResult
    from kubelet_sim.cli.helpers.wait_conditions import parse_condition
    from kubelet_sim.errors import TransportError

    wanted = parse_condition(condition)
    last = "nothing was seen: no kubelet runs on the node"
    with connected(root) as node:
        try:
            for snapshot in _looks(node, timeout):
                seen = wanted.look(snapshot)
                if seen.is_met:
                    click.echo(escape_terminal(f"{condition}: met"))
                    if seen.note:
                        click.echo(escape_terminal(f"note: {seen.note}"), err=True)
                    return
                if seen.is_final:
                    raise NegativeResult(f"{condition} cannot come any more: {seen.text}")
                last = seen.text
        except TimeoutError:
            raise NegativeResult(f"{condition} has not come within {duration_text(timeout)}: {last}") from None
    raise TransportError(f"the node ended before {condition}: {last}")


def _looks(node: ControlClient, timeout_s: float) -> Iterator[NodeSnapshot]:
    """The node at once, however short the time is, and then at every change. Raises `TimeoutError` in the end."""
    from kubelet_sim.errors import TransportError, UsageError

    with contextlib.suppress(TransportError, UsageError):  # between two kubelets
        yield node.status(max(timeout_s, _ANSWER_S))
    yield from node.watch(timeout_s)
