"""Whether the books of a node are right: what holds at every moment, whatever was interrupted before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from kubelet_sim.core.checkpoint_file.decoder import decode
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.model.views import AllocationView, NodeSnapshot
from kubelet_sim.node.root_directory.checkpoint_file import read_file
from kubelet_sim.node.sync import SyncNode

Answer = Callable[[str, tuple[str, ...]], ContainerSpec]
"""What a plugin answers to Allocate, by resource and ids."""


def ids(view: AllocationView) -> tuple[str, ...]:
    """The devices of a record, sorted."""
    return tuple(sorted({device for _, devices in view.devices for device in devices}))


def held(now: NodeSnapshot) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Ids by pod uid, container and resource."""
    return {(view.pod_uid, view.container, view.resource): ids(view) for view in now.allocations}


def check_records(now: NodeSnapshot, pods: Mapping[str, Pod]) -> None:
    """Every pod that lives holds what it asks for, and no device is in two pods that live."""
    living = {view.uid: view for view in now.pods if view.phase not in {"Succeeded", "Failed"}}
    holders: Counter[tuple[str, str]] = Counter()
    records = held(now)
    for uid in living:
        mine: set[tuple[str, str]] = set()
        for container in pods[uid].all_containers():
            for resource, amount in container.limits.items():
                found = records.get((uid, container.name, resource), ())
                assert len(found) == amount.value, f"{uid} holds {found} of {resource}, and asked for {amount}"
                mine.update((resource, device) for device in found)
        holders.update(mine)
    twice = [device for device, count in holders.items() if count > 1]
    assert not twice, f"in two pods: {twice}"


def check_specs(node: SyncNode, now: NodeSnapshot, answer: Answer) -> None:
    """Every container that runs was created with what the plugin answered for the very devices that it holds."""
    records = held(now)
    for view in now.pods:
        for container in view.containers:
            if container.state != "running" or view.phase == "Failed":
                continue
            resources = [(key[2], found) for key, found in records.items() if key[:2] == (view.uid, container.name)]
            for resource, found in resources:
                came = node.container_spec(view.name, container.name)
                assert _parts(came) == _parts(answer(resource, found)), f"{view.name}/{container.name}: {came}"


def _parts(spec: ContainerSpec) -> list[frozenset[object]]:
    """Without the order in which the plugin had them."""
    return [frozenset(part) for part in (spec.envs, spec.mounts, spec.devices, spec.annotations, spec.cdi_devices)]


def check_checkpoint(now: NodeSnapshot, file: Path) -> None:
    """What lives is in the checkpoint as it is in the books."""
    document = decode(read_file(file))
    stored = {
        (entry.pod_uid, entry.container, entry.resource): tuple(
            sorted({device for devices in (entry.devices or {}).values() for device in devices or ()})
        )
        for entry in document.entries or ()
    }
    living = {view.uid for view in now.pods if view.phase not in {"Succeeded", "Failed"}}
    for key, found in held(now).items():
        if key[0] in living:
            assert stored.get(key) == found, f"the checkpoint has {stored.get(key)} for {key}, the books {found}"


def check_capacity(node: SyncNode, counts: Mapping[str, int]) -> None:
    """The node object has every device of the plugins that are there, all of them allocatable."""
    node.status_round()
    now = node.status()
    capacity, allocatable = dict(now.capacity), dict(now.allocatable)
    for resource, count in counts.items():
        assert (capacity[resource], allocatable[resource]) == (str(count), str(count))
