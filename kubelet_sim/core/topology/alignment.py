"""What the topology manager has to go by: its settings, the machine's NUMA nodes, and who aligns besides devices."""

from __future__ import annotations

from attrs import frozen

from kubelet_sim.core.cpus.cpu_manager import CpuAllocations
from kubelet_sim.core.topology.settings import NO_ALIGNMENT, NumaNodeInfo, TopologySettings


@frozen
class Alignment:
    """Policy none on a machine with one NUMA node, unless said otherwise."""

    topology: TopologySettings = NO_ALIGNMENT
    numa: tuple[NumaNodeInfo, ...] = (NumaNodeInfo(0),)
    """In the machine's own order."""
    cpus: CpuAllocations | None = None
    """For a static CPU manager beside the device manager; `None`: there is none."""
