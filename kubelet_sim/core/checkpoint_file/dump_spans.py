"""The dump of a document with a note of what stands where, for finding out what was changed in it.

The dump itself is that of `checkpoint_text`; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

from attrs import define, field, frozen

from kubelet_sim.core.checkpoint_file.decoder import shown
from kubelet_sim.core.checkpoint_file.document_text import as_bytes
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

T = TypeVar("T")


class SpanKind(Enum):
    """What a stretch of the dump is."""

    LIST = "list"
    """Of entries, of ids or of bytes; nil or not."""
    MAP = "map"
    ITEM = "item"
    """An element of a list or a map."""
    TEXT = "text"
    BYTE = "byte"
    """A byte of a response, in decimal."""


@frozen
class Span:
    """A stretch of the dump, in bytes, and the path of the value in the file."""

    kind: SpanKind
    begin: int
    end: int
    path: str
    is_first: bool = False
    """Of items: no space stands before it."""


@define
class Drawing:
    """The dump of a checkpoint while it is being drawn, with the spans of its values."""

    dump: bytearray = field(factory=bytearray)
    spans: list[Span] = field(factory=list)

    @classmethod
    def of(cls, document: CheckpointDocument) -> Drawing:
        """The dump of the document and its spans, inner ones before outer ones. Rules: CP-10"""
        drawing = cls()
        drawing._raw("(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)")
        drawing._list("Data.PodDeviceEntries", document.entries, drawing._entry)
        drawing._raw(" RegisteredDevices:(map[string][]string)")
        drawing._map("Data.RegisteredDevices", document.registered)
        drawing._raw("}")
        return drawing

    def text(self, span: Span) -> str:
        """The text of the dump between the ends of a span."""
        return self.dump[span.begin : span.end].decode("utf-8", "surrogatepass")

    def _raw(self, text: str) -> None:
        self.dump += as_bytes(text)

    def _noted(self, kind: SpanKind, path: str, draw: Callable[[], None], *, is_first: bool = False) -> None:
        begin = len(self.dump)
        draw()
        self.spans.append(Span(kind, begin, len(self.dump), path, is_first))

    def _text(self, path: str, text: str) -> None:
        self._noted(SpanKind.TEXT, path, lambda: self._raw(text))

    def _list(self, path: str, items: Sequence[T] | None, draw: Callable[[str, T], None]) -> None:
        pairs = None if items is None else [(f"{path}[{index}]", item) for index, item in enumerate(items)]
        self._noted(SpanKind.LIST, path, lambda: self._items("[", pairs, draw))

    def _map(self, path: str, lists: Mapping[Any, tuple[str, ...] | None] | None) -> None:
        pairs = None if lists is None else [(f"{path}[{shown(str(key))}]", key) for key in sorted(lists)]

        def draw(place: str, key: Any) -> None:
            self._raw(f"{key}:")
            self._list(place, lists[key] if lists else None, self._text)

        self._noted(SpanKind.MAP, path, lambda: self._items("map[", pairs, draw))

    def _items(self, opening: str, pairs: Iterable[tuple[str, T]] | None, draw: Callable[[str, T], None]) -> None:
        if pairs is None:
            self._raw("<nil>")
            return
        self._raw(opening)
        for number, (path, item) in enumerate(pairs):
            if number:
                self._raw(" ")
            self._noted(SpanKind.ITEM, path, lambda path=path, item=item: draw(path, item), is_first=not number)  # type: ignore[misc]
        self._raw("]")

    def _entry(self, path: str, entry: CheckpointEntry) -> None:
        self._raw("{PodUID:(string)")
        self._text(f"{path}.PodUID", entry.pod_uid)
        self._raw(" ContainerName:(string)")
        self._text(f"{path}.ContainerName", entry.container)
        self._raw(" ResourceName:(string)")
        self._text(f"{path}.ResourceName", entry.resource)
        self._raw(" DeviceIDs:(checkpoint.DevicesPerNUMA)")
        self._map(f"{path}.DeviceIDs", entry.devices)
        self._raw(" AllocResp:([]uint8)")
        self._list(f"{path}.AllocResp", entry.allocate_response, self._byte)
        self._raw("}")

    def _byte(self, path: str, value: int) -> None:
        self._noted(SpanKind.BYTE, path, lambda: self._raw(str(value)))
