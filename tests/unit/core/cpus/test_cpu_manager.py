"""The static CPU provider, alone and beside devices."""

from __future__ import annotations

from typing import Any

from kubelet_sim.core.cpus.cpu_manager import CpuAllocations, CpuProvider, exclusive_cpus
from kubelet_sim.core.effects import CallAllocate, WriteCheckpoint
from kubelet_sim.core.facts import DevicesListed, SourcesReadyChanged
from kubelet_sim.core.kubelet.kubelet import Kubelet
from kubelet_sim.core.topology.alignment import Alignment
from kubelet_sim.core.topology.hints import Hint
from kubelet_sim.core.topology.settings import NumaNodeInfo, TopologySettings
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ClientID, ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.node import NodeObject
from kubelet_sim.model.plugin import API_VERSION, AllocateAnswer, PluginOptions, Registration
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.profiles import V1_36
from kubelet_sim.transcript import Decision

DEV = ResourceName("example.com/dev")
MACHINE = {name: Quantity.parse(text) for name, text in {"cpu": "8", "memory": "8Gi", "pods": "110"}.items()}


class _Journal(list[Decision]):
    pass


def _container(name: str, kind: ContainerKind = ContainerKind.APP, **amounts: str) -> Container:
    quantities = {key.replace("dev", DEV): Quantity.parse(text) for key, text in {"memory": "1Gi", **amounts}.items()}
    return Container(ContainerName(name), kind, quantities, quantities)


def _pod(name: str, *containers: Container) -> Pod:
    init = tuple(each for each in containers if each.kind is not ContainerKind.APP)
    app = tuple(each for each in containers if each.kind is ContainerKind.APP)
    return Pod(name, "default", PodUID(name), init, app)


def _manager(policy: str, **choices: Any) -> tuple[Kubelet, CpuAllocations]:
    cpus = CpuAllocations({0: 4, 1: 4})
    manager = Kubelet(
        V1_36,
        _Journal(),
        node=NodeObject(MACHINE, MACHINE),
        machine=MACHINE,
        alignment=Alignment(TopologySettings(policy, **choices), (NumaNodeInfo(0), NumaNodeInfo(1)), cpus),
    )
    manager.apply(SourcesReadyChanged(ready=True))
    return manager, cpus


def _serve(manager: Kubelet, *devices: tuple[str, int]) -> None:
    walk = manager.register(Registration(API_VERSION, "p.sock", DEV))
    next(walk)
    walk.send(None)
    walk.send(PluginOptions())
    listed = tuple(Device(DeviceID(name), topology=(NumaNode(node),)) for name, node in devices)
    manager.apply(DevicesListed(ClientID(1), listed))


def _admit(manager: Kubelet, pod: Pod) -> Admission:
    walk = manager.admit(pod)
    try:
        effect = next(walk)
        while True:
            assert isinstance(effect, CallAllocate | WriteCheckpoint)
            answer = AllocateAnswer((ContainerResponse(),)) if isinstance(effect, CallAllocate) else None
            effect = walk.send(answer)
    except StopIteration as end:
        verdict: Admission = end.value
        return verdict


def test_only_whole_cpus_of_guaranteed_pods_are_exclusive() -> None:
    """Fractions, and pods that may use more than they ask for, share what is left."""
    whole = _container("c", cpu="2")
    assert exclusive_cpus(_pod("p", whole), whole) == 2
    fraction = _container("c", cpu="1500m")
    assert exclusive_cpus(_pod("p", fraction), fraction) == 0
    burst = Container(ContainerName("c"), limits={"cpu": Quantity.of(4)}, requests={"cpu": Quantity.of(2)})
    assert exclusive_cpus(_pod("p", burst), burst) == 0


def test_hints_are_the_nodes_that_have_enough() -> None:
    """Two of four cpus a node: either node is preferred, both together are not. Rules: TM-56"""
    manager, cpus = _manager("best-effort")
    pod = _pod("p", _container("c", cpu="2"))
    provider = CpuProvider(manager.context, cpus)
    assert provider.hints(pod, pod.containers[0]) == {
        "cpu": [Hint(0b01, is_preferred=True), Hint(0b10, is_preferred=True), Hint(0b11, is_preferred=False)]
    }
    assert provider.pod_hints(pod) == provider.hints(pod, pod.containers[0])
    plain = _pod("q", Container(ContainerName("c")))
    assert provider.hints(plain, plain.containers[0]) == provider.pod_hints(plain) == {}


def test_devices_and_cpus_come_from_one_node() -> None:
    """The only free device is on node 1, so the cpus come from there, too. Rules: TM-21, TM-32, TM-39"""
    manager, cpus = _manager("single-numa-node")
    _serve(manager, ("a", 1))
    pod = _pod("p", _container("c", cpu="2", dev="1"))
    assert _admit(manager, pod) == Admitted()
    assert cpus.held[pod.uid, ContainerName("c")] == {(1, 0), (1, 1)}


def test_a_pod_is_refused_if_its_cpus_are_elsewhere() -> None:
    """Node 1 has the device, but not enough cpus for it: no common node. Rules: TM-31, TM-42"""
    manager, _ = _manager("restricted")
    _serve(manager, ("a", 1), ("b", 1))
    assert _admit(manager, _pod("first", _container("c", cpu="3", dev="1"))) == Admitted()
    refused = _admit(manager, _pod("second", _container("c", cpu="2", dev="1")))
    assert isinstance(refused, Rejected)
    assert refused.reason == "TopologyAffinityError"


def test_too_few_cpus_refuse_a_pod_after_its_devices_were_allocated() -> None:
    """The device manager is asked first, so its Allocate call has already been made. Rules: DM-75, TM-10, TM-43"""
    manager, _ = _manager("none")
    _serve(manager, ("a", 0))
    refused = _admit(manager, _pod("p", _container("c", cpu="9", dev="1")))
    text = "Allocate failed due to not enough cpus available to satisfy request: requested=9, available=8"
    assert refused == Rejected("UnexpectedAdmissionError", f"{text}, which is unexpected")
    assert manager.state.allocations.record(PodUID("p"), ContainerName("c"), DEV) is not None


def test_an_init_container_hands_its_cpus_on() -> None:
    """Later containers take them over, and cpus come free with their pod when somebody asks."""
    manager, cpus = _manager("best-effort")
    pod = _pod("p", _container("i", ContainerKind.INIT, cpu="4"), _container("c", cpu="4"))
    assert _admit(manager, pod) == Admitted()
    assert cpus.held[pod.uid, ContainerName("i")] == cpus.held[pod.uid, ContainerName("c")]
    manager.state.active_pods.clear()
    assert _admit(manager, _pod("q", _container("c", cpu="8"))) == Admitted()
