"""The answer of a plugin for one container, and what becomes of several of them.

`ContainerResponse` is made once, where the bytes come in; `ContainerSpec` is the merge of all responses of a container.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import field, frozen

_NOTHING: Mapping[str, str] = MappingProxyType({})


def _read_only(mapping: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(mapping))


@frozen
class DeviceNode:
    """A path shown to a container: the proto's `DeviceSpec`. Nothing in it is checked. Rules: DM-125, DM-126"""

    container_path: str
    host_path: str
    permissions: str
    """Letters of `r`, `w`, `m` as sent; empty stays empty."""


@frozen
class Mount:
    """A bind mount as the plugin asked for it. Rules: DM-126"""

    container_path: str
    host_path: str
    read_only: bool = False


@frozen
class ContainerResponse:
    """One `ContainerAllocateResponse`: its values, and the bytes for the checkpoint. Rules: DM-134, CP-18"""

    envs: Mapping[str, str] = field(default=_NOTHING, converter=_read_only, hash=False)
    mounts: tuple[Mount, ...] = ()
    devices: tuple[DeviceNode, ...] = ()
    annotations: Mapping[str, str] = field(default=_NOTHING, converter=_read_only, hash=False)
    cdi_devices: tuple[str, ...] = ()
    raw: bytes = field(default=b"", repr=False)
    """The serialized message; empty for an empty response."""


@frozen
class Dropped:
    """An entry that an earlier one with the same key kept out. Rules: DM-124"""

    part: str
    """The list of `ContainerSpec` that it would have joined, such as `envs`."""
    key: str
    """The name, container path or key that was taken already."""
    resource: str
    """Whose answer it came with."""
    value: str
    """What is compared: the value, or the host path."""
    kept_value: str
    """The same of the entry that was first."""
    kept_resource: str
    """Empty: nothing was first, the kubelet does not read such entries at all."""

    @property
    def is_conflict(self) -> bool:
        """Whether the two say different things, so that who wins matters."""
        return self.value != self.kept_value


@frozen
class Provenance:
    """Whose answer each entry of a container spec came with: a resource for each entry, in the order of the spec's lists.

    Empty where it is not known, as for a spec that did not come from a merge.
    """

    envs: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    cdi_devices: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    """In the order in which they came; equal duplicates of CDI names included."""


@frozen
class ContainerSpec:
    """What all responses of one container come to. Order within a list matters only inside one response.

    Two specs with the same settings are equal, whoever they came from.

    Rules: DM-123, DM-124, DM-126
    """

    envs: tuple[tuple[str, str], ...] = ()
    mounts: tuple[Mount, ...] = ()
    devices: tuple[DeviceNode, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    cdi_devices: tuple[str, ...] = ()
    provenance: Provenance = field(default=Provenance(), eq=False, repr=False)
