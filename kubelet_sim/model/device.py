"""A device as a plugin lists it: an id, a health, NUMA nodes."""

from __future__ import annotations

from attrs import frozen

from kubelet_sim.model.ids import DeviceID, NumaNode

HEALTHY = "Healthy"
UNHEALTHY = "Unhealthy"


@frozen
class Device:
    """One entry of a ListAndWatch message, kept as it was sent."""

    id: DeviceID
    health: str = HEALTHY
    """As sent; only `Healthy`, to the letter, is healthy. Rules: DM-52"""
    topology: tuple[NumaNode, ...] | None = None
    """NUMA nodes in the order sent. `None`: the field was absent; empty: it was there without nodes. Rules: DM-56"""

    @property
    def is_healthy(self) -> bool:
        """Whether the device can be allocated. Rules: DM-52"""
        return self.health == HEALTHY

    @property
    def numa_nodes(self) -> tuple[NumaNode, ...]:
        """The nodes, empty for a device without topology of either kind. Rules: DM-56"""
        return self.topology or ()
