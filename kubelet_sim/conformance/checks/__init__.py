"""The checks, one module a group; to import this is to have all of them in `kubelet_sim.conformance.check.CHECKS`."""

from __future__ import annotations

from kubelet_sim.conformance.checks import listing, names, options, registration, scale, security, topology

__all__ = ["listing", "names", "options", "registration", "scale", "security", "topology"]
