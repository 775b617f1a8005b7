from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest

from kubelet_sim.core.devices import endpoint as endpoints
from kubelet_sim.core.devices.endpoint import TRANSITIONS, Endpoint, EndpointEvent, EndpointState, grace_period_is_over
from kubelet_sim.errors import InvariantError
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.ids import ClientID
from kubelet_sim.model.plugin import PluginOptions
from tests.unit.core.bench import DEV, GONE_S, Bench, restored

OPTIONS = PluginOptions()
EXAMPLES: dict[EndpointState, Endpoint | None] = {
    EndpointState.ABSENT: None,
    EndpointState.LIVE: Endpoint(DEV, ClientID(1), OPTIONS),
    EndpointState.STOPPED: Endpoint(DEV, ClientID(1), OPTIONS, stopped_at_s=5.0),
    EndpointState.PLACEHOLDER: Endpoint(DEV, stopped_at_s=5.0),
}
# The specification, told again: what a resource's endpoint is after an event, in the manager itself.
EXPECTED = {
    ("absent", "connected"): "live",
    ("live", "connected"): "live",
    ("stopped", "connected"): "live",
    ("placeholder", "connected"): "live",
    ("absent", "disconnected"): "absent",
    ("live", "disconnected"): "stopped",
    ("stopped", "disconnected"): "stopped",
    ("placeholder", "disconnected"): "placeholder",
    ("absent", "restored"): "placeholder",
    ("stopped", "expired"): "absent",
    ("placeholder", "expired"): "absent",
}
PAIRS = list(itertools.product(EndpointState, EndpointEvent))


def test_the_table_is_what_the_specification_says() -> None:
    """The table holds the life of an endpoint, nothing more and nothing less. Rules: DM-26, DM-44, DM-45, DM-47, DM-145"""
    assert {(s.value, e.value): after.value for (s, e), after in TRANSITIONS.items()} == EXPECTED


@pytest.mark.parametrize("state", EndpointState)
def test_a_registration_makes_any_endpoint_live(state: EndpointState) -> None:
    """Whatever was there is replaced by a live endpoint without stop time, options as answered. Rules: DM-26, DM-45"""
    options = PluginOptions(pre_start_required=True)

    after = endpoints.connected(EXAMPLES[state], DEV, ClientID(9), options)

    assert after == Endpoint(DEV, ClientID(9), options, None)
    assert after.state is EndpointState.LIVE


@pytest.mark.parametrize("state", [s for s in EndpointState if s is not EndpointState.ABSENT])
def test_a_disconnect_sets_the_stop_time_again(state: EndpointState) -> None:
    """The later time overwrites an earlier one; client and options stay. Rules: DM-44, DM-45"""
    before = EXAMPLES[state]
    assert before is not None

    after = endpoints.disconnected(before, 77.0)

    assert (after.stopped_at_s, after.client, after.options) == (77.0, before.client, before.options)
    assert after.state is TRANSITIONS[state, EndpointEvent.DISCONNECTED]


def test_a_placeholder_has_no_plugin() -> None:
    """What comes of the checkpoint is stopped now, without client and options. Rules: DM-45, DM-105, DM-145"""
    assert endpoints.restored(DEV, 3.0) == Endpoint(DEV, None, None, 3.0)
    assert endpoints.restored(DEV, 3.0).state is EndpointState.PLACEHOLDER


@pytest.mark.parametrize("state, event", [pair for pair in PAIRS if pair not in TRANSITIONS])
def test_pairs_outside_the_table_are_refused(state: EndpointState, event: EndpointEvent) -> None:
    """What cannot happen to an endpoint is a bug of ours, and said so. Rules: DM-26"""
    for after in filter(None, EXAMPLES.values()):
        with pytest.raises(InvariantError, match=DEV):
            endpoints._checked(EXAMPLES[state], event, after)


@pytest.mark.parametrize("state, event", TRANSITIONS)
def test_only_the_state_of_the_table_is_taken(state: EndpointState, event: EndpointEvent) -> None:
    """An outcome that differs from the table's is refused. Rules: DM-26"""
    for after in filter(None, EXAMPLES.values()):
        if after.state is TRANSITIONS[state, event]:
            assert endpoints._checked(EXAMPLES[state], event, after) is after
        else:
            with pytest.raises(InvariantError):
                endpoints._checked(EXAMPLES[state], event, after)


def _reach(state: EndpointState) -> Bench:
    """A bench whose resource has an endpoint in that state, stopped at 0 if it is."""
    bench = Bench()
    match state:
        case EndpointState.LIVE:
            bench.serve("a")
        case EndpointState.STOPPED:
            bench.end(bench.serve("a"), 0.0)
        case EndpointState.PLACEHOLDER:
            bench.manager.apply(restored(CheckpointDocument(None, {DEV: ("a",)}), 0.0))
    return bench


def _disconnect(bench: Bench) -> None:
    """End a stream whose client is in the table, without a registration that succeeds."""
    endpoint = bench.state.endpoints.get(DEV)
    if endpoint is not None and endpoint.state is EndpointState.LIVE and endpoint.client is not None:
        bench.end(endpoint.client, 1.0)
        return
    waiting = bench.registering()
    client = bench.state.clients[DEV]
    bench.end(client, 1.0)
    waiting.close()


DO: dict[EndpointEvent, Callable[[Bench], object]] = {
    EndpointEvent.CONNECTED: lambda bench: bench.register(),
    EndpointEvent.DISCONNECTED: _disconnect,
    EndpointEvent.RESTORED: lambda bench: bench.manager.apply(restored(CheckpointDocument(None, {DEV: ()}))),
    EndpointEvent.EXPIRED: lambda bench: bench.round(GONE_S + 1),
}


@pytest.mark.parametrize("state, event", TRANSITIONS)
def test_the_manager_follows_the_table(state: EndpointState, event: EndpointEvent) -> None:
    """Facts and registrations lead an endpoint along the table. Rules: DM-26, DM-44, DM-47, DM-145"""
    bench = _reach(state)
    assert endpoints.state_of(bench.state.endpoints.get(DEV)) is state

    DO[event](bench)

    assert endpoints.state_of(bench.state.endpoints.get(DEV)) is TRANSITIONS[state, event]


@pytest.mark.parametrize(
    "elapsed, is_over", [(0.0, False), (GONE_S, False), (math.nextafter(GONE_S, math.inf), True), (1e9, True)]
)
def test_the_grace_period_is_over_strictly_after_five_minutes(elapsed: float, is_over: bool) -> None:
    """Exactly five minutes are still grace, for stopped endpoints and placeholders alike. Rules: DM-47, DM-70"""
    assert grace_period_is_over(Endpoint(DEV, ClientID(1), OPTIONS, 0.0), elapsed) is is_over
    assert grace_period_is_over(Endpoint(DEV, stopped_at_s=0.0), elapsed) is is_over
    assert not grace_period_is_over(Endpoint(DEV, ClientID(1), OPTIONS), elapsed)


def test_a_live_endpoint_cannot_expire() -> None:
    """Only what is stopped is ever removed: anything else is a bug of ours. Rules: DM-47"""
    endpoints.expired(Endpoint(DEV, stopped_at_s=0.0))
    with pytest.raises(InvariantError, match="cannot expire"):
        endpoints.expired(Endpoint(DEV, ClientID(1), OPTIONS))
