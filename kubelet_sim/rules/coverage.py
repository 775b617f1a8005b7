"""How far kubelet-sim follows each rule: the table to edit when that changes.

A row is ids, status, reason. Ids are single ones or runs (`DM-1…DM-3`), separated by spaces. Each rule that stands for
itself is in exactly one row, or the import of `kubelet_sim.rules` fails; pitfalls follow what they restate. A reason is
written for users, and is empty exactly when a rule is done.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubelet_sim.rules.rule import RuleStatus

DONE, PARTIAL, LEFT_OUT = RuleStatus.DONE, RuleStatus.PARTIAL, RuleStatus.LEFT_OUT

ROWS: tuple[tuple[str, RuleStatus, str], ...] = (
    # The directory, Register, connections, lists
    ("DM-1…DM-3 DM-5…DM-61", DONE, ""),
    ("DM-4", LEFT_OUT, "kubelet-sim sets no SELinux labels"),
    # Capacity and the node object
    ("DM-62…DM-71", DONE, ""),
    # Admission
    ("DM-72…DM-75 DM-77…DM-102", DONE, ""),
    ("DM-76", LEFT_OUT, "pod-level resource managers (alpha, off) are not emulated"),
    # Creating containers, restarts, reclaim
    ("DM-103…DM-122", DONE, ""),
    # Merged responses and the container's settings
    ("DM-123…DM-134", DONE, ""),
    # The checkpoint
    ("DM-135…DM-145 CP-1…CP-19", DONE, ""),
    # What else a kubelet does
    ("DM-146…DM-161", DONE, ""),
    (
        "DM-162",
        LEFT_OUT,
        "the transcript tells the same in words of its own, with rules; a kubelet's log is not imitated",
    ),
    # Other releases
    ("DM-163 DM-166…DM-169 DM-171…DM-173 DM-175…DM-181", DONE, ""),
    ("DM-164", PARTIAL, "but for the path of the socket on Windows"),
    ("DM-165", PARTIAL, "1.22 was not read, so it is as 1.21 is; the race of its first patch is not emulated"),
    (
        "DM-170",
        PARTIAL,
        "that hints take a lock cannot be seen here, and claims have no CDI devices on an emulated node",
    ),
    (
        "DM-174",
        PARTIAL,
        "the first node status comes after the device manager has started, in every release; before it with --runtime-after only",
    ),
    ("TM-1…TM-46 TM-48…TM-68", DONE, ""),
    ("TM-47", LEFT_OUT, "pod-level resource managers (alpha, off) are not emulated"),
    # The pod resources API
    ("PR-1…PR-27 PR-30…PR-32", DONE, ""),
    ("PR-28", PARTIAL, "a node without memory manager leaves the field empty (PR-30); the client shows a real node's"),
    ("PR-29", PARTIAL, "a node without claims leaves the field empty (PR-30); the client shows a real node's"),
)


def statuses(rows: Iterable[tuple[str, RuleStatus, str]]) -> dict[str, tuple[RuleStatus, str]]:
    """RuleStatus and reason by rule id, in the order of the rows.

    Raises:
        ValueError: for an id in two rows, a run that ends before it begins, or a reason that is missing or too much.
    """
    found: dict[str, tuple[RuleStatus, str]] = {}
    for ids, status, reason in rows:
        if (status is RuleStatus.DONE) == bool(reason):
            raise ValueError(f"{ids}: {status.value} with the reason {reason!r}")
        for rule_id in _expanded(ids):
            if rule_id in found:
                raise ValueError(f"{rule_id} has two rows")
            found[rule_id] = (status, reason)
    return found


def _expanded(ids: str) -> Iterable[str]:
    for part in ids.split():
        first, _, last = part.partition("…")
        family, _, low = first.partition("-")
        last_family, _, high = (last or first).partition("-")
        if family != last_family or int(low) > int(high):
            raise ValueError(f"{part} is no run of rules")
        yield from (f"{family}-{number}" for number in range(int(low), int(high) + 1))
