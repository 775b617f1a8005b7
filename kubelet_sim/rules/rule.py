"""What a rule is, and the short forms in which the data modules write one.

The data modules know what a rule says, where it was read and how sure it is; how far kubelet-sim follows it stands in
`coverage.py`, because that changes with every release of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from attrs import frozen

PATHS: Mapping[str, str] = MappingProxyType(
    {
        "DM/": "pkg/kubelet/cm/devicemanager/",
        "V1/": "pkg/kubelet/cm/devicemanager/plugin/v1beta1/",
        "CM/": "pkg/kubelet/cm/",
        "TM/": "pkg/kubelet/cm/topologymanager/",
        "PM/": "pkg/kubelet/pluginmanager/",
        "KL/": "pkg/kubelet/",
        "KR/": "pkg/kubelet/kuberuntime/",
        "API/": "staging/src/k8s.io/kubelet/pkg/apis/",
    }
)
"""The abbreviations in `Rule.source`: paths inside the `kubernetes/kubernetes` repository."""


class Mark(Enum):
    """How sure a rule is, the surest first."""

    RUN = "run"
    """Seen when v1.36.2 ran."""
    READ = "read"
    """Read in the source of that release."""
    DERIVED = "derived"
    """Concluded from several places of the source."""
    THREAD = "thread"
    """Told by an issue or a pull request."""


class RuleStatus(Enum):
    """How far kubelet-sim follows a rule."""

    DONE = "done"
    PARTIAL = "partial"
    LEFT_OUT = "left out"


@frozen
class RuleEntry:
    """A rule as a data module writes it, before its status is known."""

    id: str
    sentence: str
    source: str
    mark: Mark | None
    """`None` for a pitfall: it takes the mark of what it restates."""
    note: str = ""
    restates: tuple[str, ...] = ()


@frozen
class Rule:
    """One rule of the specification, and what kubelet-sim makes of it."""

    id: str
    """`DM-90`: the specification's file (DM, CP, TM, PR) and the number in it."""
    sentence: str
    """The rule in one sentence; a reminder, not the whole of it."""
    source: str
    """Where it was read, parts separated by `; `: `DM/manager.go#devicesToAllocate` (a path, shortened by `PATHS`, and
    its functions), `DM-14` (follows from that rule), `#135437` (a thread of kubernetes/kubernetes)."""
    mark: Mark
    mark_note: str
    """What the mark is limited to; empty if it holds for the whole rule."""
    status: RuleStatus
    reason: str
    """Why it is not done; empty exactly when it is."""
    restates: tuple[str, ...] = ()
    """The rules that a pitfall points at; empty for a rule that stands for itself."""


def run(rule_id: str, sentence: str, source: str, *, note: str = "") -> RuleEntry:
    """A rule that was seen when the release ran; `note` limits that to a part of it."""
    return RuleEntry(rule_id, sentence, source, Mark.RUN, note)


def read(rule_id: str, sentence: str, source: str, *, note: str = "") -> RuleEntry:
    """A rule that was read in the source."""
    return RuleEntry(rule_id, sentence, source, Mark.READ, note)


def derived(rule_id: str, sentence: str, source: str, *, note: str = "") -> RuleEntry:
    """A rule that was concluded from the source."""
    return RuleEntry(rule_id, sentence, source, Mark.DERIVED, note)


def thread(rule_id: str, sentence: str, source: str, *, note: str = "") -> RuleEntry:
    """A rule that is known from a thread only."""
    return RuleEntry(rule_id, sentence, source, Mark.THREAD, note)


def pitfall(rule_id: str, sentence: str, *restates: str) -> RuleEntry:
    """What is easily done wrong, and the rules that say how it is."""
    return RuleEntry(rule_id, sentence, "; ".join(restates), None, restates=restates)
