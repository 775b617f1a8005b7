"""The node object: what the API server would hold of this node, as far as resources go."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType

from attrs import field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.resource_name import LONGEST_DOMAIN, is_dns_subdomain

_EMPTY: Mapping[str, Quantity] = MappingProxyType({})

DEFAULT_MACHINE: Mapping[str, Quantity] = MappingProxyType(
    {
        "cpu": Quantity.parse("64"),
        "ephemeral-storage": Quantity.parse("100Gi"),
        "memory": Quantity.parse("256Gi"),
        "pods": Quantity.parse("110"),
    }
)
"""What an emulated machine has, unless a user says otherwise: enough that only devices are scarce."""


DEFAULT_NODE_NAME = "kubelet-sim"


def checked_node_name(name: str) -> str:
    """The name. Raises `UsageError` for one that no node can have."""
    if not is_dns_subdomain(name):
        hint = f"lower-case letters, digits, - and ., at most {LONGEST_DOMAIN}, a letter or digit at both ends"
        raise UsageError(f"{name!r} is no node name: expected {hint}")
    return name


@frozen
class NodeObject:
    """Capacity and allocatable as last computed. It outlives the kubelet process. Rules: DM-64, DM-66"""

    capacity: Mapping[str, Quantity] = field(default=_EMPTY, hash=False)
    allocatable: Mapping[str, Quantity] = field(default=_EMPTY, hash=False)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """What is allocatable as a kubelet counts it: whole, rounded up; cpu in thousandths."""
        return {name: each.milli_value if name == "cpu" else each.value for name, each in self.allocatable.items()}


@frozen
class CapacityAnswer:
    """What the device manager says of its resources in one node status round. Rules: DM-62"""

    capacity: Mapping[ResourceName, int] = field(hash=False)
    """Healthy and unhealthy devices."""
    allocatable: Mapping[ResourceName, int] = field(hash=False)
    """Healthy devices, allocated or not; a resource without a healthy set is missing. Rules: DM-50, DM-62"""
    deleted: tuple[ResourceName, ...]
    """Resources removed in this round, sorted; each is named once and never again. Rules: DM-63"""


@frozen
class NodeStatusRound:
    """The outcome of one node status computation."""

    answer: CapacityAnswer
    node: NodeObject
