"""Sequence diagrams of a transcript: for Mermaid, and in characters for a terminal.

Foreign text is escaped for each: Mermaid ends a statement at `;` or a line end, takes `#…;` for a character and some words
for its own, so that everything but letters, digits and a few harmless signs is written as a number.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from kubelet_sim.foreign import cut, escape_terminal
from kubelet_sim.present.trace.moves import PLUGIN, Lane, Move, lanes_of

_LONGEST = 300
_HARMLESS = re.compile(r"[^A-Za-z0-9 _.,/()=*'-]")
_WORDS = re.compile(r"\b(end|wrap|nowrap)\b", re.IGNORECASE)


def mermaid(moves: Iterable[Move]) -> str:
    """The moves as a `sequenceDiagram` of Mermaid."""
    whole = list(moves)
    names = {lane: f"L{number}" for number, lane in enumerate(lanes_of(whole))}
    lines = ["sequenceDiagram"]
    lines += [f"    participant {name} as {escape_mermaid(_label(lane))}" for lane, name in names.items()]
    return "\n".join(lines + [f"    {_statement(move, names)}" for move in whole])


def _statement(move: Move, names: dict[Lane, str]) -> str:
    text = escape_mermaid(_text(move))
    if move.target is None:
        return f"Note over {names[move.source]}: {text}"
    arrow = ("--" if move.is_answer else "-") + ("x" if move.has_failed else ">>")
    return f"{names[move.source]}{arrow}{names[move.target]}: {text}"


def escape_mermaid(text: str) -> str:
    """The text as Mermaid shows it, on one line; never empty."""
    shown = _HARMLESS.sub(lambda match: f"#{ord(match[0])};", escape_terminal(text).strip())
    # Some words are Mermaid's own wherever they stand: their first letter becomes a number.
    return _WORDS.sub(lambda match: f"#{ord(match[0][0])};{match[0][1:]}", shown) or "#32;"


def ascii_diagram(moves: Iterable[Move], width: int = 100) -> str:
    """One column for each lane, time from top to bottom; seconds on the left."""
    whole = list(moves)
    lanes = lanes_of(whole)
    return "\n".join(_Sheet(lanes, max(width, 60)).lines(whole))


class _Sheet:
    def __init__(self, lanes: list[Lane], width: int) -> None:
        self._lanes = lanes
        gap = max(14, min(40, (width - 14) // max(1, len(lanes))))
        self._x = {lane: 12 + gap // 2 + gap * number for number, lane in enumerate(lanes)}
        self._gap = gap
        self._width = max(width, 12 + gap * len(lanes))

    def lines(self, moves: list[Move]) -> list[str]:
        """The lines of the whole diagram."""
        head = [" "] * self._width
        for lane, x in self._x.items():
            _put(head, x - self._gap // 2 + 1, cut_to(_label(lane), self._gap - 2).center(self._gap - 2))
        return ["".join(head).rstrip(), *(line for move in moves for line in self._of(move))]

    def _of(self, move: Move) -> list[str]:
        ends = [self._x[lane] for lane in (move.source, move.target) if lane is not None]
        begin = min(ends) + 2
        room = max(24, self._width - begin)
        texts = textwrap.wrap(escape_terminal(cut(_text(move), _LONGEST)), room) or [""]
        if len(ends) == 1:
            texts = [f"* {texts[0]}", *(f"  {text}" for text in texts[1:])]
        lines = [self._row(begin, text) for text in texts]
        lines[0] = f"{move.record.at_s:10.3f}" + lines[0][10:]
        if len(ends) > 1:
            lines.append(self._arrow(move, *ends))
        return lines

    def _row(self, begin: int, text: str) -> str:
        row = self._lifelines()
        _put(row, begin, text)
        return "".join(row).rstrip()

    def _arrow(self, move: Move, source: int, target: int) -> str:
        row, step = self._lifelines(), 1 if target > source else -1
        for x in range(source + step, target, step):
            row[x] = "-" if not move.is_answer or x % 2 else " "
        row[target - step] = "x" if move.has_failed else (">" if step > 0 else "<")
        return "".join(row).rstrip()

    def _lifelines(self) -> list[str]:
        row = [" "] * self._width
        for x in self._x.values():
            row[x] = "|"
        return row


def _put(row: list[str], begin: int, text: str) -> None:
    row.extend(" " * max(0, begin + len(text) - len(row)))
    row[begin : begin + len(text)] = text


def cut_to(text: str, length: int) -> str:
    """The text, or its end behind an ellipsis: the end of a resource's name says more than its domain."""
    return text if len(text) <= length else f"…{text[len(text) - length + 1 :]}"


def _label(lane: Lane) -> str:
    return escape_terminal(cut(lane.label, _LONGEST)) if lane.kind == PLUGIN else lane.label


def _text(move: Move) -> str:
    record = move.record
    other = {lane.name for lane in (move.source, move.target) if lane is not None and lane.name}
    about = "" if record.subject in other | {"kubelet", "node"} else f"{record.subject}: "
    rules = f" [{', '.join(record.rules)}]" if record.rules else ""
    return cut(f"{about}{record.text}", _LONGEST) + rules
