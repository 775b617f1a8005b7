"""The checks, one module a group; to import this is to have all of them in `kubelet_sim.conformance.check.CHECKS`."""

from __future__ import annotations

from kubelet_sim.conformance.checks import (
    health,
    lifecycle,
    listing,
    names,
    options,
    registration,
    restart,
    scale,
    security,
    shutdown,
    topology,
)

__all__ = [
    "health",
    "lifecycle",
    "listing",
    "names",
    "options",
    "registration",
    "restart",
    "scale",
    "security",
    "shutdown",
    "topology",
]
