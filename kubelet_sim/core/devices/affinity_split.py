"""Available devices, split by the NUMA affinity that their container ended up with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from attrs import frozen

from kubelet_sim.core.topology.masks import Mask, touching
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import NO_NUMA_NODE, DeviceID, NumaNode

_NONE: frozenset[DeviceID] = frozenset()


@frozen
class Split:
    """Three sets; each available device is in exactly one."""

    aligned: frozenset[DeviceID]
    """On at least one node of the affinity."""
    unaligned: frozenset[DeviceID]
    """On other nodes only, unknown ones included."""
    no_affinity: AbstractSet[DeviceID]
    """On no node, or only on node −1."""


def partition(
    available: AbstractSet[DeviceID],
    listed: Mapping[DeviceID, Device],
    affinity: Mask | None,
    *,
    filed: Sequence[int] | None = None,
) -> Split:
    """Split by affinity; without one, or if no device of the resource has a node, nothing is aligned or unaligned.

    Args:
        available: what to split.
        listed: all devices of the resource, of whatever health.
        affinity: an empty mask is not the same as none: with it every device that has a node is unaligned.
        filed: an order of nodes, −1 for none among them: a device counts as on the first of them that it is on, and on no
            other. `None`: it counts as on all of its nodes.

    Rules: DM-91, DM-166, TM-64, TM-65
    Follows: filterByAffinity
    """
    if affinity is None or not has_topology(listed.values()):
        return Split(_NONE, _NONE, available)
    ids = frozenset(available)
    nodes = {device: _counted(listed[device], filed) for device in ids if device in listed}
    aligned = frozenset(device for device, on in nodes.items() if touching(on) & affinity)
    elsewhere = frozenset(device for device, on in nodes.items() if any(node != NO_NUMA_NODE for node in on))
    return Split(aligned, elsewhere - aligned, ids - elsewhere - aligned)


def _counted(device: Device, filed: Sequence[int] | None) -> tuple[NumaNode, ...]:
    if filed is None:
        return device.numa_nodes
    on = device.numa_nodes or (NO_NUMA_NODE,)
    return tuple(NumaNode(node) for node in filed if node in on)[:1]


def has_topology(devices: Iterable[Device], *, empty_counts: bool = False) -> bool:
    """Whether any device, of whatever health, names a node.

    Args:
        devices: those of one resource.
        empty_counts: whether a topology without nodes is one all the same, as it was up to 1.25.

    Rules: DM-56, DM-91, DM-169, TM-55
    """
    return any(device.numa_nodes or (empty_counts and device.topology is not None) for device in devices)
