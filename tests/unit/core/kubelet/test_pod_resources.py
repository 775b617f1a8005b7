"""Which containers the pod resources API shows, and with what."""

from __future__ import annotations

from kubelet_sim.core.cpus.cpu_manager import CpuAllocations
from kubelet_sim.core.devices.allocations import AllocationRecord
from kubelet_sim.core.kubelet.pod_resources import ResourcesView
from kubelet_sim.core.state import State
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import NO_NUMA_NODE, ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.pod_resources import (
    AllocatableResources,
    ApiVersion,
    ContainerResources,
    DeviceEntry,
    PodResources,
)
from kubelet_sim.model.response import ContainerResponse

DEV = ResourceName("example.com/dev")
A, B, C = DeviceID("a"), DeviceID("b"), DeviceID("c")
POD = Pod(
    "pod",
    "ns",
    PodUID("u"),
    (
        Container(ContainerName("init"), ContainerKind.INIT),
        Container(ContainerName("sidecar"), ContainerKind.SIDECAR),
        Container(ContainerName("later"), ContainerKind.SIDECAR),
    ),
    (Container(ContainerName("main")), Container(ContainerName("idle"))),
)


def _state() -> State:
    state = State()
    devices = {
        "init": {NO_NUMA_NODE: (C,)},
        "sidecar": {NO_NUMA_NODE: (A,)},
        "main": {NumaNode(0): (B,), NumaNode(1): (B,)},
    }
    for container, record in devices.items():
        state.allocations.enter((POD.uid, ContainerName(container), DEV), AllocationRecord(record, ContainerResponse()))
    return state


def test_sidecars_come_first_and_init_containers_not_at_all() -> None:
    """Also those that hold nothing are shown, an init container not even while it holds something.

    Rules: PR-14, PR-15, PR-21, PR-30
    """
    assert ResourcesView(_state()).pod(POD) == PodResources(
        "pod",
        "ns",
        (
            ContainerResources("sidecar", (DeviceEntry(DEV, (A,)),)),
            ContainerResources("later"),
            ContainerResources(
                "main", (DeviceEntry(DEV, (B,), (NumaNode(0),)), DeviceEntry(DEV, (B,), (NumaNode(1),)))
            ),
            ContainerResources("idle"),
        ),
    )


def test_the_older_version_shows_app_containers_without_topology() -> None:
    """A device on two nodes stands there twice, and nothing tells the two apart. Rules: PR-9, PR-31"""
    bare = DeviceEntry(DEV, (B,))
    containers = (ContainerResources("main", (bare, bare)), ContainerResources("idle"))
    assert ResourcesView(_state()).pods([POD], ApiVersion.V1ALPHA1) == (PodResources("pod", "ns", containers),)


def test_a_pod_that_uses_nothing_is_shown() -> None:
    """With its containers, of which nothing is said. Rules: PR-11, PR-14"""
    empty = ResourcesView(State()).pods([POD])
    assert [each.name for each in empty[0].containers] == ["sidecar", "later", "main", "idle"]
    assert all(each == ContainerResources(each.name) for each in empty[0].containers)
    assert ResourcesView(State()).pods([]) == ()


def test_exclusive_cpus_have_numbers() -> None:
    """They are counted through node by node; a container on the shared ones has none. Rules: PR-20, PR-27"""
    cpus = CpuAllocations({1: 2, 0: 3})
    cpus.held[POD.uid, ContainerName("main")] = frozenset({(1, 1), (0, 2)})
    view = ResourcesView(State(), cpus)
    assert [each.cpu_ids for each in view.pod(POD).containers] == [(), (), (2, 4), ()]
    assert view.allocatable() == AllocatableResources(cpu_ids=(0, 1, 2, 3, 4))
    assert [each.cpu_ids for each in view.pods([POD], ApiVersion.V1ALPHA1)[0].containers] == [(), ()]


def test_what_is_allocatable_is_not_what_is_free() -> None:
    """A device that is in use is shown as before; no cpus without a CPU manager. Rules: PR-20, PR-25, PR-30"""
    state = _state()
    state.healthy[DEV] = frozenset({A, B})
    state.devices[DEV] = {A: Device(A), B: Device(B, topology=(NumaNode(1), NumaNode(0)))}
    shown = (DeviceEntry(DEV, (A,)), DeviceEntry(DEV, (B,), (NumaNode(1),)), DeviceEntry(DEV, (B,), (NumaNode(0),)))
    assert ResourcesView(state).allocatable() == AllocatableResources(shown)
