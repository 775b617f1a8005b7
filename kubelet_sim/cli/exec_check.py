"""The command `exec-check`: a container is really started, and looked at from inside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubelet_sim.cli.helpers.completions import container_names, pod_names
from kubelet_sim.cli.helpers.container_on_node import cdi_option, config_for, refusals, registry_of
from kubelet_sim.cli.helpers.options import (
    common,
    directory_option,
    duration_option,
    namespace_option,
    output_option,
    show_as,
)
from kubelet_sim.foreign import cut

if TYPE_CHECKING:
    from kubelet_sim.container.observed_container import Comparison
    from kubelet_sim.node.oci.oci_runtime import ContainerRun

_LAST_LINES = 3


class _CommandBehind(click.Command):
    """What stands behind the first `--` belongs to COMMAND, and never is the CONTAINER that may be left out before."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments before it as click does, and the words behind it as they are."""
        before = args
        behind: tuple[str, ...] = ()
        if "--" in args:
            at = args.index("--")
            before, behind = args[:at], tuple(args[at + 1 :])
        rest = super().parse_args(ctx, before)
        ctx.params["command"] = (*(ctx.params.get("command") or ()), *behind)
        return rest


@click.command("exec-check", cls=_CommandBehind)
@click.argument("pod", shell_complete=pod_names)
@click.argument("container", required=False, shell_complete=container_names)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@namespace_option
@output_option("table", "json", "yaml")
@cdi_option
@directory_option(
    "--rootfs", text="The root file system; else one with nothing but busybox.", exists=True, metavar=None
)
@click.option("--runtime", metavar="PROGRAM", help="The OCI runtime; else crun or runc, whichever starts it.")
@duration_option("--timeout", text="How long at most.", default="60s")
@common
def exec_check(  # noqa: PLR0913 - one for each option
    *,
    pod: str,
    container: str | None,
    command: tuple[str, ...],
    namespace: str,
    output: str,
    cdi_directories: tuple[str, ...],
    rootfs: Path | None,
    runtime: str | None,
    timeout: float,
    root: Path | None,
) -> None:
    """Really start a container with what it was granted, and report what it sees from inside: env, devices, mounts.

    CONTAINER may be left out for a pod with one container. COMMAND runs in it afterwards, in place of the pod's own. It needs crun or runc and a static busybox, and
    works without root where user namespaces do. Exit code 1 if the container does not start, lacks something that it was
    granted, or the command fails; 3 if this machine cannot start containers at all.

    \b
    Example: kubelet-sim exec-check my-pod main -- ls -l /dev
    """  # noqa: D301
    from kubelet_sim.cli.helpers.group import NegativeResult
    from kubelet_sim.container.observed_container import comparisons
    from kubelet_sim.errors import UsageError
    from kubelet_sim.node.oci.container_trial import try_out
    from kubelet_sim.node.oci.oci_runtime import runtimes_here
    from kubelet_sim.present.container_text import seen_document, seen_text

    if timeout <= 0:
        raise UsageError("--timeout: found 0; expected a time in which a container can start")
    runtimes_here(runtime)
    config_in = config_for(pod, container, namespace, root)
    with refusals():
        written, outcome = try_out(config_in, command, registry_of(cdi_directories), rootfs, runtime, timeout)
    if outcome.seen is None:
        raise NegativeResult(
            f"{Path(outcome.runtime).name} does not start this container: {_last_words(outcome.output)}"
        )
    found = comparisons(written.wanted, outcome.seen)
    document = seen_document(outcome, found, written.notes)
    show_as(output, document, lambda: seen_text(outcome, found, written.notes))
    judge(outcome, found, timeout)


def judge(outcome: ContainerRun, found: Sequence[Comparison], timeout_s: float) -> None:
    """Raises `NegativeResult` if something is missing in the container, or its command did not end well."""
    from kubelet_sim.cli.helpers.group import NegativeResult

    if wrong := [each for each in found if not each.is_as_wanted]:
        raise NegativeResult(f"{len(wrong)} of {len(found)} things are not in the container as they were granted")
    if outcome.is_timed_out:
        raise NegativeResult(f"the command did not end within {timeout_s:g} s, and was ended")
    if outcome.exit_code:
        raise NegativeResult(f"the command ended with {outcome.exit_code}")


def _last_words(output: str) -> str:
    """The reason often comes before the last line, which says what it led to."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return cut("; ".join(lines[-_LAST_LINES:]), 1000) if lines else "it said nothing"
