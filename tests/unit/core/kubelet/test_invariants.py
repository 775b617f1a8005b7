from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import evolve

from kubelet_sim.core.devices.allocations import AllocationRecord
from kubelet_sim.core.devices.endpoint import Endpoint
from kubelet_sim.core.kubelet import invariants
from kubelet_sim.core.state import State
from kubelet_sim.errors import InvariantError
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.ids import ClientID, ContainerName, DeviceID, PodUID
from kubelet_sim.model.plugin import PluginOptions
from kubelet_sim.model.response import ContainerResponse
from tests.unit.core.bench import DEV, NIC, Bench, dev, pod, restored, sick

A = DeviceID("a")


def _state() -> State:
    """A state with everything in it: live, placeholder, records, both healths."""
    bench = Bench()
    bench.manager.apply(restored(CheckpointDocument(None, {NIC: ()})))
    bench.serve("a", "b", sick("c"), dev("d", 1))
    bench.admit(pod("p", {DEV: 1}))
    return bench.state


def _given_twice(state: State) -> None:
    record = next(record for _, record in state.allocations)
    state.allocations.enter((PodUID("q"), ContainerName("main"), DEV), record)
    state.allocations.shared.clear()


def _foreign_holder(state: State) -> None:
    state.allocations._holders.add(DEV, (A,), (PodUID("gone"), ContainerName("main")))


def _unindexed(state: State) -> None:
    state.allocations._by_pod.clear()


def _unknown_name(state: State) -> None:
    del state.healthy[DEV]
    del state.allocations.in_use[DEV]
    state.allocations.in_use[NIC] = set()
    state.allocations.enter((PodUID("p"), ContainerName("main"), DEV), AllocationRecord({}, ContainerResponse()))


def _both_healths(state: State) -> None:
    state.healthy[DEV] |= {DeviceID("x")}
    state.unhealthy[DEV].add(DeviceID("x"))


def _never_listed(state: State) -> None:
    state.healthy[DEV] |= {DeviceID("x")}


def _foreign_client(state: State) -> None:
    state.clients[NIC] = state.clients[DEV]


def _unknown_client(state: State) -> None:
    state.clients[DEV] = ClientID(99)


def _live_without_client(state: State) -> None:
    state.endpoints[DEV] = Endpoint(DEV)


def _live_without_options(state: State) -> None:
    state.endpoints[DEV] = Endpoint(DEV, ClientID(1))


def _placeholder_with_options(state: State) -> None:
    state.endpoints[NIC] = evolve(state.endpoints[NIC], client=None, options=PluginOptions())
    state.endpoints[DEV] = evolve(state.endpoints[DEV], client=None, stopped_at_s=None)


def _misfiled_endpoint(state: State) -> None:
    state.endpoints[NIC] = state.endpoints[DEV]


def _healthy_placeholder(state: State) -> None:
    state.devices[NIC] = {A: dev("a")}
    state.healthy[NIC] = frozenset({A})


CORRUPTIONS: dict[Callable[[State], None], str] = {
    _given_twice: "no_id_is_given_twice",
    _foreign_holder: "the_index_is_that_of_the_records",
    _unindexed: "the_index_is_that_of_the_records",
    _unknown_name: "a_name_in_use_is_known",
    _both_healths: "capacity_is_healthy_and_unhealthy",
    _never_listed: "every_healthy_device_was_listed",
    _foreign_client: "a_client_in_the_table_serves_that_name",
    _unknown_client: "a_client_in_the_table_serves_that_name",
    _live_without_client: "an_endpoint_has_its_parts",
    _live_without_options: "an_endpoint_has_its_parts",
    _placeholder_with_options: "an_endpoint_has_its_parts",
    _misfiled_endpoint: "an_endpoint_has_its_parts",
    _healthy_placeholder: "a_stopped_resource_has_nothing_healthy",
}


def test_a_good_state_passes() -> None:
    """What the manager made by itself keeps every invariant, and so does nothing at all. Rules: DM-90"""
    invariants.check(_state())
    invariants.check(State())


@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda corrupt: corrupt.__name__.strip("_"))
def test_a_corrupted_state_is_found(corrupt: Callable[[State], None]) -> None:
    """Each invariant is seen to fail, and its breach is told by name. Rules: DM-90, DM-97"""
    state = _state()
    corrupt(state)

    with pytest.raises(InvariantError, match=CORRUPTIONS[corrupt]):
        invariants.check(state)


def test_every_invariant_can_fail() -> None:
    """There is a corruption for each of them. Rules: DM-90"""
    assert {test.__name__.strip("_") for test in invariants._ALL} == set(CORRUPTIONS.values())


def test_all_breaches_are_told() -> None:
    """One error names everything that does not hold. Rules: DM-90"""
    state = _state()
    _foreign_client(state)
    _never_listed(state)

    with pytest.raises(InvariantError, match=r"every_healthy_device_was_listed.*; a_client_in_the_table"):
        invariants.check(state)


def test_a_shared_id_is_allowed() -> None:
    """An id that a race or a checkpoint gave to two pods is no bug of ours. Rules: DM-97, DM-145"""
    state = _state()
    _given_twice(state)
    state.allocations.shared.add((DEV, next(iter(state.allocations.in_use[DEV]))))

    invariants.check(state)
