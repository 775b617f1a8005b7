"""The document of a CDI spec file, version 1.1.0, as values. Names are ours, fields are those of the specification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from attrs import field, frozen

_NONE: Mapping[str, str] = MappingProxyType({})


@frozen
class NodeEdit:
    """A device node. What is 0, empty or `None` is looked up on the host."""

    path: str = ""
    host_path: str = ""
    type: str = ""
    major: int = 0
    minor: int = 0
    file_mode: int | None = None
    permissions: str = ""
    """Letters of `r`, `w`, `m`; empty stands for all of them, `none` for none."""
    uid: int | None = None
    gid: int | None = None


@frozen
class NetDeviceEdit:
    """A network interface that moves into the container."""

    host_interface_name: str = ""
    name: str = ""


@frozen
class MountEdit:
    """A mount that a spec file adds."""

    host_path: str = ""
    container_path: str = ""
    options: tuple[str, ...] = ()
    type: str = ""


@frozen
class HookEdit:
    """A program that a spec file has the runtime run."""

    hook_name: str = ""
    path: str = ""
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    timeout: int | None = None


@frozen
class IntelRdt:
    """The class of cache and memory bandwidth that a spec file asks for."""

    clos_id: str = ""
    l3_cache_schema: str = ""
    mem_bw_schema: str = ""
    schemata: tuple[str, ...] | None = None
    enable_monitoring: bool = False


@frozen
class ContainerEdits:
    """What is changed in a container's configuration."""

    env: tuple[str, ...] = ()
    device_nodes: tuple[NodeEdit, ...] = ()
    net_devices: tuple[NetDeviceEdit, ...] = ()
    hooks: tuple[HookEdit, ...] = ()
    mounts: tuple[MountEdit, ...] = ()
    intel_rdt: IntelRdt | None = None
    additional_gids: tuple[int, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether these edits change nothing."""
        return self == ContainerEdits()


@frozen
class CdiDevice:
    """A device, and the edits for who asks for it."""

    name: str = ""
    annotations: Mapping[str, str] = field(default=_NONE, hash=False)
    """For consumers of the file: they do not get into a container."""
    edits: ContainerEdits = ContainerEdits()


@frozen
class CdiSpec:
    """The document of one CDI spec file."""

    version: str = ""
    kind: str = ""
    annotations: Mapping[str, str] = field(default=_NONE, hash=False)
    devices: tuple[CdiDevice, ...] = ()
    edits: ContainerEdits = ContainerEdits()
    """For whoever asks for any device of the file."""

    @property
    def vendor(self) -> str:
        """The first half of the kind; empty if there is no second one."""
        vendor, _, device_class = self.kind.partition("/")
        return vendor if vendor and device_class else ""

    @property
    def device_class(self) -> str:
        """The second half of the kind, and all of a kind that has no two halves."""
        vendor, _, device_class = self.kind.partition("/")
        return device_class if vendor and device_class else self.kind

    def all_edits(self) -> Iterator[ContainerEdits]:
        """Those of the devices, then those of the file."""
        yield from (device.edits for device in self.devices)
        yield self.edits
