from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubelet_sim.core.devices.allocations import AllocationRecord
from kubelet_sim.core.devices.device_hints import container_hints, pod_hints
from kubelet_sim.core.facts import PodActivated
from kubelet_sim.core.topology.hints import Hint
from kubelet_sim.core.topology.masks import nodes_of
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, ResourceName
from kubelet_sim.model.pod import ContainerKind, Pod
from kubelet_sim.model.response import ContainerResponse
from tests.unit.core.bench import DEV, NIC, Bench, container, dev, init, pod, pod_of, sidecar, topology

Shown = list[tuple[tuple[int, ...], bool]]
PAIR: Shown = [((0,), True), ((1,), True), ((0, 1), False)]


def _bench(*devices: Device | str, numa: Sequence[int] = (0, 1), policy: str = "best-effort") -> Bench:
    bench = Bench(settings=topology(policy), numa=numa)
    bench.serve(*devices)
    return bench


def _hold(bench: Bench, holder: Pod, ids: Iterable[str], name: str = "main", resource: ResourceName = DEV) -> None:
    """An active pod with a record, as a checkpoint may bring it."""
    record = AllocationRecord({NumaNode(-1): tuple(map(DeviceID, ids))}, ContainerResponse())
    bench.manager.apply(PodActivated(holder))
    bench.state.allocations.enter((holder.uid, ContainerName(name), resource), record)
    bench.state.allocations.recount()


def _hand_on(bench: Bench, wanted: Pod, *ids: str) -> None:
    """The pod's init container `i` has these, and hands them on."""
    _hold(bench, wanted, ids, "i")
    bench.state.reuse.begin(wanted.uid)
    bench.state.reuse.settle(ContainerKind.INIT, bench.state.allocations.of_container(wanted.uid, ContainerName("i")))


def _shown(hints: Sequence[Hint] | None) -> Shown | None:
    return None if hints is None else [(nodes_of(hint.mask or 0), hint.is_preferred) for hint in hints]


def _hints(bench: Bench, wanted: Pod | int) -> Shown | None:
    """The hints for the container `main`; a number stands for a pod that wants so many."""
    wanted = pod("p", {DEV: wanted}) if isinstance(wanted, int) else wanted
    found = wanted.container("main")
    assert found is not None
    return _shown(container_hints(bench.manager.context, wanted, found)[DEV])


def _pod_hints(bench: Bench, wanted: Pod) -> Shown | None:
    return _shown(pod_hints(bench.manager.context, wanted)[DEV])


# ------------------------------------------------------------------------------------------- which resources, how many


def test_other_resources_have_no_hints() -> None:
    """Only what the device manager knows is in the answer, listed or merely in use. Rules: DM-83, TM-52"""
    bench = _bench(dev("a", 0))
    bench.register(NIC)
    wanted = pod("p", {"cpu": 1, NIC: 1, DEV: 1})
    assert set(container_hints(bench.manager.context, wanted, wanted.containers[0])) == {DEV}
    assert set(pod_hints(bench.manager.context, wanted)) == {DEV}

    bench.state.allocations.know(NIC)
    assert container_hints(bench.manager.context, wanted, wanted.containers[0])[NIC] is None
    assert container_hints(bench.manager.context, pod("q"), pod("q").containers[0]) == {}
    assert pod_hints(bench.manager.context, pod("q")) == {}


def test_a_limit_of_zero() -> None:
    """Any subset would do, single nodes are preferred. Rules: TM-53, TM-57"""
    assert _hints(_bench(dev("a", 0), dev("b", 1)), 0) == PAIR


@pytest.mark.parametrize(
    "wanted, count",
    [
        (pod_of("p", container("one", {DEV: 1}), container("two", {DEV: 2})), 3),
        (pod_of("p", init("i", {DEV: 4}), container("one", {DEV: 1})), 4),
        (pod_of("p", init("i", {DEV: 2}), init("j", {DEV: 3}), container("one", {DEV: 1})), 3),
        (pod_of("p", sidecar("s", {DEV: 1}), container("one", {DEV: 2})), 3),
        (pod_of("p", sidecar("s", {DEV: 2}), init("i", {DEV: 2}), container("one", {DEV: 1})), 4),
        (pod_of("p", init("i", {DEV: 2}), sidecar("s", {DEV: 2}), container("one", {DEV: 1})), 3),
        (pod_of("p", container("one", {DEV: "500m"}), container("two", {DEV: "1500m"})), 2),
    ],
)
def test_what_a_pod_needs_at_once(wanted: Pod, count: int) -> None:
    """App containers and sidecars together, or more while an init container runs beside the sidecars before it. Rules: DM-119, TM-54"""
    enough = _bench(*(dev(name, 0) for name in "abcde"[:count]))
    too_few = _bench(*(dev(name, 0) for name in "abcde"[: count - 1]))

    assert _pod_hints(enough, wanted) == [((0,), True)]
    assert _pod_hints(too_few, wanted) == []


def test_pods_that_are_over_are_reclaimed_first() -> None:
    """Both kinds of question do so, if the sources are ready. Rules: DM-115, TM-51"""
    for ask in (_hints, _pod_hints):
        bench = _bench(dev("a", 0))
        _hold(bench, pod("q"), "a")
        bench.remove("q")
        bench.sources_ready(ready=False)
        assert ask(bench, pod("p", {DEV: 1})) == []
        bench.sources_ready(ready=True)
        assert ask(bench, pod("p", {DEV: 1})) == [((0,), True)]


# ------------------------------------------------------------------------------------------------ the four answers


@pytest.mark.parametrize("devices", [(), ("a", "b"), (Device(DeviceID("a"), topology=()),)])
def test_no_topology(devices: tuple[Device | str, ...]) -> None:
    """No device on any node: no preference, however many are wanted. Rules: DM-119, TM-55"""
    assert _hints(_bench(*devices), 1) is None
    assert _hints(_bench(*devices), 5) is None
    assert _pod_hints(_bench(*devices), pod("p", {DEV: 5})) is None


def test_topology_of_an_unhealthy_device() -> None:
    """It makes the resource one with topology, though it cannot be had. Rules: DM-119, TM-55"""
    assert _hints(_bench("a", dev("b", 0, health="Sick")), 1) == []


def test_topology_outlives_the_plugin() -> None:
    """The device table stays when the plugin goes; nothing is available by then. Rules: DM-44, DM-122, TM-55"""
    bench = _bench(dev("a", 0))
    bench.end(bench.state.clients[DEV])

    assert _hints(bench, 1) == []


def test_held_already() -> None:
    """Hints of just these devices, healthy or not; in another number it is impossible. Rules: DM-119, TM-55"""
    bench = _bench(dev("a", 0), dev("b", 1, health="Sick"), dev("c", 1))
    _hold(bench, pod("p"), "ab")

    assert _hints(bench, 2) == [((0, 1), False)]
    assert _hints(bench, 1) == []
    assert _hints(bench, 3) == []


def test_held_by_any_container_of_the_pod() -> None:
    """In pod scope all of them count together, a device handed over once. Rules: DM-119, TM-55"""
    bench = _bench(dev("a", 0), dev("b", 1), dev("c", 0))
    wanted = pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 1}))
    _hold(bench, wanted, "a", "i")
    _hold(bench, wanted, "a", "main")

    assert _pod_hints(bench, wanted) == [((0,), True), ((0, 1), False)]
    assert _pod_hints(bench, pod_of("p", init("i"), container("main", {DEV: 2}))) == []
    _hold(bench, wanted, "b", "main")
    assert _pod_hints(bench, wanted) == []


def test_held_by_a_container_that_is_gone() -> None:
    """A pod that comes again without a container still holds what was recorded for it. Rules: DM-119, TM-55"""
    bench = _bench(dev("a", 0), dev("b", 1))
    _hold(bench, pod_of("p", init("i", {DEV: 1}), container("main")), "a", "i")

    assert _pod_hints(bench, pod_of("p", container("main", {DEV: 0}))) == []
    assert _pod_hints(bench, pod_of("p", container("main", {DEV: 1}))) == [((0,), True), ((0, 1), False)]


def test_held_by_another_container() -> None:
    """In container scope it is merely in use. Rules: DM-119, TM-55"""
    bench = _bench(dev("a", 0), dev("b", 1))
    _hold(bench, pod("p"), "a", "other")

    assert _hints(bench, 1) == [((1,), True), ((0, 1), False)]


def test_not_enough() -> None:
    """Healthy ones that nobody has, and in container scope those handed on. Rules: DM-119, TM-55"""
    bench = _bench(dev("a", 0), dev("b", 0), dev("c", 0, health="Sick"))
    wanted = pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 2}))
    assert _hints(bench, 3) == []
    _hand_on(bench, wanted, "a")

    assert _hints(bench, wanted) == [((0,), True)]
    assert _hints(bench, pod("q", {DEV: 2})) == []
    assert _pod_hints(bench, pod_of("q", container("main", {DEV: 2}))) == []


def test_a_device_that_is_both_free_and_handed_on() -> None:
    """A refused pod that comes back at once finds its reclaimed device in both places: for what is enough it is one. Rules: DM-119, TM-55"""
    bench = _bench(dev("a", 0), dev("b", 0))
    wanted = pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 2}))
    _hand_on(bench, wanted, "a")
    bench.state.allocations.release([wanted.uid])
    bench.state.allocations.take(DEV, DeviceID("b"))

    assert _hints(bench, wanted) == []
    bench.state.allocations.recount()
    assert _hints(bench, wanted) == [((0,), True)]


def test_pod_scope_ignores_what_is_handed_on() -> None:
    """The record of the init container is what it looks at. Rules: DM-119, TM-55"""
    bench = _bench(dev("a", 0), dev("b", 0))
    wanted = pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 1}))
    _hand_on(bench, wanted, "a")
    assert _pod_hints(bench, wanted) == [((0,), True)]
    bench.state.allocations.release([wanted.uid])
    bench.state.allocations.take(DEV, DeviceID("a"))
    bench.state.allocations.take(DEV, DeviceID("b"))

    assert _pod_hints(bench, wanted) == []
    assert _hints(bench, wanted) == [((0,), True)]


# ------------------------------------------------------------------------------------------------ which subsets


def test_preferred_is_what_would_do_on_an_idle_node() -> None:
    """All devices count for the size that is preferred, of whatever health and whoever has them. Rules: DM-120, TM-56, TM-57"""
    bench = _bench(dev("a", 0), dev("b", 0), dev("c", 1), dev("d", 1, health="Sick"))
    assert _hints(bench, 2) == [((0,), True), ((0, 1), False)]
    _hold(bench, pod("q"), "a")

    assert _hints(bench, 2) == [((0, 1), False)]


def test_devices_without_nodes_never_count() -> None:
    """Free as they are: too few with nodes makes the pod impossible to align. Rules: DM-120, TM-56, TM-57"""
    assert _hints(_bench(dev("a", 0), "b", "c"), 2) == []
    assert _hints(_bench(dev("a", 0), "b", "c"), 1) == [((0,), True)]


def test_a_device_on_several_nodes() -> None:
    """It counts for every subset that has one of them, once. Rules: DM-120, TM-56, TM-57"""
    assert _hints(_bench(dev("a", 0, 1)), 1) == PAIR
    assert _hints(_bench(dev("a", 0, 1)), 2) == []
    assert _hints(_bench(dev("a", 0, 1), dev("b", 1)), 2) == [((1,), True), ((0, 1), False)]


def test_nodes_without_a_device() -> None:
    """They never appear; a resource on one node has one hint. Rules: DM-120, TM-56, TM-57"""
    assert _hints(_bench(dev("a", 2), numa=(0, 1, 2, 3)), 1) == [((2,), True)]
    assert _hints(_bench(dev("a", 2), dev("b", 0, health="Sick"), numa=(0, 1, 2, 3)), 1) == [
        ((2,), True),
        ((0, 2), False),
    ]


def test_candidates_are_ascending() -> None:
    """Whatever order the machine has. Rules: DM-120, TM-56"""
    assert _hints(_bench(dev("a", 0), dev("b", 1), dev("c", 2), numa=(2, 0, 1)), 2) == [
        ((0, 1), True),
        ((0, 2), True),
        ((1, 2), True),
        ((0, 1, 2), False),
    ]


def test_unknown_nodes() -> None:
    """Such a device brings topology, and is in no subset; without any other all nodes are looked at. Rules: DM-120, TM-56, TM-57"""
    for node in (-1, 5, 64):
        assert _hints(_bench(dev("a", node)), 1) == []
        assert _hints(_bench(dev("a", node), numa=(1, 0)), 0) == [((1,), True), ((0,), True), ((0, 1), False)]
    assert _hints(_bench(dev("a", 5), dev("b", 0)), 1) == [((0,), True)]


def test_too_few_in_all() -> None:
    """Then all candidates together are the preferred size, and no subset has enough. Rules: TM-56, TM-57"""
    assert _hints(_bench(dev("a", 0), dev("b", 1)), 3) == []


# -------------------------------------------------------------------------------------------- devices handed on


def test_handed_on_devices_pin_the_mask() -> None:
    """Each has to be touched: two on two nodes leave one hint, not preferred, and `restricted` refuses. Rules: DM-120, TM-57"""
    wanted = pod_of("p", init("i", {DEV: 2}), container("main", {DEV: 1}))
    bench = _bench(dev("a", 0), dev("b", 1), dev("c", 0), dev("d", 1), policy="restricted")
    _hand_on(bench, wanted, "a", "b")

    assert _hints(bench, wanted) == [((0, 1), False)]
    assert bench.admit(wanted) == Rejected(
        "TopologyAffinityError", "Resources cannot be allocated with Topology locality"
    )


def test_handed_on_in_an_admission() -> None:
    """The init container's devices make its app container's mask. Rules: DM-87, DM-120, TM-39, TM-57"""
    bench = _bench(dev("a", 0), dev("b", 1), dev("c", 1), policy="single-numa-node")
    wanted = pod_of("p", init("i", {DEV: 2}), container("main", {DEV: 1}))

    assert bench.admit(wanted) == Admitted()
    assert bench.ids("p", "i") == {"b", "c"}
    hint = bench.state.affinities.of(wanted.uid, ContainerName("main"))
    assert hint == Hint(2, is_preferred=True)


def test_handed_on_devices_count() -> None:
    """Together with free ones, though in use and unhealthy by now. Rules: DM-120, TM-56"""
    bench = _bench(dev("a", 0), dev("b", 0), dev("c", 1))
    wanted = pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 2}))
    _hand_on(bench, wanted, "a")
    bench.list(bench.state.clients[DEV], dev("a", 0, health="Sick"), dev("b", 0), dev("c", 1))

    assert _hints(bench, wanted) == [((0,), True), ((0, 1), False)]


def test_a_handed_on_device_without_topology() -> None:
    """It pins nothing and counts for nothing. Rules: TM-56"""
    bench = _bench("a", dev("b", 0), dev("c", 0))
    wanted = pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 2}))
    _hand_on(bench, wanted, "a")
    assert _hints(bench, wanted) == [((0,), True)]
    _hold(bench, pod("q"), "c")
    assert _hints(bench, wanted) == []


@pytest.mark.parametrize("odd", [Device(DeviceID("a"), topology=()), dev("a", -1), dev("a", 7)])
def test_a_handed_on_device_that_no_subset_can_touch(odd: Device) -> None:
    """A topology without nodes, or with unknown ones, can never be met. Rules: TM-56"""
    bench = _bench(odd, dev("b", 0), dev("c", 0))
    wanted = pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 1}))
    _hand_on(bench, wanted, "a")

    assert _hints(bench, wanted) == []


# ---------------------------------------------------------------------------------- where a kubelet would have crashed


def test_a_held_device_that_vanished() -> None:
    """It is one without nodes, so that it counts for nothing; a warning says what a kubelet does. Rules: DM-59, TM-58"""
    bench = _bench(dev("b", 0))
    _hold(bench, pod("p"), "a")

    assert _hints(bench, 1) == []
    assert [note.subject for note in bench.notes.warnings("DM-59")] == [DEV]
    assert _pod_hints(bench, pod("p", {DEV: 1})) == []
    assert len(bench.notes.warnings("TM-58")) == 2


def test_a_handed_on_device_that_vanished() -> None:
    """It pins nothing and counts for nothing, with a warning. Rules: DM-59, TM-58"""
    bench = _bench(dev("b", 1), dev("c", 0))
    wanted = pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 1}))
    _hand_on(bench, wanted, "a")

    assert _hints(bench, wanted) == PAIR
    assert len(bench.notes.warnings("DM-59")) == 1


def test_no_crash_no_warning() -> None:
    """A held device that is listed, or a resource without topology by now, is no such case. Rules: DM-59"""
    bench = _bench(dev("a", 0, health="Sick"))
    _hold(bench, pod("p"), "a")
    _hints(bench, 1)
    bench.list(bench.state.clients[DEV], "b")
    _hints(bench, 1)

    assert bench.notes.warnings("DM-59") == []


# ------------------------------------------------------------------------------------------------- rule for rule


def _by_the_rules(devices: Sequence[Device], free: set[str], reusable: set[str], known: Sequence[int], n: int) -> Shown:
    """Subset by subset, device by device. Rules: TM-56"""
    hosting: set[int] = {node for device in devices for node in device.numa_nodes}
    nodes = sorted(hosting & set(known)) or list(known)
    size, found = len(nodes), []
    for count in range(1, len(nodes) + 1):
        for subset in combinations(nodes, count):
            touching = {device.id for device in devices if set(device.numa_nodes) & set(subset)}
            if len(touching) >= n and count < size:
                size = count
            pinned = {device.id for device in devices if device.id in reusable and device.topology is not None}
            if pinned <= touching and len(pinned) + len(touching & free) >= n:
                found.append(tuple(sorted(subset)))
    return [(subset, len(subset) == size) for subset in found]


NODES = st.none() | st.lists(st.sampled_from([0, 1, 2, -1, 9]).map(NumaNode), max_size=2).map(tuple)
DEVICES = st.lists(
    st.builds(
        Device, st.sampled_from("abcdefgh").map(DeviceID), st.sampled_from(["Healthy", "Healthy", "Sick"]), NODES
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda device: device.id,
)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(
    DEVICES,
    st.sets(st.sampled_from("abcdefgh"), max_size=3),
    st.integers(0, 4),
    st.sampled_from([(0, 1), (2, 0, 1), ()]),
)
def test_hints_by_the_rules(devices: list[Device], handed_on: set[str], count: int, known: tuple[int, ...]) -> None:
    """Counting devices by their nodes comes to what counting them one by one comes to. Rules: DM-119, DM-120, TM-55, TM-56"""
    bench = _bench(*devices, numa=known)
    wanted = pod_of("p", init("i", {DEV: len(handed_on)}), container("main", {DEV: count}))
    handed_on &= {device.id for device in devices}
    _hand_on(bench, wanted, *handed_on)
    free: set[str] = {device.id for device in devices if device.health == "Healthy"}
    free -= handed_on

    if not any(device.numa_nodes for device in devices):
        assert _hints(bench, wanted) is None
    elif len(free | handed_on) < count:
        assert _hints(bench, wanted) == []
    else:
        assert _hints(bench, wanted) == _by_the_rules(devices, free, handed_on, known, count)
