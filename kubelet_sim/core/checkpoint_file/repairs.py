"""What would make the checksum of a document fit: one plausible change, found without trying documents one by one.

FNV-1a can be followed from both ends: forwards from its start, and backwards from the checksum that is stored, because each
of its steps can be undone. Where the two meet, the change is found: a stretch put in place of another fits if it leads from
the state before it to the state behind it.

Every answer is true as it is worded, none is certain to be what happened: by chance, one of some ten thousand
changes of a long file fits as well.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice

from attrs import define, field

from kubelet_sim.core.checkpoint_file.dump_spans import Drawing, Span, SpanKind
from kubelet_sim.core.go_text import quoted
from kubelet_sim.model.checkpoint import CheckpointDocument

_START, _PRIME, _MASK = 2166136261, 16777619, 2**32 - 1
_UNDO = pow(_PRIME, -1, 2**32)
_MOST_BYTES = 4_000_000
"""Of a dump: two passes in Python, and eight bytes of memory for each. A longer one is not searched."""
_MOST_ANSWERS = 5
_PRINTABLE = range(0x20, 0x7F)
_DIGITS = range(0x30, 0x3A)
_LEADING = [b"", *(str(number).encode() for number in range(1, 26))]
_LARGEST_BYTE = 255
_EMPTY = {SpanKind.LIST: b"[]", SpanKind.MAP: b"map[]"}
_NIL = b"<nil>"
_REPLACEMENT = "\ufffd".encode()


def repairs(document: CheckpointDocument, stored: int, computed: int) -> tuple[str, ...]:
    """Sentences that go on after "the checksum fits if"; none if nothing fits. For a document that does not fit.

    Rules: CP-9, CP-10, CP-13, DM-139
    """
    if _differ_by_one_digit(stored, computed):
        return (f"it was the number itself that was changed: {stored} differs from {computed} in one digit",)
    drawing = Drawing.of(document)
    if not 0 <= stored <= _MASK or len(drawing.dump) > _MOST_BYTES:
        return ()
    return tuple(dict.fromkeys(islice(_Search(drawing, stored).answers(), _MOST_ANSWERS)))


def _differ_by_one_digit(one: int, other: int) -> bool:
    digits = str(one), str(other)
    return len(digits[0]) == len(digits[1]) and sum(a != b for a, b in zip(*digits, strict=True)) == 1


@define
class _Search:
    drawing: Drawing
    stored: int
    before: array[int] = field(factory=lambda: array("I"))
    """The state before each byte of the dump, from its start."""
    behind: array[int] = field(factory=lambda: array("I"))
    """The state that there has to be before each byte, for the stored checksum to come out at the end."""

    def __attrs_post_init__(self) -> None:
        state = _START
        for byte in self.drawing.dump:
            self.before.append(state)
            state = ((state ^ byte) * _PRIME) & _MASK
        self.before.append(state)
        state = self.stored
        self.behind.append(state)
        for byte in reversed(self.drawing.dump):
            state = ((state * _UNDO) & _MASK) ^ byte
            self.behind.append(state)
        self.behind.reverse()

    def answers(self) -> Iterator[str]:
        yield from self._nil_or_empty()
        yield from self._without_items()
        for span in self.drawing.spans:
            if span.kind is SpanKind.TEXT:
                yield from self._changed_text(span)
            elif span.kind is SpanKind.BYTE:
                yield from self._changed_byte(span)

    def _fits(self, begin: int, end: int, text: bytes) -> bool:
        """Whether the stored checksum comes out with `text` in the place of a stretch."""
        return _after(self.before[begin], text) == self.behind[end]

    def _nil_or_empty(self) -> Iterator[str]:
        for span in self.drawing.spans:
            if span.kind not in _EMPTY:
                continue
            text, empty = bytes(self.drawing.dump[span.begin : span.end]), _EMPTY[span.kind]
            if text == _NIL and self._fits(span.begin, span.end, empty):
                yield f"{span.path} were there and empty, or not there at all, instead of null"
            if text == empty and self._fits(span.begin, span.end, _NIL):
                yield f"{span.path} were null"
        yield from self._both_nil_or_empty()

    def _both_nil_or_empty(self) -> Iterator[str]:
        """Both members of `Data` at once: what a tool does that leaves nothing out, or everything that is empty."""
        both = [span for span in self.drawing.spans if span.path in {"Data.PodDeviceEntries", "Data.RegisteredDevices"}]
        first, second = both
        texts = [bytes(self.drawing.dump[span.begin : span.end]) for span in both]
        others = [
            _NIL if text == _EMPTY[span.kind] else _EMPTY[span.kind] for span, text in zip(both, texts, strict=True)
        ]
        between = bytes(self.drawing.dump[first.end : second.begin])
        is_changeable = all(text in {_NIL, _EMPTY[span.kind]} for span, text in zip(both, texts, strict=True))
        if is_changeable and self._fits(first.begin, second.end, others[0] + between + others[1]):
            words = ["null" if other == _NIL else "empty" for other in others]
            yield f"{first.path} were {words[0]} and {second.path} {words[1]}"

    def _without_items(self) -> Iterator[str]:
        for span in self.drawing.spans:
            if span.kind is not SpanKind.ITEM:
                continue
            end = span.end + (span.is_first and self.drawing.dump[span.end : span.end + 1] == b" ")
            if self._fits(span.begin - (not span.is_first), end, b""):
                yield f"{span.path} were not there"

    def _changed_text(self, span: Span) -> Iterator[str]:
        """One character that is another, is missing or is too much; or a byte that had become U+FFFD."""
        dump, path = self.drawing.dump, span.path
        for at in range(span.begin, span.end + 1):
            inserted = self.before[at] ^ ((self.behind[at] * _UNDO) & _MASK)
            if inserted in _PRINTABLE:
                yield self._told(path, span, at, at, inserted)
            if at == span.end:
                return
            other = self.before[at] ^ self.behind[at] ^ dump[at]
            if other in _PRINTABLE and dump[at] in _PRINTABLE:
                yield self._told(path, span, at, at + 1, other)
            if self.before[at] == self.behind[at + 1] and dump[at] in _PRINTABLE:
                yield self._told(path, span, at, at + 1, None)
            if dump[at : at + 3] == _REPLACEMENT:
                yield from self._without_replacement(path, at)

    def _without_replacement(self, path: str, at: int) -> Iterator[str]:
        if self.before[at] == self.behind[at + 3]:
            yield f"the U+FFFD in {path} were not there"
        lost = self.before[at] ^ ((self.behind[at + 3] * _UNDO) & _MASK)
        if lost <= _LARGEST_BYTE:
            byte = repr(chr(lost)) if lost in _PRINTABLE else f"the byte 0x{lost:02x}, which is not UTF-8 by itself"
            yield f"the U+FFFD in {path} were {byte}"

    def _told(self, path: str, span: Span, begin: int, end: int, character: int | None) -> str:
        dump = self.drawing.dump
        between = b"" if character is None else bytes([character])
        text = bytes(dump[span.begin : begin]) + between + bytes(dump[end : span.end])
        return f"{path} were {quoted(text.decode('utf-8', 'replace'))} instead of {quoted(self.drawing.text(span))}"

    def _changed_byte(self, span: Span) -> Iterator[str]:
        last = (self.behind[span.end] * _UNDO) & _MASK
        for leading in _LEADING:
            digit = _after(self.before[span.begin], leading) ^ last
            if digit in _DIGITS and int(leading + bytes([digit])) <= _LARGEST_BYTE:
                yield f"byte {span.path} were {int(leading + bytes([digit]))} instead of {self.drawing.text(span)}"


def _after(state: int, text: bytes) -> int:
    for byte in text:
        state = ((state ^ byte) * _PRIME) & _MASK
    return state
