"""Every rule of the specification: what it says, where it was read, how sure it is, how far kubelet-sim follows it.

The code that follows a rule names it (`Rules: DM-90` in a docstring, `rule="DM-90"` at a decision), and so does the test
that shows it; `tools/generate_rules_page.py` joins these with the list here. A rule's full text is the specification's;
nothing here decides anything, and nothing of kubelet-sim is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from kubelet_sim.rules import (
    checkpoint,
    device_manager_plugins,
    device_manager_pods,
    device_manager_results,
    device_manager_versions,
    pitfalls,
    pod_resources,
    topology,
)
from kubelet_sim.rules.coverage import ROWS, statuses
from kubelet_sim.rules.rule import PATHS, Mark, Rule, RuleEntry, RuleStatus

__all__ = ["PATHS", "RULES", "Mark", "Rule", "RuleStatus", "collected", "rule"]

_MARKS = tuple(Mark)
"""From the surest to the least sure."""


def collected(entries: Iterable[RuleEntry], status_of: Mapping[str, tuple[RuleStatus, str]]) -> dict[str, Rule]:
    """The rules by id, in the order of the entries.

    Raises:
        ValueError: for an id that comes twice, a rule without status, or a status or pitfall without its rule.
    """
    rules: dict[str, Rule] = {}
    for entry in entries:
        if entry.id in rules:
            raise ValueError(f"{entry.id} is listed twice")
        rules[entry.id] = _pitfall(entry, rules) if entry.mark is None else _plain(entry, entry.mark, status_of)
    stray = [rule_id for rule_id in status_of if rule_id not in rules or rules[rule_id].restates]
    if stray:
        raise ValueError(f"status without a rule that stands for itself: {', '.join(stray)}")
    return rules


def _plain(entry: RuleEntry, mark: Mark, status_of: Mapping[str, tuple[RuleStatus, str]]) -> Rule:
    if entry.id not in status_of:
        raise ValueError(f"{entry.id} has no status")
    status, reason = status_of[entry.id]
    return Rule(entry.id, entry.sentence, entry.source, mark, entry.note, status, reason)


def _pitfall(entry: RuleEntry, rules: Mapping[str, Rule]) -> Rule:
    """Avoided as far as all the rules it restates are followed, and no surer than the least sure of them."""
    missing = [rule_id for rule_id in entry.restates if rule_id not in rules]
    if missing or not entry.restates:
        raise ValueError(
            f"{entry.id} restates rules that are not listed before it: {', '.join(missing) or 'none at all'}"
        )
    restated = [rules[rule_id] for rule_id in entry.restates]
    mark = max((each.mark for each in restated), key=_MARKS.index)
    found = {each.status for each in restated}
    status = found.pop() if len(found) == 1 else RuleStatus.PARTIAL
    open_ids = ", ".join(each.id for each in restated if each.status is not RuleStatus.DONE)
    reason = f"follows {open_ids}" if open_ids else ""
    return Rule(entry.id, entry.sentence, entry.source, mark, "", status, reason, entry.restates)


def _entries() -> Iterator[RuleEntry]:
    yield from device_manager_plugins.RULES
    yield from device_manager_pods.RULES
    yield from device_manager_results.RULES
    yield from device_manager_versions.RULES
    yield from pitfalls.RULES
    yield from checkpoint.RULES
    yield from topology.RULES
    yield from pod_resources.RULES


RULES: Mapping[str, Rule] = MappingProxyType(collected(_entries(), statuses(ROWS)))
"""All rules by id: the device manager's, the checkpoint's, the topology manager's, those of the pod resources API."""


def rule(rule_id: str) -> Rule:
    """The rule of that id, such as `DM-90`.

    Raises:
        KeyError: if there is none.
    """
    try:
        return RULES[rule_id]
    except KeyError:
        raise KeyError(f"no rule {rule_id!r}; ids run from DM-1, CP-1, TM-1 and PR-1") from None
