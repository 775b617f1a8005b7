"""A wrong step for people: where it stands, what was expected, what came, and what had happened before."""

from __future__ import annotations

import json
from typing import Any

from kubelet_sim.manifests.errors import printable
from kubelet_sim.scenario.model import NO_EXPECTATION
from kubelet_sim.scenario.player import Played, PlayedStep
from kubelet_sim.transcript import Record


def wrong_step_text(played: Played, wrong: PlayedStep | None = None) -> str:
    """Several lines, control characters escaped, about that step or the first wrong one; empty if there is none."""
    wrong = wrong or played.wrong
    if wrong is None:
        return ""
    where = f"{wrong.step.place or played.story.source or 'story'}: {played.story.name}, step {wrong.step.number}: {wrong.step.do}"
    lines = [where, *_outcome(wrong), "journal since the step before:"]
    lines += [f"  {_record_text(record)}" for record in wrong.journal] or ["  (nothing)"]
    for name, output in wrong.output.items():
        lines += [f"what {name} said last:", *(f"  {line}" for line in output)]
    return "\n".join(printable(line) for line in lines)


def _outcome(wrong: PlayedStep) -> list[str]:
    came = f"nothing: {wrong.failure}" if wrong.failure else _compact(wrong.came)
    if wrong.step.expect is NO_EXPECTATION:
        return [f"  came:     {came}"]
    return [f"  expected: {_compact(wrong.step.expect)}", f"  came:     {came}"]


def _record_text(record: Record) -> str:
    rules = f" [{' '.join(record.rules)}]" if record.rules else ""
    return f"{record.number} {record.at_s:.1f} s {record.kind} {record.subject}: {record.text}{rules}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
