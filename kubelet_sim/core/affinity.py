"""Available devices, split by the NUMA affinity that their container ended up with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import frozen

from kubelet_sim.core.topology.masks import Mask, touching
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import NO_NUMA_NODE, DeviceID

_NONE: frozenset[DeviceID] = frozenset()


@frozen
class Split:
    """Three sets; each available device is in exactly one."""

    aligned: frozenset[DeviceID]
    """On at least one node of the affinity."""
    unaligned: frozenset[DeviceID]
    """On other nodes only, unknown ones included."""
    no_affinity: frozenset[DeviceID]
    """On no node, or only on node −1."""


def partition(available: Iterable[DeviceID], listed: Mapping[DeviceID, Device], affinity: Mask | None) -> Split:
    """Split by affinity; without one, or if no device of the resource has a node, nothing is aligned or unaligned.

    Args:
        listed: all devices of the resource, of whatever health.
        affinity: an empty mask is not the same as none: with it every device that has a node is unaligned.

    Rules: DM-91, TM-64, TM-65
    Follows: filterByAffinity
    """
    ids = frozenset(available)
    if affinity is None or not has_topology(listed.values()):
        return Split(_NONE, _NONE, ids)
    nodes = {device: listed[device].numa_nodes for device in ids if device in listed}
    aligned = frozenset(device for device, on in nodes.items() if touching(on) & affinity)
    elsewhere = frozenset(device for device, on in nodes.items() if any(node != NO_NUMA_NODE for node in on))
    return Split(aligned, elsewhere - aligned, ids - elsewhere - aligned)


def has_topology(devices: Iterable[Device]) -> bool:
    """Whether any device, of whatever health, names a node. Rules: DM-56, DM-91, TM-55"""
    return any(device.numa_nodes for device in devices)
