"""The plugin: grants by CDI names, and describes what they mean in a file for the container runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from plugins_examples.cdi.spec_file import SpecFile, qualified, specification
from plugins_examples.chassis.devices import Device
from plugins_examples.chassis.plugin import Plugin
from plugins_examples.pb import api_pb2


class Cdi(Plugin):
    """Pretended FPGAs. Behind each lies the same node of the host, for want of a real one."""

    def __init__(self, resource: str, kind: str, count: int, directory: Path, host_node: str) -> None:
        super().__init__(resource)
        self._kind = kind
        self._names = tuple(f"card{number}" for number in range(count))
        self._file = SpecFile(directory, kind)
        self._host_node = host_node

    def start(self) -> None:
        """The file comes first: the runtime has to know a name when Allocate gives it."""
        self._file.write(specification(self._kind, self._names, self._host_node))

    def stop(self) -> None:
        """The file goes last: no kubelet asks us any more."""
        self._file.remove()

    def devices(self) -> Sequence[Device]:
        """The kubelet's ids are the last parts of the CDI names."""
        return tuple(Device(name) for name in self._names)

    def allocate(self, ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        """The names, and nothing else: the same device by a second way would be there twice."""
        names = [api_pb2.CDIDevice(name=qualified(self._kind, name)) for name in ids]
        return api_pb2.ContainerAllocateResponse(cdi_devices=names)
