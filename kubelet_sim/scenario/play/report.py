"""A wrong step for people: where it stands, what was expected, what came, and what had happened before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kubelet_sim.manifests.errors import printable
from kubelet_sim.scenario.play.player import Played, PlayedStep
from kubelet_sim.scenario.story.story import NO_EXPECTATION
from kubelet_sim.transcript import Record


def wrong_step_text(played: Played, wrong: PlayedStep | None = None) -> str:
    """Several lines, control characters escaped, about that step or the first wrong one; empty if there is none."""
    wrong = wrong or played.wrong
    if wrong is None:
        return ""
    where = f"{wrong.step.place or played.story.source or 'story'}: {played.story.name}, step {wrong.step.number}: {wrong.step.do}"
    lines = [where, *_outcome(wrong), *_journal(wrong.journal)]
    for name, output in wrong.output.items():
        lines += [f"what {name} said last:", *(f"  {line}" for line in output)]
    return "\n".join(printable(line) for line in lines)


def _outcome(wrong: PlayedStep) -> list[str]:
    came = f"nothing: {wrong.failure}" if wrong.failure else _compact(wrong.came)
    if wrong.step.expect is NO_EXPECTATION:
        return [f"  came:     {came}"]
    return [f"  expected: {_compact(wrong.step.expect)}", f"  came:     {came}"]


def _journal(records: Sequence[Record]) -> list[str]:
    """A line for each, but for those that say once more what was said already. A clock that stands still is told once."""
    title = "journal since the step before"
    if not records:
        return [f"{title}:", "  (nothing)"]
    is_still = len(records) > 1 and len({record.at_s for record in records}) == 1
    same: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        same.setdefault((record.kind, record.subject, record.text), []).append(record)
    return [
        f"{title}, all at {records[0].at_s:.1f} s of the node's clock:" if is_still else f"{title}:",
        *(f"  {_record_text(first, has_time=not is_still)}{_more(again)}" for first, *again in same.values()),
    ]


def _more(again: Sequence[Record]) -> str:
    return f" (and {len(again)} more of the same, the last is {again[-1].number})" if again else ""


def _record_text(record: Record, *, has_time: bool) -> str:
    rules = f" [{' '.join(record.rules)}]" if record.rules else ""
    time = f"{record.at_s:.1f} s " if has_time else ""
    return f"{record.number} {time}{record.kind} {record.subject}: {record.text}{rules}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
