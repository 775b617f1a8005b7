"""Files of documents that follow one another: what a document has in common with the one before is not made again.

The text is that of `checkpoint_text`, which makes it from a whole document; a test holds the two together. What is kept
goes by identity: documents hand an entry and a list of ids on as the same value for as long as nothing about it changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field, frozen
from fnv_hash_fast import fnv1a_32

from kubelet_sim.core.checkpoint_text import as_bytes, as_json, entry_dump, entry_object, list_dump
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

_NIL, _NULL = b"<nil>", b"null"


@frozen(eq=False)
class _Part:
    """An entry or a list of ids, as text."""

    of: object
    """Kept, so that no other value gets its identity."""
    dump: bytes
    json: bytes


@define
class Encoder:
    """Makes the files; knows the parts of the last document."""

    _entries: dict[int, _Part] = field(factory=dict)
    _lists: dict[str, _Part] = field(factory=dict)

    def encode(self, document: CheckpointDocument) -> bytes:
        """The whole file, byte for byte what `checkpoint_text.encode` makes of the document.

        Rules: CP-5, CP-7, CP-8, CP-9, CP-10, CP-19, DM-138, DM-139
        """
        entries, entries_json = self._entry_texts(document.entries)
        registered, registered_json = self._registered_texts(document)
        dump = (
            b"(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)%b "
            b"RegisteredDevices:(map[string][]string)%b}" % (entries, registered)
        )
        return b'{"Data":{"PodDeviceEntries":%b,"RegisteredDevices":%b},"Checksum":%d}' % (
            entries_json,
            registered_json,
            fnv1a_32(dump),
        )

    def _entry_texts(self, entries: Iterable[CheckpointEntry] | None) -> tuple[bytes, bytes]:
        before = self._entries
        self._entries = {id(entry): before.get(id(entry)) or _entry_part(entry) for entry in entries or ()}
        if entries is None:
            return _NIL, _NULL
        parts = [self._entries[id(entry)] for entry in entries]
        return b"[%b]" % b" ".join([part.dump for part in parts]), b"[%b]" % b",".join([part.json for part in parts])

    def _registered_texts(self, document: CheckpointDocument) -> tuple[bytes, bytes]:
        before, registered = self._lists, document.registered
        self._lists = {}
        if registered is None:
            return _NIL, _NULL
        for name in sorted(registered):
            ids, part = registered[name], before.get(name)
            self._lists[name] = part if part is not None and part.of is ids else _list_part(name, ids)
        parts = self._lists.values()
        return b"map[%b]" % b" ".join([part.dump for part in parts]), b"{%b}" % b",".join([part.json for part in parts])


def _entry_part(entry: CheckpointEntry) -> _Part:
    return _Part(entry, as_bytes(entry_dump(entry)), as_json(entry_object(entry)))


def _list_part(name: str, ids: tuple[str, ...] | None) -> _Part:
    """With the name before it, as both texts have it."""
    return _Part(ids, as_bytes(f"{name}:{list_dump(ids)}"), b"%b:%b" % (as_json(name), as_json(ids)))
