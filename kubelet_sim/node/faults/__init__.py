"""Faults: what breaks plugins and is hard to make happen on a real node, each under a name.

A family is a module; importing this package enters them all.
"""

from kubelet_sim.node.faults import (
    calls,
    checkpoint,
    devices,
    extra_calls,
    files,
    kubelet,
    order,
    pod_resources,
    process,
    register,
    streams,
)
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.book import FaultBook
from kubelet_sim.node.faults.kinds import FAMILIES, KINDS, FaultKind, find

__all__ = [
    "FAMILIES",
    "KINDS",
    "ActiveFault",
    "FaultBook",
    "FaultKind",
    "calls",
    "checkpoint",
    "devices",
    "extra_calls",
    "files",
    "find",
    "kubelet",
    "order",
    "pod_resources",
    "process",
    "register",
    "streams",
]
