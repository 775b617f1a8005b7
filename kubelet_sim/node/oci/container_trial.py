"""A container that is really started for once, in a bundle that is gone afterwards, and looked at from inside."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from kubelet_sim.container import ContainerConfig, Registry
from kubelet_sim.node.oci.bundle import Bundle, kubelet_root, write_bundle
from kubelet_sim.node.oci.host_files import LocalFiles
from kubelet_sim.node.oci.oci_runtime import ContainerRun, run_probed, static_busybox

_APPLETS = ("sh", "ls", "cat", "env", "echo", "stat", "id", "mount", "test", "true", "false", "sleep", "head", "find")
"""The usual small commands, which busybox is by these names."""


def try_out(
    config_in: Callable[[str], ContainerConfig],
    command: Sequence[str],
    registry: Registry,
    rootfs: Path | None,
    runtime: str | None,
    timeout_s: float,
) -> tuple[Bundle, ContainerRun]:
    """The bundle that was written for a container, and what came of it.

    Args:
        config_in: builds the container for a kubelet root.
        command: runs in it, in place of its own.
        registry: the CDI devices that there are.
        rootfs: its root file system; one with nothing but busybox if there is none.
        runtime: the OCI runtime; whichever starts it if none is named.
        timeout_s: how long at most.

    Raises:
        ContainerRefused: a runtime would refuse it.
        CannotRun: this machine cannot start containers.
    """
    place = Path(tempfile.mkdtemp(prefix="ks-bundle-"))
    try:
        files = rootfs or _busybox_rootfs(place / "busybox-rootfs", static_busybox())
        work = place / "bundle"
        work.mkdir()
        config = config_in(kubelet_root(work))
        if config.security.user_namespace is not None:
            place.chmod(0o711)  # the container's users are nobody here, and have to get through
        written = write_bundle(config, work, LocalFiles(), registry, rootfs=files)
        return written, run_probed(written, command, runtime, timeout_s)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _busybox_rootfs(place: Path, busybox: Path) -> Path:
    """A root file system in which the usual small commands are there."""
    (place / "bin").mkdir(parents=True)
    place.chmod(0o777)  # whoever the container's root is here makes mount points in it
    shutil.copy(busybox, place / "bin" / "busybox")
    for name in _APPLETS:
        (place / "bin" / name).symlink_to("busybox")
    return place
