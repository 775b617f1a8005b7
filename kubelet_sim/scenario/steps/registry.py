"""All steps that a story can have: the entries that stand in the modules of the subjects.

The reader of stories, the stage, the reference page and the schema for editors all ask `STEPS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kubelet_sim.scenario.steps import (
    directory,
    faults,
    kubelet,
    kubelet_looks,
    node_looks,
    plugins,
    pods,
    registrations,
)
from kubelet_sim.scenario.steps.step_kind import StepKind

_SUBJECTS = (
    plugins,
    registrations,
    kubelet,
    pods,
    kubelet_looks,
    node_looks,
    directory,
    faults,
)
STEPS: Mapping[str, StepKind] = MappingProxyType(
    {entry.name: entry for module in _SUBJECTS for entry in vars(module).values() if isinstance(entry, StepKind)}
)
"""Every step there is, by the word after `do`."""
