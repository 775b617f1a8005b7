from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import pytest

from kubelet_sim.core.effects import CallAllocate, WriteCheckpoint
from kubelet_sim.core.facts import RuntimeListed
from kubelet_sim.core.ports import Order
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ContainerName, DeviceID, PodUID
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.model.pod import Pod
from tests.unit.core.bench import (
    DEV,
    GONE_S,
    NIC,
    Bench,
    Reversed,
    Shuffled,
    Steps,
    container,
    dev,
    grant,
    pod,
    pod_of,
    scripted,
    sick,
    written,
)

T = TypeVar("T")
BAD = RpcFailed("InvalidArgument", "bad device")
NO_HEALTHY = f"no healthy devices present; cannot allocate unhealthy devices {DEV}"
UNREGISTERED = f"cannot allocate unregistered device {DEV}"
NOT_HEALTHY_ANY_MORE = f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {DEV}"


def _unavailable(wanted: int, available: int) -> str:
    return f"requested number of devices unavailable for {DEV}. Requested: {wanted}, Available: {available}"


def _allocate_calls(steps: Steps[T]) -> list[CallAllocate]:
    return [effect for effect in steps.seen if isinstance(effect, CallAllocate)]


# ------------------------------------------------------------------------------------------------- the usual course


def test_a_container_gets_its_devices() -> None:
    """One Allocate call with as many free healthy ids as the limit says, then the checkpoint. Rules: DM-89, DM-98, DM-100"""
    bench = Bench()
    client = bench.serve("a", sick("b"), "c", "d")

    steps = bench.admitting(pod("p", {DEV: 2, "cpu": 1}))

    assert steps.effect == CallAllocate(client, (DeviceID("a"), DeviceID("c")))
    assert bench.in_use() == {"a", "c"}
    assert bench.ids("p") is None
    steps.answer(AllocateAnswer((grant("a", "c"),)))
    entry = CheckpointEntry("p", "main", DEV, {-1: ("a", "c")}, b"IDS=a,c")
    assert steps.effect == WriteCheckpoint(CheckpointDocument((entry,), {DEV: ("a", "c", "d")}))
    assert bench.ids("p") == {"a", "c"}
    assert steps.answer().result == Admitted()


def test_the_exact_number_is_enough() -> None:
    """All healthy devices may be asked for at once, and no id is given twice. Rules: DM-90"""
    bench = Bench()
    bench.serve("a", "b", "c")

    assert bench.admit(pod("p", {DEV: 2})) == Admitted()
    assert bench.admit(pod("q", {DEV: 1})) == Admitted()
    assert bench.refusal(pod("r", {DEV: 1})) == _unavailable(1, 0)


@pytest.mark.parametrize("limit, count", [("1500m", 2), ("2", 2), ("1n", 1), ("2e0", 2), ("0.0001k", 1)])
def test_a_fraction_of_a_device_is_a_device(limit: str, count: int) -> None:
    """The limit is rounded up to a whole number. Rules: DM-82"""
    bench = Bench()
    bench.serve("a", "b", "c")
    bench.admit(pod("p", {DEV: limit}))

    assert len(bench.ids("p") or ()) == count


def test_requests_are_not_looked_at() -> None:
    """Only a limit allocates devices. Rules: DM-82"""
    bench = Bench()
    bench.serve("a")

    steps = bench.admitting(pod_of("p", container("main", {}, requests={DEV: 1})))

    assert (steps.result, steps.seen) == (Admitted(), [])
    assert bench.ids("p") is None


def test_what_is_none_of_ours_is_skipped() -> None:
    """Other resources, known or not, cost no call and no write, and are not reclaimed for. Rules: DM-83, DM-89"""
    bench = Bench()
    bench.serve("a")
    bench.admit(pod("old", {DEV: 1}))
    bench.remove("old")

    steps = bench.admitting(pod("p", {"cpu": 1, "memory": "1Gi", NIC: 3}))

    assert (steps.result, steps.seen) == (Admitted(), [])
    assert bench.ids("old") == {"a"}


def test_one_call_a_container_and_resource() -> None:
    """Two containers with two resources make four calls; each container's last one is followed by a write. Rules: DM-98, DM-100, DM-202"""
    bench = Bench()
    bench.serve("a", "b", "c")
    bench.serve("x", "y", resource=NIC)
    steps = bench.admitting(pod_of("p", container("one", {NIC: 1, DEV: 2}), container("two", {DEV: 1, NIC: 1})))

    assert steps.finish() == Admitted()

    kinds = [type(effect) for effect in steps.seen]
    assert kinds == [CallAllocate, CallAllocate, WriteCheckpoint] * 2
    assert sorted(len(call.device_ids) for call in _allocate_calls(steps)) == [1, 1, 1, 2]
    assert len(written(steps.seen)[0].entries or ()) == 2
    assert len(written(steps.seen)[1].entries or ()) == 4


def test_the_newest_plugin_is_called() -> None:
    """Of two plugins with live streams, the one that registered last gets the call. Rules: DM-31"""
    bench = Bench()
    bench.serve("a")
    newer = bench.serve("a")

    assert bench.admitting(pod("p", {DEV: 1})).effect == CallAllocate(newer, (DeviceID("a"),))


def test_numa_nodes_of_a_record() -> None:
    """Ids stand under each of their nodes, as often as listed; without topology of either kind under −1. Rules: DM-56, DM-100, TM-68"""
    bench = Bench()
    bench.serve(dev("a", 0, 1), dev("b", 1, 1), dev("c"), Device(dev("d").id, topology=()), dev("e", -1, 70))
    bench.admit(pod("p", {DEV: 5}))

    record = bench.state.allocations.record(PodUID("p"), ContainerName("main"), DEV)

    assert record is not None
    assert record.devices == {0: ("a",), 1: ("a", "b", "b"), -1: ("c", "d", "e"), 70: ("e",)}
    assert record.ids == {"a", "b", "c", "d", "e"}


def test_topology_is_read_after_the_call() -> None:
    """What a list says while the plugin allocates is what is recorded, and stays recorded. Rules: DM-56, DM-100"""
    bench = Bench()
    client = bench.serve(dev("a", 0))
    steps = bench.admitting(pod("p", {DEV: 1}))
    bench.list(client, dev("a", 3))
    steps.finish()
    bench.list(client, dev("a", 7))

    record = bench.state.allocations.record(PodUID("p"), ContainerName("main"), DEV)

    assert record is not None
    assert record.devices == {3: ("a",)}


# ------------------------------------------------------------------------------ what is refused, and in which order


def _holder(bench: Bench) -> Pod:
    """A pod with one device recorded."""
    held = pod("p", {DEV: 1})
    assert bench.admit(held) == Admitted()
    return held


def _gone(bench: Bench) -> Bench:
    bench.end(bench.state.clients[DEV], 0.0)
    return bench


def _removed(bench: Bench) -> Bench:
    _gone(bench).round(GONE_S + 1)
    return bench


def test_a_changed_request() -> None:
    """A record that differs from the limit is told with both numbers, names quoted. Rules: DM-79, DM-90"""
    bench = Bench()
    bench.serve("a", "b")
    uid = 'p"\n'
    wanted = pod(uid, {DEV: 2})
    bench.admit(wanted)

    assert bench.refusal(pod(uid, {DEV: 1})) == (
        f'pod "p\\"\\n" container "main" changed request for resource "{DEV}" from 2 to 1'
    )
    assert bench.refusal(pod(uid, {DEV: 3})).endswith("from 2 to 3")
    assert bench.refusal(pod(uid, {DEV: 0})).endswith("from 2 to 0")


def test_a_changed_request_is_told_before_everything_else() -> None:
    """Even while the container counts as running and the resource is not registered. Rules: DM-90"""
    bench = Bench()
    bench.serve("a")
    _holder(bench)
    _removed(bench)
    bench.sources_ready(ready=False)
    bench.manager.apply(RuntimeListed(frozenset({(PodUID("p"), ContainerName("main"))})))

    assert "changed request" in bench.refusal(pod("p", {DEV: 2}))


def test_a_running_container_is_left_alone_before_the_resource_is_looked_at() -> None:
    """While sources are not ready, nothing more is checked for it, with or without a record. Rules: DM-90, DM-110"""
    bench = Bench()
    bench.serve("a")
    held = _holder(bench)
    _removed(bench)
    bench.sources_ready(ready=False)
    bench.manager.apply(RuntimeListed(frozenset({(PodUID(uid), ContainerName("main")) for uid in ("p", "q")})))

    for wanted in (held, pod("q", {DEV: 4})):
        steps = bench.admitting(wanted)
        assert steps.is_over
        assert steps.seen == []
        assert not (isinstance(steps.result, Rejected) and steps.result.reason == "UnexpectedAdmissionError")

    assert bench.refusal(pod("r", {DEV: 1})) == UNREGISTERED
    bench.sources_ready(ready=True)
    assert bench.refusal(held) == UNREGISTERED


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_unregistered(limit: int) -> None:
    """A name that is only in use is not registered; that is told before health, and for a limit of 0. Rules: DM-84, DM-90"""
    bench = Bench()
    bench.serve("a")
    _holder(bench)
    _removed(bench)

    assert bench.refusal(pod("q", {DEV: limit})) == UNREGISTERED


@pytest.mark.parametrize("limit", [0, 1, 5])
@pytest.mark.parametrize(
    "make", [lambda b: b.list(b.state.clients[DEV]), lambda b: b.list(b.state.clients[DEV], sick("a")), _gone]
)
def test_no_healthy_devices(make: Callable[[Bench], object], limit: int) -> None:
    """Nothing healthy, listed or lost, refuses any limit, 0 included, and any record. Rules: DM-54, DM-84, DM-90"""
    bench = Bench()
    bench.serve("a")
    held = _holder(bench)
    make(bench)

    assert bench.refusal(pod("q", {DEV: limit})) == NO_HEALTHY
    assert bench.refusal(held) == NO_HEALTHY


@pytest.mark.parametrize("devices", [(sick("a"), "b"), ("b",)])
def test_devices_that_are_no_longer_healthy(devices: tuple[Device | str, ...]) -> None:
    """A record with an unhealthy or vanished id refuses its pod, though nothing is needed. Rules: DM-58, DM-90"""
    bench = Bench()
    client = bench.serve("a")
    held = _holder(bench)
    bench.list(client, *devices)

    assert bench.refusal(held) == NOT_HEALTHY_ANY_MORE


def test_nothing_is_needed() -> None:
    """A pod that has its devices passes again without call or write, however few are free. Rules: DM-90, DM-107, DM-111"""
    bench = Bench()
    bench.serve("a")
    held = _holder(bench)

    steps = bench.admitting(held)

    assert (steps.result, steps.seen) == (Admitted(), [])
    assert bench.ids("p") == {"a"}


@pytest.mark.parametrize("used, wanted, available", [(0, 4, 3), (1, 3, 2), (3, 1, 0)])
def test_too_few(used: int, wanted: int, available: int) -> None:
    """Unhealthy devices and those in use are not available. Rules: DM-90"""
    bench = Bench()
    bench.serve("a", "b", "c", sick("d"))
    bench.admit(pod("q", {DEV: used}))

    assert bench.refusal(pod("p", {DEV: wanted})) == _unavailable(wanted, available)
    assert bench.ids("p") is None
    assert len(bench.in_use() or ()) == used


def test_a_device_in_use_and_unhealthy_is_not_subtracted_twice() -> None:
    """Available is what is healthy and not in use, whatever else is in use. Rules: DM-90"""
    bench = Bench()
    client = bench.serve("a", "b")
    bench.admit(pod("q", {DEV: 1}))
    bench.list(client, sick("a"), "b", "c")

    assert bench.refusal(pod("p", {DEV: 3})) == _unavailable(3, 2)
    assert bench.admit(pod("p", {DEV: 2})) == Admitted()


def test_a_limit_of_zero_allocates_nothing() -> None:
    """With healthy devices it passes without call, record or key; with a record it is a changed request. Rules: DM-84"""
    bench = Bench()
    bench.serve("a")

    steps = bench.admitting(pod("p", {DEV: 0}))

    assert (steps.result, steps.seen) == (Admitted(), [])
    assert bench.ids("p") is None
    assert bench.in_use() is None


def test_a_refused_choice_leaves_its_key() -> None:
    """The name stays known until the ids are counted anew: after removal, pods fail on it. Rules: DM-49, DM-81, DM-83"""
    bench = Bench()
    bench.serve("a")
    assert bench.refusal(pod("p", {DEV: 2})) == _unavailable(2, 1)
    assert bench.in_use() == set()
    _removed(bench)

    assert bench.refusal(pod("q", {DEV: 1})) == UNREGISTERED
    bench.reclaim()
    assert bench.refusal(pod("q", {DEV: 1})) == UNREGISTERED

    bench.serve("x", resource=NIC)
    bench.refusal(pod("r", {NIC: 1}), scripted(CallAllocate, BAD))
    assert bench.admit(pod("q", {DEV: 1})) == Rejected(
        f"OutOf{DEV}", f"Node didn't have enough resource: {DEV}, requested: 1, used: 0, capacity: 0"
    )


@pytest.mark.parametrize("make", [_gone, lambda bench: bench.list(bench.state.clients[DEV])])
def test_a_refusal_before_the_choice_leaves_no_key(make: Callable[[Bench], object]) -> None:
    """Only an allocation that comes to choosing makes the name known. Rules: DM-83"""
    bench = Bench()
    bench.serve("a")
    make(bench)

    assert bench.refusal(pod("p", {DEV: 1})) == NO_HEALTHY
    assert bench.in_use() is None


def test_healthy_devices_without_endpoint() -> None:
    """Enough are free, yet there is nobody to ask; too few free ones are told first. Nothing is taken. Rules: DM-61, DM-90, DM-93"""
    bench = Bench()
    older, newer = bench.serve("a"), bench.register()
    waiting = bench.registering()
    bench.end(newer, 0.0)
    bench.round(GONE_S + 1)
    bench.list(older, "a", "b")

    assert bench.refusal(pod("p", {DEV: 3})) == _unavailable(3, 2)
    assert bench.refusal(pod("p", {DEV: 2})) == f"endpoint not found in cache for a registered resource: {DEV}"
    assert bench.admit(pod("p", {DEV: 0})) == Admitted()
    assert bench.in_use() == set()
    waiting.close()


def test_a_stopped_endpoint_is_not_called() -> None:
    """With devices of an older stream the pod fails locally, and the ids are free again. Rules: DM-46, DM-98"""
    bench = Bench()
    older, newer = bench.serve("a"), bench.register()
    bench.registering().close()
    bench.end(newer, 0.0)
    bench.list(older, "a")

    steps = bench.admitting(pod("p", {DEV: 1}))

    assert steps.seen == []
    assert isinstance(steps.result, Rejected)
    pattern = rf"Allocate failed due to endpoint &\{{\{{\{{\}} \{{0 0\}}\}} {re.escape(DEV)} .*\}} has been stopped, which is unexpected"
    assert re.fullmatch(pattern, steps.result.message)
    assert bench.in_use() is None


# ------------------------------------------------------------------------------------------------- any order will do

ORDERS: list[Order] = [Reversed(), *map(Shuffled, range(8))]


@pytest.mark.parametrize("order", ORDERS)
def test_an_adversary_may_pick_the_order(order: Order) -> None:
    """Whatever order is picked: right number of ids, all of them free and healthy, none given twice. Rules: DM-89, DM-92, DM-221"""
    bench = Bench(order=order)
    bench.serve(*"abcdef", sick("s"))
    bench.serve("x", "y", resource=NIC)
    seen: set[str] = set()
    for name, count in (("p", 3), ("q", 2), ("r", 1)):
        steps = bench.admitting(pod(name, {DEV: count, NIC: 0}))
        assert isinstance(steps.effect, CallAllocate)
        ids = steps.effect.device_ids
        assert len(ids) == len(set(ids)) == count
        assert set(ids) <= set("abcdef") - seen
        seen |= set(ids)
        assert steps.finish() == Admitted()
        assert bench.ids(name) == set(ids)
    assert bench.in_use() == seen == set("abcdef")


@pytest.mark.parametrize("order", ORDERS)
def test_which_resource_is_first_is_open(order: Order) -> None:
    """If one of two resources fails, the other is recorded exactly if its turn came first. Rules: DM-89, DM-101"""
    bench = Bench(order=order)
    bench.serve("a")
    bench.serve("x", resource=NIC)
    steps = bench.admitting(pod("p", {DEV: 1, NIC: 2}))

    if steps.is_over:
        assert bench.ids("p") is None
    else:
        steps.finish()
        assert bench.ids("p") == {"a"}
    assert isinstance(steps.result, Rejected)
    assert f"unavailable for {NIC}. Requested: 2, Available: 1" in steps.result.message
    assert not written(steps.seen)
