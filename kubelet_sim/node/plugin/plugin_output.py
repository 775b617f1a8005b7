"""What a plugin says: its bytes become lines, raw otherwise; whoever shows them escapes them."""

from __future__ import annotations

from attrs import frozen

LONGEST_LINE = 64 * 1024


@frozen
class OutputLine:
    """One line of a plugin's output, without its end."""

    at_s: float
    """Monotonic."""
    text: str


class LineSplitter:
    """Cuts a stream of bytes into lines, and lines without end into pieces."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._pending = bytearray()

    def add(self, piece: bytes) -> list[bytes]:
        """The lines that are complete now, without their line ends (LF or CR LF)."""
        self._pending += piece
        *lines, last = self._pending.split(b"\n")
        self._pending = last
        found = [bytes(cut) for line in lines for cut in self._cut(line)]
        while len(self._pending) > self._longest:
            cut = self._border(self._pending)
            found.append(bytes(self._pending[:cut]))
            del self._pending[:cut]
        return found

    def rest(self) -> list[bytes]:
        """What came after the last line end, if anything."""
        last, self._pending = bytes(self._pending), bytearray()
        return [last] if last else []

    def _cut(self, line: bytearray) -> list[bytearray]:
        if line.endswith(b"\r"):
            del line[-1:]
        pieces = []
        while len(line) > self._longest:
            cut = self._border(line)
            pieces.append(line[:cut])
            line = line[cut:]
        return [*pieces, line]

    def _border(self, line: bytearray) -> int:
        """Where to cut: not inside a character of UTF-8, if it is UTF-8."""
        for cut in range(self._longest, max(self._longest - 4, 0), -1):
            if line[cut] & 0xC0 != 0x80:  # noqa: PLR2004 - the mark of a continuation byte
                return cut
        return self._longest
