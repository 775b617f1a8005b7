"""Writes the OCI bundle of a container: its `config.json`, a root file system, and what the kubelet would have made.

What containerd would do to the host is done inside of the bundle: a directory for a mount whose source is missing.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from kubelet_sim.container.cdi.registry import NO_CDI, Registry
from kubelet_sim.container.config import Bind, ContainerConfig, MadeByKubelet
from kubelet_sim.container.host import HostFiles
from kubelet_sim.container.oci import DerivedSpec, RuntimeOptions, derive
from kubelet_sim.container.paths import from_root
from kubelet_sim.errors import ContainerRefused, UsageError
from kubelet_sim.node.oci.runtime_limits import fit_machine

KUBELET = "kubelet"
"""The directory of a bundle that stands for the kubelet's root."""
_HOSTS = "127.0.0.1\tlocalhost\n"


@frozen
class Bundle:
    """An OCI bundle that was written to a directory."""

    path: Path
    spec: Mapping[str, Any]
    """What is in its `config.json`."""
    wanted: Mapping[str, Any]
    """What it would be for root on a machine that has everything."""
    notes: tuple[str, ...] = ()
    """What was made in place of something that is missing, and what this machine does not give."""


def kubelet_root(directory: Path) -> str:
    """What a container has to be built with as the kubelet's root, to go into a bundle at this place."""
    return str(directory / KUBELET)


def new_directory(directory: Path) -> Path:
    """The absolute path of a directory that is there now and empty. Raises `UsageError`."""
    path = directory.resolve()
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise UsageError(f"{directory} is not empty; a bundle wants a directory of its own")
    except OSError as error:
        raise UsageError(f"cannot make {directory}: {error.strerror or error}") from error
    return path


def write_bundle(
    config: ContainerConfig,
    directory: Path,
    host: HostFiles,
    cdi: Registry = NO_CDI,
    *,
    rootfs: Path | None = None,
    args: Sequence[str] = (),
) -> Bundle:
    """Write the bundle of a container into an empty directory.

    Args:
        config: built with `kubelet_root(directory)`.
        directory: absolute, and there.
        host: where device nodes are looked up.
        cdi: the spec files that count.
        rootfs: the root file system; an empty one is made if there is none.
        args: what runs in place of the pod's command.

    Raises:
        UsageError: something cannot be written.
        ContainerRefused: a runtime would refuse the container.
    """
    root = rootfs.resolve() if rootfs else directory / "rootfs"
    try:
        root.mkdir(exist_ok=True)
        for bind in config.mounts:
            _make(bind, directory)
        derived = derive(config, host, cdi, RuntimeOptions(root_path=str(root) if rootfs else "rootfs"))
        spec = copy.deepcopy(derived.spec)
        if args:
            spec["process"]["args"] = list(args)
        notes = _fill_gaps(spec, directory / "missing")
        wanted = copy.deepcopy(spec)
        notes += fit_machine(spec, _host_paths(config, derived))
        (directory / "config.json").write_text(json.dumps(spec, indent=2) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:  # a path with a NUL in it is a ValueError
        raise UsageError(f"cannot write the bundle: {error}") from error
    except ContainerRefused:
        for made in directory.iterdir():  # it was empty: the next try finds it so
            shutil.rmtree(made)
        raise
    return Bundle(directory, spec, wanted, notes)


def rewrite(bundle: Bundle, spec: Mapping[str, Any]) -> Bundle:
    """The bundle with another configuration, written."""
    (bundle.path / "config.json").write_text(json.dumps(spec, indent=2) + "\n", encoding="utf-8")
    return evolve(bundle, spec=spec)


def _make(bind: Bind, bundle: Path) -> None:
    """What the kubelet makes before the container is created: volumes and the termination message are for every user."""
    path = Path(bind.host_path)
    if bind.made is MadeByKubelet.NOTHING:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if bind.volume_path:
        _make_directory(Path(bind.volume_path), bundle)
        path.symlink_to(bind.volume_path)
    elif bind.made is MadeByKubelet.DIRECTORY:
        _make_directory(path, bundle)
    elif path.name == "etc-hosts":
        path.write_text(_HOSTS, encoding="utf-8")
    else:
        path.touch()
        path.chmod(0o666)


def _make_directory(path: Path, bundle: Path) -> None:
    """For everybody in the bundle; below a `hostPath` as the umask has it."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for each in missing:
        if each.is_relative_to(bundle):
            each.chmod(0o777)


def _fill_gaps(spec: dict[str, Any], directory: Path) -> tuple[str, ...]:
    """An empty directory for each bind mount whose source is missing: containerd makes it on the host."""
    notes = []
    for number, mount in enumerate(spec["mounts"]):
        source = mount.get("source", "")
        if mount.get("type") == "bind" and not ("\0" not in source and os.path.exists(source)):  # noqa: PTH110 - any text
            place = directory / str(number)
            place.mkdir(parents=True)
            mount["source"] = str(place)
            notes.append(f"{source} is missing: an empty directory is mounted at {mount['destination']}")
    return tuple(notes)


def _host_paths(config: ContainerConfig, derived: DerivedSpec) -> dict[str, str]:
    """Where the host has each device node of the container."""
    of_cdi = {each.key: each.host_path for each in derived.applied if each.part == "device"}
    return {each.container_path: from_root(each.host_path) for each in config.devices} | of_cdi
