"""Device nodes of the host as a runtime puts them into `config.json`: type, numbers, mode and owner."""

from __future__ import annotations

import posixpath
from typing import Any

from kubelet_sim.container.host import FileKind, HostFile, HostFiles
from kubelet_sim.container.oci_defaults import SKIPPED_BELOW_DEV
from kubelet_sim.container.paths import from_root
from kubelet_sim.errors import ContainerRefused

_DEEPEST = 16


def devices_at(host: HostFiles, host_path: str, container_path: str) -> list[dict[str, Any]]:
    """The device at a path, and for a directory every device in it, at any depth.

    A link is followed for the path itself, and not below a directory.

    Raises:
        ContainerRefused: nothing lies there, or nothing that is a device.
    """
    try:
        path = host.resolved(from_root(host_path))
        found = None if path is None else host.look(path)
        if path is None or found is None:
            raise ContainerRefused(f"lstat {host_path}: no such file or directory")
        if found.kind is FileKind.DIRECTORY:
            return _in_directory(host, path, container_path, 0)
    except OSError as error:
        raise ContainerRefused(f"lstat {host_path}: {error.strerror or error}") from error
    if not found.kind.is_device:
        raise ContainerRefused(
            f"get device path: {host_path!r} containerPath: {container_path!r} error: not a device node"
        )
    return [_device(found, container_path or path)]


def _in_directory(host: HostFiles, directory: str, container_path: str, depth: int) -> list[dict[str, Any]]:
    devices: list[dict[str, Any]] = []
    for name in host.entries(directory) or ():
        if name in SKIPPED_BELOW_DEV or depth > _DEEPEST:
            continue
        path = posixpath.join(directory, name)
        inside = posixpath.join(container_path or directory, name)
        found = host.look(path)
        if found is not None and found.kind is FileKind.DIRECTORY:
            devices += _in_directory(host, path, inside, depth + 1)
        elif found is not None and found.kind in {FileKind.CHARACTER, FileKind.BLOCK}:
            devices.append(_device(found, inside))
    return devices


def _device(found: HostFile, path: str) -> dict[str, Any]:
    numbers = {} if found.kind is FileKind.FIFO else {"major": found.major, "minor": found.minor}
    return {
        "path": path,
        "type": found.kind.value,
        **numbers,
        "fileMode": found.mode,
        "uid": found.uid,
        "gid": found.gid,
    }
