"""The values of the checkpoint document; its text and checksum are `kubelet_sim.core.checkpoint_file.document_text`.

`None` and empty differ everywhere in this document, in the file as in the checksum.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

DevicesByNuma = Mapping[int, tuple[str, ...] | None]
"""Ids by NUMA node, −1 for none; a device on several nodes stands under each. Rules: CP-5"""


@frozen
class CheckpointEntry:
    """One (pod, container, resource) of the document. Rules: CP-5"""

    pod_uid: str = ""
    container: str = ""
    resource: str = ""
    devices: DevicesByNuma | None = field(default=None, hash=False)
    allocate_response: bytes | None = None
    """The serialized `ContainerAllocateResponse`."""


@frozen
class CheckpointDocument:
    """The `Data` object: what is hashed and stored. Order of entries and of ids is kept. Rules: CP-5, CP-19"""

    entries: tuple[CheckpointEntry, ...] | None = None
    registered: Mapping[str, tuple[str, ...] | None] | None = field(default=None, hash=False)
    """Healthy ids by resource; a kubelet restores only the names. Rules: CP-6, CP-15"""
