"""The faults, one module for each group of checks; to import this is to have all of them in `FAULTS`."""

from __future__ import annotations

from plugins_examples.faulty.faults import (
    allocate,
    health,
    lifecycle,
    listing,
    living,
    names,
    options,
    pre_start,
    preferred,
    registration,
    restart,
    scale,
    security,
    shutdown,
    spec,
    topology,
)
from plugins_examples.faulty.faults.table import FAULTS, Fault, fault

__all__ = [
    "FAULTS",
    "Fault",
    "allocate",
    "fault",
    "health",
    "lifecycle",
    "listing",
    "living",
    "names",
    "options",
    "pre_start",
    "preferred",
    "registration",
    "restart",
    "scale",
    "security",
    "shutdown",
    "spec",
    "topology",
]
