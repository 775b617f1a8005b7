"""The plugin: grants by device nodes, and mounts a directory or two beside them.

The devices are what lies on the disk. A serial adapter may be plugged in and pulled out at any time; once seen it stays
in the list, unhealthy while it is away, so that a kubelet does not forget who holds it.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import grpc

from plugins_examples.chassis.devices import Device
from plugins_examples.chassis.plugin import Plugin, Refused
from plugins_examples.pb import api_pb2


@dataclass(frozen=True)
class Mounted:
    """A directory of the host that every container with a device gets to see."""

    host_path: str
    container_path: str
    read_only: bool


class DeviceNodes(Plugin):
    """Devices by path: the id is the path on the host, which is also the path in the container."""

    def __init__(self, resource: str, patterns: Sequence[str], permissions: str, mounts: Sequence[Mounted]) -> None:
        super().__init__(resource)
        self._patterns = tuple(os.path.abspath(pattern) for pattern in patterns)  # noqa: PTH100 - a pattern, not a path
        self._permissions = permissions
        self._mounts = tuple(mounts)
        self._seen: dict[str, None] = {}  # in the order in which they turned up

    def devices(self) -> Sequence[Device]:
        """Whatever was seen so far, healthy while it is there."""
        for pattern in self._patterns:
            self._seen.update(dict.fromkeys(matches(pattern)))
        return tuple(Device(path, healthy=is_device(path)) for path in self._seen)

    def allocate(self, ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        """One device node for each device, and the mounts once."""
        answer = api_pb2.ContainerAllocateResponse()
        for path in ids:
            if not is_device(path):
                raise Refused(f"{path!a} is gone", grpc.StatusCode.FAILED_PRECONDITION)
            # A link such as /dev/serial/by-id/... keeps its name in the container; not every runtime follows it.
            host_path = os.path.realpath(path)
            answer.devices.add(container_path=path, host_path=host_path, permissions=self._permissions)
        for mount in self._mounts:
            answer.mounts.add(container_path=mount.container_path, host_path=mount.host_path, read_only=mount.read_only)
        return answer


def matches(pattern: str) -> Iterator[str]:
    """The devices that a pattern names now, sorted. One that is named in full counts even while it is away."""
    if not glob.has_magic(pattern) or is_device(pattern):
        yield pattern
        return
    for path in sorted(glob.glob(pattern)):  # noqa: PTH207 - Path.glob wants the pattern cut in two
        if is_device(path) and is_text(path):
            yield path


def is_device(path: str) -> bool:
    """Whether a device lies there, or a link to one."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def is_text(path: str) -> bool:
    """Whether the path can be an id: a file's name may be any bytes, an id is a text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
