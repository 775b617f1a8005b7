"""The topology manager, the hints of the device manager and the choice of devices, against recorded answers."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import pytest
from attrs import define, field

from kubelet_sim.core.devices.affinity_split import partition
from kubelet_sim.core.devices.allocations import AllocationRecord
from kubelet_sim.core.devices.device_hints import container_hints, pod_hints
from kubelet_sim.core.devices.device_selection import choosing
from kubelet_sim.core.devices.endpoint import Endpoint
from kubelet_sim.core.effects import CallGetPreferredAllocation, Effect, Walk
from kubelet_sim.core.ports import Sorted
from kubelet_sim.core.state import Context, State
from kubelet_sim.core.topology import masks
from kubelet_sim.core.topology.hint_merge import best_count, only_single_nodes
from kubelet_sim.core.topology.hints import Hint, HintsByResource, flattened
from kubelet_sim.core.topology.settings import NumaNodeInfo, Policy, TopologySettings, merger
from kubelet_sim.core.topology.topology_manager import TopologyManager
from kubelet_sim.errors import AllocationFailed, RpcFailed, TopologyRefused, UsageError
from kubelet_sim.model.admission import Rejected
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ClientID, ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.plugin import PluginOptions
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.profiles import V1_36
from kubelet_sim.transcript import Decision

VECTOR_FILES = {
    "bitmask": "topology.json#bitmask",
    "policy_merge": "topology.json#policy_merge",
    "new_manager": "topology.json#new_manager",
    "device_hints": "topology.json#device_hints",
    "filter_by_affinity": "topology.json#filter_by_affinity",
    "devices_to_allocate": "topology.json#devices_to_allocate",
    "admit": "topology.json#admit",
}


class _Nobody:
    """A journal that nobody reads."""

    def append(self, decision: Decision) -> None:
        """Forget it."""


def _context(state: State, **choices: Any) -> Context:
    return Context(state, V1_36, Sorted(), _Nobody(), **choices)


def _machine(nodes: Sequence[Mapping[str, Any]] | None) -> tuple[NumaNodeInfo, ...]:
    def distances(node: Mapping[str, Any]) -> tuple[int, ...] | None:
        return None if node["distances"] is None else tuple(node["distances"])

    return tuple(NumaNodeInfo(node["id"], distances(node)) for node in nodes or ())


def _mask(numa: Sequence[int] | None) -> int | None:
    return None if numa is None else masks.mask_of(numa)


def _hint(value: Mapping[str, Any]) -> Hint:
    return Hint(_mask(value["numa"]), value["preferred"])


def _answer(provider: Mapping[str, Any] | None) -> HintsByResource:
    return {
        resource: None if hints is None else [_hint(each) for each in hints]
        for resource, hints in (provider or {}).items()
    }


def _device(value: Mapping[str, Any]) -> Device:
    topology = None if value["numa"] is None else tuple(map(NumaNode, value["numa"]))
    return Device(DeviceID(value["id"]), "Healthy" if value["healthy"] else "Unhealthy", topology)


def _list(state: State, resource: str, devices: Sequence[Mapping[str, Any]]) -> None:
    name, listed = ResourceName(resource), [_device(each) for each in devices]
    state.devices[name] = {each.id: each for each in listed}
    state.healthy[name] = frozenset(each.id for each in listed if each.is_healthy)
    state.unhealthy[name] = {each.id for each in listed if not each.is_healthy}


def _hold(state: State, uid: str, container: str, resource: str, ids: Sequence[str]) -> None:
    record = AllocationRecord({NumaNode(-1): tuple(map(DeviceID, ids))}, ContainerResponse())
    state.allocations.enter((PodUID(uid), ContainerName(container), ResourceName(resource)), record)
    state.allocations.recount()


def test_masks_are_compared_and_joined_as_the_kubelet_does(bitmask: dict[str, Any]) -> None:
    """Masks are compared, joined and printed as the kubelet does. Rules: TM-1, TM-2, TM-3, TM-5"""
    a, b = masks.mask_of(bitmask["a"]), masks.mask_of(bitmask["b"])
    assert (masks.narrowness(a) < masks.narrowness(b)) is bitmask["a_narrower_than_b"]
    assert (a < b) is bitmask["a_less_than_b"]
    assert list(masks.nodes_of(a & b)) == bitmask["and"]
    assert list(masks.nodes_of(a | b)) == bitmask["or"]
    assert masks.text(a) == bitmask["a_string"]


def test_hints_are_merged_as_the_kubelet_does(policy_merge: dict[str, Any]) -> None:
    """Many hints come to the kubelet's one hint, and to its verdict.

    Rules: TM-6, TM-9, TM-17…TM-35
    """
    options = {"prefer-closest-numa-nodes": "true"} if policy_merge["prefer_closest"] else {}
    settings = TopologySettings(policy_merge["policy"], "container", options)
    policy = merger(settings, _machine(policy_merge["numa_nodes"]))
    answers = [_answer(provider) for provider in policy_merge["providers"]]
    best = policy.result(answers)
    assert best == _hint(policy_merge["best"])
    assert policy.admits(best) is policy_merge["admit"]
    lists = flattened(answers)
    looked_at = only_single_nodes(lists) if policy.policy is Policy.SINGLE_NUMA_NODE else lists
    assert best_count(looked_at) == policy_merge["best_non_preferred_affinity_count"]


def test_settings_are_refused_as_by_the_kubelet(new_manager: dict[str, Any]) -> None:
    """Settings are refused in the kubelet's order and words. Rules: TM-11…TM-16"""
    settings = TopologySettings(new_manager["policy"], new_manager["scope"], new_manager["options"] or {})
    nodes = _machine(new_manager["numa_nodes"])
    if new_manager["error"] is not None:
        with pytest.raises(UsageError) as refusal:
            merger(settings, nodes)
        assert str(refusal.value) == new_manager["error"]
        return
    policy = merger(settings, nodes)
    came = policy.policy.value, policy.scope.value
    assert came == (new_manager["resulting_policy"], new_manager["resulting_scope"])


def _pod(value: Mapping[str, Any]) -> Pod:
    def container(each: Mapping[str, Any], kind: ContainerKind) -> Container:
        limits = {name: Quantity.of(count) for name, count in each["limits"].items()}
        return Container(ContainerName(each["name"]), kind, limits, limits)

    init = tuple(
        container(each, ContainerKind.SIDECAR if each.get("restartable") else ContainerKind.INIT)
        for each in value["init_containers"]
    )
    app = tuple(container(each, ContainerKind.APP) for each in value["containers"])
    return Pod("p", "default", PodUID(value["uid"]), init, app)


def test_device_hints_are_the_kubelets(device_hints: dict[str, Any]) -> None:
    """The device manager offers the kubelet's hints for a container and for a pod. Rules: DM-119, DM-120, TM-51…TM-60"""
    state, pod = State(sources_ready=True), _pod(device_hints["pod"])
    for resource, devices in device_hints["devices"].items():
        _list(state, resource, devices)
    inactive = device_hints.get("inactive_pods", [])
    state.active_pods[pod.uid] = pod
    for uid, containers in device_hints["allocated"].items():
        if uid not in inactive:
            state.active_pods[PodUID(uid)] = pod
        for container, resources in containers.items():
            for resource, ids in resources.items():
                _hold(state, uid, container, resource, ids)
    state.reuse.begin(pod.uid)
    reusable = {
        ResourceName(resource): AllocationRecord({NumaNode(-1): tuple(map(DeviceID, ids))}, ContainerResponse())
        for resource, ids in device_hints["reusable"].items()
    }
    state.reuse.settle(ContainerKind.INIT, reusable)
    for resource, record in reusable.items():
        for device in record.ids:
            state.allocations.take(resource, device)
    context = _context(state, numa_nodes=tuple(device_hints["numa_nodes"]))
    if device_hints["scope"] == "pod":
        came = pod_hints(context, pod)
    else:
        wanted = pod.container(device_hints["container"])
        assert wanted is not None
        came = container_hints(context, pod, wanted)
    assert {name: _as_bag(hints) for name, hints in came.items()} == {
        name: _as_bag(hints) for name, hints in _answer(device_hints["hints"]).items()
    }


def _as_bag(hints: Sequence[Hint] | None) -> list[tuple[bool, int]] | None:
    return None if hints is None else sorted((not each.is_preferred, each.mask or 0) for each in hints)


def test_devices_fall_into_the_kubelets_three_pools(filter_by_affinity: dict[str, Any]) -> None:
    """Available devices fall into the kubelet's three pools. Rules: DM-91, TM-64, TM-65"""
    listed = {DeviceID(each["id"]): _device(each) for each in filter_by_affinity["devices"]}
    available = frozenset(map(DeviceID, filter_by_affinity["available"]))
    split = partition(available, listed, _mask(filter_by_affinity["affinity"]))
    assert sorted(split.aligned) == filter_by_affinity["aligned"]
    assert sorted(split.unaligned) == filter_by_affinity["unaligned"]
    assert sorted(split.no_affinity) == filter_by_affinity["no_affinity"]


RESOURCE, OTHER = ResourceName("r"), PodUID("other")


def test_the_chosen_ids_are_allowed_by_the_kubelet(devices_to_allocate: dict[str, Any]) -> None:
    """The chosen ids are allowed ones, and the plugin is asked just as the kubelet asks it.

    Rules: DM-92…DM-96, DM-102, TM-61, TM-62, TM-63, TM-66
    """
    case, state = devices_to_allocate, State(sources_ready=True)
    _list(state, RESOURCE, case["devices"])
    asks = case["plugin_preferred"] is not None or case["plugin_fails"]
    options = PluginOptions(get_preferred_allocation_available=asks)
    state.endpoints[RESOURCE] = Endpoint(RESOURCE, ClientID(1), options)
    limits: dict[str, Quantity] = {RESOURCE: Quantity.of(case["required"])}
    container = Container(ContainerName("c"), ContainerKind.APP, limits, limits)
    init = Container(ContainerName("i"), ContainerKind.INIT)
    pod = Pod("p", "default", PodUID("p"), (init,), (container,))
    if case["in_use"]:
        _hold(state, OTHER, "c", RESOURCE, case["in_use"])
    state.reuse.begin(pod.uid)
    if case["reusable"]:
        _hold(state, pod.uid, init.name, RESOURCE, case["reusable"])
        state.reuse.settle(ContainerKind.INIT, state.allocations.of_container(pod.uid, init.name))
    before = set(state.allocations.in_use.get(RESOURCE, ()))
    state.affinities.store(pod.uid, container.name, Hint(_mask(case["affinity"])))
    walk = choosing(_context(state, numa_nodes=(0, 1, 2, 3)), pod, container, RESOURCE)
    calls, chosen, error = _played(walk, case)
    assert error == case["error"]
    assert calls == ([case["preferred_call"]] if case["preferred_call"] else [])
    assert len(chosen) == len(set(chosen)) == case["size"]
    assert set(case["always"]) <= set(chosen) <= set(case["possible"])
    if error is not None:
        assert len(state.allocations.in_use.get(RESOURCE, set()) - before) == case["left_marked_after_error"]


def _played(
    walk: Walk[tuple[DeviceID, ...]], case: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], tuple[DeviceID, ...], str | None]:
    calls: list[dict[str, Any]] = []
    try:
        effect: Effect[Any] = next(walk)
        while True:
            assert isinstance(effect, CallGetPreferredAllocation)
            asked = {"available": sorted(effect.available), "must_include": sorted(effect.must_include)}
            calls.append({**asked, "size": effect.size})
            fails = case["plugin_fails"]
            effect = walk.throw(_Boom()) if fails else walk.send(tuple(case["plugin_preferred"]))
    except StopIteration as end:
        return calls, end.value, None
    except AllocationFailed as failure:
        return calls, (), str(failure)


class _Boom(RpcFailed):
    """The error of the recorded plugin, which was no status."""

    def __init__(self) -> None:
        super().__init__("Unknown", "boom")

    def __str__(self) -> str:
        return "boom"


@define
class _Provider:
    """A provider of the recorded cases; it writes down how it is asked."""

    _case: Mapping[str, Any]
    _calls: list[str] = field(factory=list)

    def hints(self, _pod: Pod, container: Container) -> HintsByResource:
        self._calls.append(f"hints {self._case['name']} {container.name}")
        return _answer(self._case["hints"].get(container.name))

    def pod_hints(self, _pod: Pod) -> HintsByResource:
        self._calls.append(f"podhints {self._case['name']}")
        return _answer(self._case["hints"].get(""))

    def allocating(self, _pod: Pod, container: Container) -> Generator[Effect[Any], Any, None]:
        self._calls.append(f"allocate {self._case['name']} {container.name}")
        if container.name in self._case.get("allocate_errors", {}):
            raise AllocationFailed(self._case["allocate_errors"][container.name], rule="TM-43")
        if container.name in self._case.get("allocate_topology_errors", {}):
            raise TopologyRefused
        yield from ()


def test_admission_asks_providers_in_the_kubelets_order(admit: dict[str, Any]) -> None:
    """Providers are asked in the kubelet's order, hints are stored as it stores them, refusals have its words.

    Rules: DM-78, DM-122, TM-10, TM-36…TM-43, TM-45, TM-49
    """
    nodes = _machine(admit["numa_nodes"])
    policy = merger(TopologySettings(admit["policy"], admit["scope"], admit["options"] or {}), nodes)
    state, calls = State(), list[str]()
    init = tuple(Container(ContainerName(name), ContainerKind.INIT) for name in admit["init_containers"])
    app = tuple(Container(ContainerName(name)) for name in admit["containers"])
    pod = Pod("p", "default", PodUID("p"), init, app)
    context = _context(state, merger=policy, numa_nodes=tuple(node.id for node in nodes))
    manager = TopologyManager(context, [_Provider(each, calls) for each in admit["providers"]])
    with pytest.raises(StopIteration) as end:
        next(manager.admitting(pod))
    verdict = end.value.value
    refused = isinstance(verdict, Rejected)
    assert refused is not admit["admit"]
    assert ((verdict.reason, verdict.message) if refused else ("", "")) == (admit["reason"], admit["message"])
    assert calls == admit["calls"]
    stored = {each.name: state.affinities.of(pod.uid, each.name) for each in pod.all_containers()}
    assert stored == {name: _hint(hint) for name, hint in admit["affinity"].items()}
