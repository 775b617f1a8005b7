"""The command `bundle`: a container as an OCI bundle."""

from __future__ import annotations

from pathlib import Path

import click

from kubelet_sim.cli.helpers.completions import container_or_directory, pod_names
from kubelet_sim.cli.helpers.container_on_node import cdi_option, config_for, refusals, registry_of
from kubelet_sim.cli.helpers.options import common, directory_option, namespace_option
from kubelet_sim.foreign import escape_terminal


def _one_at_most(_ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> str | None:
    if len(values) > 1:
        raise click.UsageError(f"there are too many containers, {', '.join(values)}: expected one at most")
    return values[0] if values else None


@click.command()
@click.argument("pod", shell_complete=pod_names)
@click.argument(
    "container", nargs=-1, metavar="[CONTAINER]", callback=_one_at_most, shell_complete=container_or_directory
)
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@namespace_option
@cdi_option
@directory_option(
    "--rootfs", text="The root file system; an empty one is made if there is none.", exists=True, metavar=None
)
@common
def bundle(
    *,
    pod: str,
    container: str | None,
    directory: Path,
    namespace: str,
    cdi_directories: tuple[str, ...],
    rootfs: Path | None,
    root: Path | None,
) -> None:
    """Write an OCI bundle of a container, ready for `crun run` or `runc run`.

    CONTAINER may be left out for a pod with one container. DIRECTORY is new or empty. What the kubelet would have made (volumes, /etc/hosts) is made in it. Exit code 1 for a
    container that a runtime would refuse.

    \b
    Example: kubelet-sim bundle my-pod main /tmp/bundle --rootfs ./rootfs && sudo runc run -b /tmp/bundle try
    """  # noqa: D301
    from kubelet_sim.node.oci.bundle import kubelet_root, new_directory, write_bundle
    from kubelet_sim.node.oci.host_files import LocalFiles

    config_in = config_for(pod, container, namespace, root)
    place = new_directory(directory)
    with refusals():
        written = write_bundle(
            config_in(kubelet_root(place)), place, LocalFiles(), registry_of(cdi_directories), rootfs=rootfs
        )
    for note in written.notes:
        click.echo(escape_terminal(f"note: {note}"), err=True)
    click.echo(escape_terminal(f"bundle written: {place}"))
