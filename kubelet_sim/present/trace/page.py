"""A transcript as one page for a browser: no network, no further file.

What comes from outside goes into the page as JSON in which no `<` stands, and the page's script shows it as text only.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Iterable
from typing import Any

from attrs import define, field

from kubelet_sim import __version__
from kubelet_sim.core.state import State
from kubelet_sim.node.recording.reader import Line, read_header, read_lines
from kubelet_sim.node.recording.replay import replay
from kubelet_sim.node.recording.tables import Tables
from kubelet_sim.present.trace.criteria import Picker
from kubelet_sim.present.trace.moves import Lane, Move, Moves, lanes_of
from kubelet_sim.rules import RULES
from kubelet_sim.transcript import Record, RecordLevel

_LONGEST_VALUE = 20_000
_PLACE = "__DATA__"


def page_of_transcript(name: str, text: Iterable[str], picker: Picker) -> str:
    """The page of a transcript file's lines, with the device manager's tables at each record. Raises `UsageError`."""
    made = _Page(picker)
    lines = list(text)
    whole = iter(lines)
    read_header(whole)
    for line in read_lines(whole):
        picker.learn(line.record)
    replayed = replay(lines, made.take)
    if replayed.differences:
        count = len(replayed.differences)
        first = replayed.differences[0].line
        made.notes.append(
            f"This version decides differently in {count} places, first in line {first}: tables may differ."
        )
    return made.text(name)


def page_of_node(records: Iterable[Record], picker: Picker) -> str:
    """The page of a running node, without tables: the values behind records are in files only."""
    made = _Page(picker)
    kept = list(records)
    for record in kept:
        picker.learn(record)
    for record in kept:
        made.take(Line(0, record), None)
    made.notes.append("Of a running node: a transcript file has requests, answers and tables, too.")
    return made.text("a running node")


@define
class _Page:
    _picker: Picker
    notes: list[str] = field(factory=list)
    _moves: Moves = field(factory=Moves)
    _tables: Tables = field(factory=Tables)
    _pending: dict[tuple[str, ...], Any] = field(factory=dict)
    """What changed since the last record that is shown."""
    _shown: list[tuple[Line, Move, dict[tuple[str, ...], Any]]] = field(factory=list)

    def take(self, line: Line, state: State | None) -> None:
        """One record, and the tables behind it."""
        self._pending |= self._tables.look(state)
        move = self._moves.of(line)
        if move is not None and self._picker.takes(line.record):
            self._shown.append((line, move, self._pending))
            self._pending = {}

    def text(self, name: str) -> str:
        """The text of the whole page."""
        lanes = lanes_of([move for _, move, _ in self._shown])
        numbers = {lane: number for number, lane in enumerate(lanes)}
        rows = [_row(line, move, numbers, changed) for line, move, changed in self._shown]
        named = {rule for line, _, _ in self._shown for rule in line.record.rules}
        data = {
            "name": name,
            "version": __version__,
            "notes": self.notes,
            "lanes": [{"kind": lane.kind, "label": lane.label} for lane in lanes],
            "rows": rows,
            "rules": {rule: [RULES[rule].sentence, RULES[rule].source] for rule in sorted(named) if rule in RULES},
        }
        template = importlib.resources.files("kubelet_sim.present.trace").joinpath("page.html").read_text("utf-8")
        before, _, after = template.partition(_PLACE)
        return before + _harmless(data) + after


def _row(line: Line, move: Move, numbers: dict[Lane, int], changed: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    record = move.record
    whole: dict[str, Any] = {
        "n": record.number,
        "t": record.at_s,
        "k": record.kind,
        "s": record.subject,
        "x": record.text,
        "r": list(record.rules),
        "w": record.level is RecordLevel.WARNING,
        "walk": record.walk,
        "p": record.incarnation,
        "from": numbers[move.source],
        "to": None if move.target is None else numbers[move.target],
        "a": move.is_answer,
        "f": move.has_failed,
        "took": line.took_s,
        "status": line.status,
        "d": [[list(key), value] for key, value in changed.items()],
        "v": _cut(line.value) if line.has_value else None,
        "more": dict(record.details),
    }
    return {
        name: value
        for name, value in whole.items()
        if value not in (None, "", [], {}, False) or name in {"t", "from", "to"}
    }


def _cut(value: Any) -> Any:
    text = json.dumps(value)
    return value if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}… ({len(text)} characters)"


def _harmless(data: Any) -> str:
    """JSON that no HTML parser takes for anything but text."""
    return (
        json.dumps(data, separators=(",", ":")).replace("<", "\\u003c").replace("&", "\\u0026").replace(">", "\\u003e")
    )
