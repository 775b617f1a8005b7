from __future__ import annotations

import pytest

from kubelet_sim.core.facts import RuntimeListed
from kubelet_sim.core.ports import Sorted
from kubelet_sim.core.state import Context, State
from kubelet_sim.profiles import V1_36
from kubelet_sim.transcript import Decision, RecordLevel
from tests.unit.core.bench import DEV, NIC, Bench, Notes


@pytest.mark.parametrize("healthy, in_use, known", [(0, 0, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1)])
def test_which_names_are_the_device_managers(healthy: int, in_use: int, known: int) -> None:
    """A key of the healthy sets or of the ids in use is enough, empty or not; nothing else counts. Rules: DM-83"""
    state = State(unhealthy={DEV: set()}, devices={DEV: {}})
    if healthy:
        state.healthy[DEV] = frozenset()
    if in_use:
        state.allocations.in_use[DEV] = set()

    assert state.is_device_plugin_resource(DEV) == bool(known)
    assert not state.is_device_plugin_resource(NIC)
    assert not state.is_device_plugin_resource("cpu")


def test_decisions_are_written_where_they_are_taken() -> None:
    """Rules come as a list, details as given, and a warning is one. Rules: DM-221"""
    notes = Notes()
    context = Context(State(), V1_36, Sorted(), notes)

    context.say("DM-1 DM-2", "subject", "text", count=1)
    context.warn("DM-3", "subject", "other")

    assert notes.decisions == [
        Decision("subject", "text", ("DM-1", "DM-2"), RecordLevel.INFO, {"count": 1}),
        Decision("subject", "other", ("DM-3",), RecordLevel.WARNING, {}),
    ]


def test_the_snapshot_of_the_runtime_is_replaced_as_a_whole() -> None:
    """It is what the runtime reported at the start. Rules: DM-7, DM-110"""
    bench = Bench()
    bench.manager.apply(RuntimeListed(frozenset()))

    assert bench.state.running_at_start == frozenset()
