"""Checks of the group Topology: which NUMA nodes devices say they are on, and what a topology manager makes of that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kubelet_sim.conformance.check import Group, Level
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.checks.lists import SHOWN, report, some
from kubelet_sim.conformance.offline_admission import verdict
from kubelet_sim.core.topology.masks import LAST_NODE
from kubelet_sim.model.admission import Rejected
from kubelet_sim.model.device import Device

GROUP = Group.TOPOLOGY
POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_NODES = Path("/sys/devices/system/node")
_ALL_REJECTED = (
    "Under the policies `restricted` and `single-numa-node` every pod that asks for such a device is rejected."
)


def machine_nodes(ctx: CheckContext) -> tuple[int, ...]:
    """The NUMA nodes of the machine: as the user says, or this machine's; 0 if it does not tell."""
    if ctx.config.numa_nodes:
        return ctx.config.numa_nodes
    found = (path.name.removeprefix("node") for path in _NODES.glob("node[0-9]*"))
    return tuple(sorted(int(number) for number in found if number.isdigit())) or (0,)


@GROUP.check(
    "topo-no-negative-node",
    "No device is on a NUMA node below 0",
    level=Level.ERROR,
    what="The topology of every device in every list.",
    why="A device whose node is not known is often reported on −1, as sysfs has it. The kubelet takes that for a node that no "
    f"affinity can have. {_ALL_REJECTED}",
    fix="Leave the field `topology` out for a device whose node is not known.",
    source="the code of the kubelet; public reports",
    rules="DM-56 DM-91",
    is_quick=True,
)
async def no_negative_node(ctx: CheckContext) -> None:
    report(
        ctx,
        lambda device: any(node < 0 for node in device.numa_nodes),
        lambda resource, ids: f"{resource}: {some(ids)} on a NUMA node below 0; expected no topology at all",
        Level.ERROR,
    )


@GROUP.check(
    "topo-known-node",
    "Every NUMA node of a device is one of the machine's",
    level=Level.ERROR,
    what="The nodes of every device, held against the machine's: those of --numa-nodes, or of the machine the suite runs on.",
    why=f"An affinity is made of the machine's nodes, at most 64. {_ALL_REJECTED}",
    fix="Report the node that the kernel names for the device, and none that it does not have.",
    source="the code of the kubelet",
    rules="DM-56 TM-56",
    is_quick=True,
)
async def known_node(ctx: CheckContext) -> None:
    known = machine_nodes(ctx)
    ctx.note(f"the machine's NUMA nodes: {', '.join(map(str, known))}")
    report(
        ctx,
        lambda device: any(node >= 0 and (node not in known or node > LAST_NODE) for node in device.numa_nodes),
        lambda resource, ids: f"{resource}: {some(ids)} on NUMA nodes that the machine has not",
        Level.ERROR,
    )


@GROUP.check(
    "topo-empty-vs-nil",
    "A device without a known node has no topology, rather than one without nodes",
    level=Level.ERROR,
    what="Whether any device has the field `topology` with an empty list of nodes. An error for kubelets up to 1.25, else a warning.",
    why="Up to 1.25 the kubelet took it for a device that can be aligned with nothing, and pods were rejected under strict policies. "
    "Since 1.26 it is harmless there, but the device is missing from what GetAllocatableResources lists.",
    fix="Leave the field out instead of sending an empty message.",
    source="the code of the kubelet; public reports",
    rules="DM-56 DM-71 DM-169 PR-25",
    is_quick=True,
)
async def empty_topology(ctx: CheckContext) -> None:
    level = Level.ERROR if ctx.profile.empty_topology_is_impossible else Level.WARNING
    report(
        ctx,
        lambda device: device.topology == (),
        lambda resource, ids: (
            f"{resource}: {some(ids)} with a topology without nodes; expected none, or one with nodes"
        ),
        level,
    )


@GROUP.check(
    "topo-all-or-none",
    "Within a resource either all devices have NUMA nodes or none has",
    level=Level.WARNING,
    what="The last list of each resource.",
    why="One device with a node is enough to make the kubelet ask for alignment. The others can be aligned with nothing, so that "
    "devices stay unused while pods are rejected, or come last.",
    fix="Find out the node of every device, or of none.",
    source="the code of the kubelet",
    rules="DM-91 DM-120",
)
async def all_or_none(ctx: CheckContext) -> None:
    for resource in ctx.resources:
        current = ctx.seen.current_list(resource)
        devices = () if current is None else current.devices
        without = [str(device.id) for device in devices if not device.numa_nodes]
        if 0 < len(without) < len(devices):
            text = f"{resource}: {some(without)} of {len(devices)} devices without a NUMA node, the others with one"
            ctx.warning(text, resource=resource, ids=without[:SHOWN], count=len(without))


@GROUP.check(
    "topo-stable",
    "A device stays on its NUMA nodes",
    level=Level.WARNING,
    what="The nodes of each device in all lists of the run.",
    why="A container keeps the nodes that its devices had when it was admitted; after a change the books and the hints of the node "
    "do not fit each other.",
    fix="Find out a device's nodes once, and keep them with its id.",
    source="the code of the kubelet",
    rules="DM-56 DM-57",
)
async def stable(ctx: CheckContext) -> None:
    for resource in ctx.resources:
        known: dict[str, frozenset[int]] = {}
        moved: dict[str, None] = {}
        for listed in ctx.seen.lists_of(resource):
            for device in listed.devices:
                nodes = frozenset(map(int, device.numa_nodes))
                if known.setdefault(str(device.id), nodes) != nodes:
                    moved[str(device.id)] = None
        if moved:
            ids = list(moved)
            text = f"{resource}: {some(ids)} moved to other NUMA nodes from one list to another"
            ctx.warning(text, resource=resource, ids=ids[:SHOWN], count=len(ids))


@GROUP.check(
    "topo-admits-under-policy",
    "Under every topology policy a pod with one device is admitted while a device is free",
    level=Level.ERROR,
    what="The last list of each resource is given to the device manager of an empty node four times, once for each policy, with a pod "
    "that asks for one device. The plugin is not called.",
    why="Clusters choose the policy. What works with `none` is then rejected with TopologyAffinityError, on every node.",
    fix="Report nodes that the machine has, or none: see the other checks of this group.",
    source="the code of the kubelet; public reports",
    rules="DM-121 DM-122 TM-42",
    is_quick=True,
)
async def admits_under_policy(ctx: CheckContext) -> None:
    nodes = machine_nodes(ctx)
    judged = 0
    for resource in ctx.resources:
        current = ctx.seen.current_list(resource)
        if current is None or not _any(current.devices, lambda device: device.is_healthy):
            continue
        judged += 1
        for policy in POLICIES:
            came = verdict(ctx.profile, policy, nodes, resource, current.devices)
            if isinstance(came, Rejected):
                text = f"{resource}: under policy {policy} a pod with one device is rejected: {came.reason}: {came.message}"
                ctx.error(text, resource=resource, policy=policy, reason=came.reason)
    if not judged:
        ctx.skip("needs a healthy device")


def _any(devices: tuple[Device, ...], holds: Callable[[Device], bool]) -> bool:
    return any(map(holds, devices))
