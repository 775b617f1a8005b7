"""Feeds a recorded transcript to a core of today and says where it answers differently.

What came from outside is taken from the file: facts, the answers of plugins, orders picked. What the core made of it is
compared: its decisions, its effects, its answers. No clock, no socket and no plugin is needed.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import define, field, frozen

from kubelet_sim.core.kubelet.kubelet import Kubelet
from kubelet_sim.core.state import State
from kubelet_sim.errors import KubeletSimError
from kubelet_sim.node.recording.codec import decode, encode
from kubelet_sim.node.recording.header import Header
from kubelet_sim.node.recording.picks import RecordedOrder
from kubelet_sim.node.recording.reader import Line, read_header, read_lines
from kubelet_sim.transcript import Decision, Json

_NOTHING = object()
ENDED_WITHOUT_ANSWER = {"ended": True}
"""What a walk is said to come to if its core ended it before the recorded one did."""


@frozen
class Difference:
    """A place where today's core does not do what the recorded one did."""

    line: int
    what: str
    recorded: Json = field(hash=False)
    today: Json = field(hash=False)


@frozen
class Replayed:
    """What a replay came to: how much was played, and where it differs."""

    processes: int
    facts: int
    walks: int
    differences: tuple[Difference, ...]
    """In the order of the file. After the first one, others may follow from it."""


Observer = Callable[[Line, State | None], None]
"""Is told of every record, and of the tables of today's core when it has taken the record in: `None`, there is none yet."""


def _nobody(_line: Line, _state: State | None) -> None:
    return


def replay(lines: Iterable[str], observer: Observer = _nobody) -> Replayed:
    """Replay a file. Raises `UsageError` for what is no transcript, or one without the values behind its records."""
    text = iter(lines)
    header = read_header(text)
    records = tuple(read_lines(text))
    picks = deque((line.record.incarnation, line.value) for line in records if line.record.kind == "pick")
    run = _Replay(header, RecordedOrder(picks))
    for line in records:
        run.take(line)
        observer(line, run.state)
    return Replayed(run.processes, run.facts, run.walks, tuple(run.differences))


@define
class _Replay:
    _header: Header
    _order: RecordedOrder
    differences: list[Difference] = field(factory=list)
    processes: int = 0
    facts: int = 0
    walks: int = 0
    _kubelet: Kubelet | None = None
    _alignment: Any = None
    _decided: deque[Decision] = field(factory=deque)
    _applied: Json = None
    _under_way: dict[int, _WalkUnderWay] = field(factory=dict)

    def append(self, decision: Decision) -> None:
        """Notes a decision of today's core, to be compared with the recorded one."""
        self._decided.append(decision)

    def take(self, line: Line) -> None:
        """Plays one record of the file, or compares what came with it."""
        by_kind: dict[str, Callable[[Line], None]] = {
            "process": self._process,
            "fact": self._fact,
            "applied": self._compare_applied,
            "decision": self._compare_decision,
            "walk": self._walk,
            "effect": self._compare_effect,
            "answer": self._answer,
            "end": self._end,
        }
        take = by_kind.get(line.record.kind)
        if take is None or (line.record.kind in ("effect", "answer") and not line.has_value):
            return None  # told for people; a failed write after a fact is an effect without a value
        if line.record.kind != "process" and self._kubelet is None:
            return self._differs(line, "a record before any kubelet process began", line.record.kind, None)
        try:
            return take(line)
        except KubeletSimError as failure:
            return self._differs(line, f"today's core refuses: {failure}", line.value, None)

    def _process(self, line: Line) -> None:
        self._nothing_left(line)
        self._order.begin(line.record.incarnation)
        self._alignment = self._alignment or self._header.alignment
        self._kubelet = Kubelet(
            self._header.profile,
            self,
            order=self._order,
            node=decode(line.value),
            machine=self._header.quantities,
            alignment=self._alignment,
        )
        self._under_way.clear()
        self.processes += 1

    def _fact(self, line: Line) -> None:
        self._nothing_left(line)
        self.facts += 1
        self._applied = _NOTHING
        self._applied = encode(self._core.apply(decode(line.value)))

    def _compare_applied(self, line: Line) -> None:
        self._nothing_left(line)
        if self._applied is not _NOTHING:
            self._compare(line, "what a fact led to", line.value, self._applied)

    def _compare_decision(self, line: Line) -> None:
        recorded = _decision(line.record.subject, line.record.text, line.record.rules)
        if not self._decided:
            return self._differs(line, "a decision that is not taken any more", recorded, None)
        today = self._decided.popleft()
        return self._compare(line, "a decision", recorded, _decision(today.subject, today.text, today.rules))

    def _walk(self, line: Line) -> None:
        self.walks += 1
        walk = _WalkUnderWay(self._core.begin(decode(line.value)))
        self._under_way[line.record.walk or 0] = walk
        walk.step(None)

    def _compare_effect(self, line: Line) -> None:
        walk = self._walk_of(line)
        if walk is not None:
            self._compare(line, "what a walk asks for", line.value, walk.asks)

    def _answer(self, line: Line) -> None:
        walk = self._walk_of(line)
        if walk is not None and not walk.is_over:
            walk.step(decode(line.value))

    def _end(self, line: Line) -> None:
        walk = self._walk_of(line)
        if walk is not None:
            del self._under_way[line.record.walk or 0]
            self._compare(line, "what a walk came to", line.value, walk.result)

    def _walk_of(self, line: Line) -> _WalkUnderWay | None:
        self._nothing_left(line)
        return self._under_way.get(line.record.walk or 0)

    def _nothing_left(self, line: Line) -> None:
        while self._decided:
            new = self._decided.popleft()
            self._differs(line, "a decision that was not taken then", None, _decision(new.subject, new.text, new.rules))

    def _compare(self, line: Line, what: str, recorded: Json, today: Json) -> None:
        as_read = json.loads(json.dumps(today))  # a file has no tuples
        if recorded != as_read:
            self._differs(line, what, recorded, as_read)

    def _differs(self, line: Line, what: str, recorded: Json, today: Json) -> None:
        self.differences.append(Difference(line.number, what, recorded, today))

    @property
    def state(self) -> State | None:
        """The tables of the core, for looking."""
        return None if self._kubelet is None else self._kubelet.state

    @property
    def _core(self) -> Kubelet:
        assert self._kubelet is not None, "looked at before"  # noqa: S101
        return self._kubelet


@define
class _WalkUnderWay:
    """A walk, and what it has come to so far."""

    _walk: Iterator[Any]
    asks: Json = None
    result: Json = field(factory=lambda: dict(ENDED_WITHOUT_ANSWER))
    is_over: bool = False

    def step(self, answer: Any) -> None:
        """Go on to the next effect or to the end."""
        walk: Any = self._walk
        try:
            asked = walk.throw(answer) if isinstance(answer, Exception) else walk.send(answer)
            self.asks = encode(asked)
        except StopIteration as end:
            self.result, self.is_over = encode(end.value), True
        except KubeletSimError as failure:
            self.result, self.is_over = encode(failure), True
        if self.is_over:
            self.asks = dict(ENDED_WITHOUT_ANSWER)


def _decision(subject: str, text: str, rules: Iterable[str]) -> Json:
    return {"subject": subject, "text": text, "rules": list(rules)}
