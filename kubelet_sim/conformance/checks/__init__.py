"""The checks, one module a group; to import this is to have all of them in `kubelet_sim.conformance.check.CHECKS`."""

from __future__ import annotations

from kubelet_sim.conformance.checks import (
    allocate,
    allocate_content,
    consumers,
    health,
    lifecycle,
    names,
    options,
    pre_start,
    preferred,
    registration,
    restart,
    scale,
    security,
    shutdown,
    spec_content,
    spec_files,
    streams,
    takeover,
    topology,
)
from kubelet_sim.conformance.checks import lists as listing

__all__ = [
    "allocate",
    "allocate_content",
    "consumers",
    "health",
    "lifecycle",
    "listing",
    "names",
    "options",
    "pre_start",
    "preferred",
    "registration",
    "restart",
    "scale",
    "security",
    "shutdown",
    "spec_content",
    "spec_files",
    "streams",
    "takeover",
    "topology",
]
