from __future__ import annotations

import pytest
from attrs import evolve

from kubelet_sim.core.facts import PodActivated
from kubelet_sim.core.kubelet.node_fit import fits
from kubelet_sim.core.kubelet.pod_requests import requested
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.ids import DeviceID, PodUID
from kubelet_sim.model.node import NodeObject
from kubelet_sim.model.pod import ContainerKind, Pod
from tests.unit.core.bench import (
    DEV,
    GONE_S,
    NIC,
    Bench,
    Preferring,
    Reversed,
    container,
    pod,
    pod_of,
    quantities,
    snapshot,
)

INIT, SIDECAR = ContainerKind.INIT, ContainerKind.SIDECAR


def _node(amounts: dict[str, str | int]) -> NodeObject:
    return NodeObject(quantities(amounts), quantities({"pods": 10, **amounts}))


def _bench(amounts: dict[str, str | int], *running: Pod, order: Reversed | Preferring | None = None) -> Bench:
    bench = Bench(node=_node(amounts), order=order)
    for other in running:
        bench.manager.apply(PodActivated(other))
    return bench


def _out_of(name: str, wanted: int, used: int, capacity: int) -> Admission:
    text = f"Node didn't have enough resource: {name}, requested: {wanted}, used: {used}, capacity: {capacity}"
    return Rejected(f"OutOf{name}", text)


def _fits(bench: Bench, wanted: Pod) -> Admission:
    before = snapshot(bench.state)
    verdict = fits(bench.manager.context, wanted)
    assert snapshot(bench.state) == before, "a predicate changes nothing"
    return verdict


@pytest.mark.parametrize(
    "name, room, used, wanted, told",
    [
        ("cpu", "2", "500m", "1501m", (1501, 500, 2000)),
        ("cpu", "2", "500m", "1500m", None),
        ("cpu", "1", "0.2", "0.9", (900, 200, 1000)),
        ("cpu", "1", "1", "1n", (1, 1000, 1000)),
        ("memory", "1Gi", "1Mi", "1Gi", (2**30, 2**20, 2**30)),
        ("memory", "1Gi", "512Mi", "512Mi", None),
        ("ephemeral-storage", "10k", "1k", "10k", (10_000, 1_000, 10_000)),
        (DEV, "4", "3", "2", (2, 3, 4)),
        (DEV, "4", "3", "1", None),
        (DEV, "0", "0", "1", (1, 0, 0)),
        (DEV, "0", "0", "0", None),
        ("hugepages-2Mi", "4Mi", "2Mi", "4Mi", (4 * 2**20, 2 * 2**20, 4 * 2**20)),
    ],
)
def test_one_resource(name: str, room: str, used: str, wanted: str, told: tuple[int, int, int] | None) -> None:
    """A pod fits if what it requests is left; cpu is counted in thousandths. Rules: DM-80"""
    bench = _bench({name: room}, pod("running", {name: used}))

    assert _fits(bench, pod("p", {name: wanted})) == (Admitted() if told is None else _out_of(name, *told))


def test_requests_count_not_limits() -> None:
    """What a container limits beyond its request is not asked of the node. Rules: DM-80"""
    bench = _bench({"cpu": 1})

    assert _fits(bench, pod_of("p", container("main", {"cpu": 5}, requests={"cpu": 1}))) == Admitted()
    assert _fits(bench, pod_of("p", container("main", {}, requests={"cpu": 2}))) == _out_of("cpu", 2000, 0, 1000)


def test_unlisted_extended_resources_are_dropped() -> None:
    """A request for an extended resource that the node does not list is not checked. Rules: DM-80, DM-81"""
    assert _fits(_bench({}), pod("p", {DEV: 99})) == Admitted()


@pytest.mark.parametrize("name", ["hugepages-2Mi", "memory", "ephemeral-storage", "kubernetes.io/x"])
def test_unlisted_resources_of_kubernetes_are_not_dropped(name: str) -> None:
    """Only extended resources may be missing; of anything else the node then has none. Rules: DM-80"""
    assert _fits(_bench({}), pod("p", {name: 1})) == _out_of(name, 1, 0, 0)


def test_the_number_of_pods() -> None:
    """The pod itself counts, every active pod counts once, and this shortage is told first. Rules: DM-80"""
    bench = _bench({"pods": 2, "cpu": 1}, pod("a"), pod("b"))

    assert _fits(bench, pod("p", {"cpu": 5})) == _out_of("pods", 1, 2, 2)
    bench.remove("b")
    assert _fits(bench, pod("p")) == Admitted()


def test_the_pod_is_not_counted_twice() -> None:
    """In admission the pod is active already, and is not its own competitor. Rules: DM-80, DM-117"""
    bench = _bench({"pods": 1, DEV: 1, "cpu": 1}, pod("p", {DEV: 1, "cpu": 1}))

    assert _fits(bench, pod("p", {DEV: 1, "cpu": 1})) == Admitted()


def test_pods_that_are_over_do_not_count() -> None:
    """What an inactive pod requested is free, though its devices may still be in use. Rules: DM-80, DM-116"""
    bench = _bench({DEV: 1}, pod("old", {DEV: 1}))
    assert _fits(bench, pod("p", {DEV: 1})) == _out_of(DEV, 1, 1, 1)

    bench.remove("old")
    assert _fits(bench, pod("p", {DEV: 1})) == Admitted()


def test_the_order_of_shortages() -> None:
    """The node's own resources are told before the others. Rules: DM-80"""
    wanted: dict[str, str | int] = {DEV: 9, "ephemeral-storage": 9, "memory": 9, "cpu": 9}
    room: dict[str, str | int] = {DEV: 1, "ephemeral-storage": 1, "memory": 1, "cpu": 1}
    for name, told in [
        ("cpu", (9000, 0, 1000)),
        ("memory", (9, 0, 1)),
        ("ephemeral-storage", (9, 0, 1)),
        (DEV, (9, 0, 1)),
    ]:
        assert _fits(_bench(room, order=Reversed()), pod("p", wanted)) == _out_of(name, *told)
        room[name] = 9


def test_which_of_two_extended_shortages_is_told_is_open() -> None:
    """The first one is told, in whatever order they are looked at. Rules: DM-80, DM-221"""
    wanted = pod("p", {DEV: 1, NIC: 1})

    assert _fits(_bench({DEV: 0, NIC: 0}), wanted) == _out_of(DEV, 1, 0, 0)
    assert _fits(_bench({DEV: 0, NIC: 0}, order=Reversed()), wanted) == _out_of(NIC, 1, 0, 0)


def test_room_that_others_have_overdrawn() -> None:
    """Pods may use more than the node has by now: the room is negative, a request of 0 still fits. Rules: DM-80"""
    bench = _bench({DEV: 1}, pod("running", {DEV: 4}))

    assert _fits(bench, pod("p", {DEV: 0})) == Admitted()
    assert _fits(bench, pod("p", {DEV: 1})) == _out_of(DEV, 1, 4, 1)


# --------------------------------------------------------------------- allocatable is raised to what is in use (DM-80)


def test_a_pod_that_holds_devices_fits_without_plugin() -> None:
    """For a pod with records, allocatable is at least the number of ids in use, of every resource. Rules: DM-80"""
    bench = Bench()
    client = bench.serve("a", "b")
    bench.round()
    bench.admit(pod("p", {DEV: 2}))
    bench.end(client, 0.0)
    bench.round(1.0)
    assert bench.shown() == (2, 0)

    assert _fits(bench, pod("p", {DEV: 2})) == Admitted()
    assert _fits(bench, pod("q", {DEV: 1})) == _out_of(DEV, 1, 2, 0)


def test_every_resource_in_use_is_raised() -> None:
    """A record of one resource raises the others, too, and never lowers anything. Rules: DM-80"""
    bench = _bench({DEV: 0, NIC: 5})
    bench.serve("a", "b")
    bench.serve("x", resource=NIC)
    assert bench.admit(pod("holder", {DEV: 1})) == Admitted()
    bench.state.allocations.in_use[NIC] = {DeviceID("x")}
    bench.state.allocations.in_use[DEV] = {DeviceID("a"), DeviceID("b")}

    assert _fits(bench, pod("holder", {DEV: 2, NIC: 5})) == Admitted()
    assert _fits(bench, pod("holder", {DEV: 3})) == _out_of(DEV, 3, 0, 2)
    assert _fits(bench, pod("holder", {NIC: 6})) == _out_of(NIC, 6, 0, 5)


def test_an_empty_key_lists_the_resource() -> None:
    """For a pod with records, a name with no id in use is listed with 0, and no longer dropped. Rules: DM-80, DM-83"""
    bench = _bench({})
    bench.serve("a")
    assert bench.admit(pod("holder", {DEV: 1})) == Admitted()
    assert _fits(bench, pod("holder", {NIC: 1})) == Admitted()

    bench.state.allocations.in_use[NIC] = set()

    assert _fits(bench, pod("holder", {NIC: 1})) == _out_of(NIC, 1, 0, 0)
    assert _fits(bench, pod("other", {NIC: 1})) == Admitted()


def test_a_device_newer_than_the_node_status() -> None:
    """Devices that no round has seen yet can be had: the records raise what the node shows. Rules: DM-65, DM-80"""
    bench = Bench()
    client = bench.serve("a")
    bench.round()
    bench.list(client, "a", "b")

    assert bench.admit(pod("p", {DEV: 1})) == Admitted()
    assert bench.admit(pod("q", {DEV: 1})) == Admitted()


def test_devices_pass_and_the_node_refuses() -> None:
    """The devices are allocated before the node is asked, and stay recorded when it refuses. Rules: DM-72, DM-101"""
    bench = Bench(machine=quantities({"cpu": 1, "pods": 9}))
    bench.serve("a")

    assert bench.admit(pod("p", {DEV: 1, "cpu": 2})) == _out_of("cpu", 2000, 0, 1000)
    assert bench.ids("p") == bench.in_use() == {"a"}
    assert bench.state.active_pods == {}


def test_after_removal_the_node_says_no() -> None:
    """A resource that is gone and not in use is refused by its zero in the node status. Rules: DM-81"""
    bench = Bench()
    bench.end(bench.serve("a"), 0.0)
    bench.round(GONE_S + 1)

    assert bench.admit(pod("p", {DEV: 1})) == _out_of(DEV, 1, 0, 0)


# -------------------------------------------------------------------------------------------- what a pod asks for


@pytest.mark.parametrize(
    "init, apps, expected",
    [
        ([], [1, 2], 3),
        ([(INIT, 5)], [1, 2], 5),
        ([(INIT, 2)], [1, 2], 3),
        ([(INIT, 5), (INIT, 4)], [1], 5),
        ([(SIDECAR, 2)], [1, 2], 5),
        ([(SIDECAR, 2), (INIT, 4)], [1], 6),
        ([(INIT, 4), (SIDECAR, 2)], [1], 4),
        ([(SIDECAR, 1), (INIT, 1), (SIDECAR, 2), (INIT, 3)], [1], 6),
        ([(SIDECAR, 9)], [], 9),
        ([(INIT, 0)], [0], 0),
    ],
)
def test_init_containers_and_sidecars(init: list[tuple[ContainerKind, int]], apps: list[int], expected: int) -> None:
    """An init container runs beside the sidecars before it; the pod needs the most of any moment. Rules: DM-80"""
    wanted = pod_of(
        "p",
        *(container(f"app{number}", {DEV: amount, "cpu": amount}) for number, amount in enumerate(apps)),
        init=[
            container(f"init{number}", {DEV: amount, "cpu": amount}, kind=kind)
            for number, (kind, amount) in enumerate(init)
        ],
    )

    assert requested(wanted) == {DEV: expected, "cpu": 1000 * expected}


def test_each_resource_has_its_own_maximum() -> None:
    """One resource may come from an init container, the other from the app. Rules: DM-80"""
    wanted = pod_of("p", container("app", {"cpu": 2}), init=[container("init", {"cpu": 1, DEV: 3}, kind=INIT)])

    assert requested(wanted) == {"cpu": 2000, DEV: 3}


def test_overhead_is_on_top() -> None:
    """The pod's overhead is added to the most that its containers need. Rules: DM-80"""
    wanted = evolve(
        pod_of("p", container("app", {"cpu": "100m"}), init=[container("init", {"cpu": "1"}, kind=INIT)]),
        overhead=quantities({"cpu": "250m", "memory": "1Ki"}),
    )

    assert requested(wanted) == {"cpu": 1250, "memory": 1024}
    assert _fits(_bench({"cpu": 1, "memory": "1Gi"}), wanted) == _out_of("cpu", 1250, 0, 1000)
    assert _fits(_bench({"cpu": 2, "memory": "1Gi"}, evolve(wanted, uid=PodUID("q"))), wanted) == _out_of(
        "cpu", 1250, 1250, 2000
    )


def test_amounts_are_rounded_up() -> None:
    """Thousandths of a cpu, and whole units of everything else. Rules: DM-80, DM-82"""
    assert requested(pod("p", {"cpu": "1u", "memory": "1.5", DEV: "1500m"})) == {"cpu": 1, "memory": 2, DEV: 2}
