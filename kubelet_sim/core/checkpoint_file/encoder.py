"""Files of documents that follow one another: what a document has in common with the one before is not made again.

The text is that of `checkpoint_text`, which makes it from a whole document; a test holds the two together. What is kept
goes by identity: documents hand an entry and a list of ids on as the same value for as long as nothing about it changes.
The dump is never put together: the checksum goes from part to part, and begins where the entries begin to differ.
"""

from __future__ import annotations

from operator import is_

from attrs import define, field

from kubelet_sim.core.checkpoint_file.document_text import as_bytes, as_json, entry_dump, entry_object, list_dump
from kubelet_sim.core.checkpoint_file.running_hash import START, Stretch, after_byte
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

_ALL_KINDS = 256
_BEGIN = Stretch(b"(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)").after(START)
_NIL, _OPEN, _OPEN_MAP, _CLOSE, _END = (Stretch(text, _ALL_KINDS) for text in (b"<nil>", b"[", b"map[", b"]", b"}"))
_BETWEEN = Stretch(b" RegisteredDevices:(map[string][]string)", _ALL_KINDS)
_SPACE = ord(" ")


@define(eq=False)
class _EncodedPart:
    """An entry or a list of ids, as text."""

    of: object
    """Kept, so that no other value gets its identity."""
    dump: Stretch
    json: bytes
    state: int = 0
    """Of the checksum behind it, in the last document."""
    end: int = 0
    """Where an entry ends in the JSON of all entries, likewise."""


@define
class Encoder:
    """Makes the files; knows the parts of the last document."""

    _entries: list[_EncodedPart] = field(factory=list)
    _of: tuple[CheckpointEntry, ...] = ()
    _text: bytearray = field(factory=bytearray)
    """The JSON of the entries, with commas between: it grows at its end as they do."""
    _lists: dict[str, _EncodedPart] = field(factory=dict)

    def encode(self, document: CheckpointDocument) -> bytes:
        """The whole file, byte for byte what `checkpoint_text.encode` makes of the document.

        Rules: CP-5, CP-7, CP-8, CP-9, CP-10, CP-19, DM-138, DM-139
        """
        state, entries = self._after_entries(document.entries)
        state, registered = self._after_registered(_BETWEEN.after(state), document)
        number = str(_END.after(state)).encode()
        # One join at the end: with many records the file is large, and copying it takes as long as all else.
        pieces = (b'{"Data":{"PodDeviceEntries":', *entries, b',"RegisteredDevices":', *registered)
        return b"".join((*pieces, b'},"Checksum":', number, b"}"))

    def _after_entries(self, entries: tuple[CheckpointEntry, ...] | None) -> tuple[int, tuple[bytes | bytearray, ...]]:
        """The checksum behind the entries, and their JSON in pieces."""
        if entries is None:
            self._entries, self._of, self._text = [], (), bytearray()
            return _NIL.after(_BEGIN), (b"null",)
        same = _common(self._of, entries)
        before: dict[int, _EncodedPart | None] = {id(part.of): part for part in self._entries[same:]}
        del self._entries[same:]
        # An entry that stands there twice is two parts: each has a state of its own.
        self._entries += [before.pop(id(entry), None) or _entry_part(entry) for entry in entries[same:]]
        self._of = entries
        state = self._entries[same - 1].state if same else _OPEN.after(_BEGIN)
        del self._text[self._entries[same - 1].end if same else 0 :]
        for number, part in enumerate(self._entries[same:], same):
            state = part.state = part.dump.after(after_byte(state, _SPACE) if number else state)
            self._text += b"," + part.json if number else part.json
            part.end = len(self._text)
        return _CLOSE.after(state), (b"[", self._text, b"]")

    def _after_registered(self, state: int, document: CheckpointDocument) -> tuple[int, tuple[bytes, ...]]:
        """The checksum behind the lists, from the one before them, and their JSON in pieces."""
        before, registered = self._lists, document.registered
        self._lists = {}
        if registered is None:
            return _NIL.after(state), (b"null",)
        state = _OPEN_MAP.after(state)
        for number, name in enumerate(sorted(registered)):
            ids, part = registered[name], before.get(name)
            if part is None or part.of is not ids:
                part = _list_part(name, ids)
            self._lists[name] = part
            state = part.dump.after(after_byte(state, _SPACE) if number else state)
        return _CLOSE.after(state), (b"{", b",".join([part.json for part in self._lists.values()]), b"}")


def _common(one: tuple[CheckpointEntry, ...], other: tuple[CheckpointEntry, ...]) -> int:
    """How many entries both begin with: nearly always all, since new ones come last."""
    if one == other[: len(one)]:
        return len(one)
    return next((number for number, is_same in enumerate(map(is_, one, other)) if not is_same), len(other))


def _entry_part(entry: CheckpointEntry) -> _EncodedPart:
    return _EncodedPart(entry, Stretch(as_bytes(entry_dump(entry))), as_json(entry_object(entry)))


def _list_part(name: str, ids: tuple[str, ...] | None) -> _EncodedPart:
    """With the name before it, as both texts have it. Entries before it change all the time, so every answer is kept."""
    dump = Stretch(as_bytes(f"{name}:{list_dump(ids)}"), _ALL_KINDS)
    return _EncodedPart(ids, dump, b":".join([as_json(name), as_json(ids)]))
