from __future__ import annotations

from collections.abc import Callable

import pytest

from kubelet_sim.core.effects import CallAllocate
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.node import NodeObject
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.model.pod import ContainerKind
from tests.unit.core.bench import (
    DEV,
    GONE_S,
    NIC,
    Bench,
    Steps,
    container,
    grant,
    pod,
    pod_of,
    quantities,
    scripted,
    sick,
)

INIT, SIDECAR = ContainerKind.INIT, ContainerKind.SIDECAR


def test_a_pod_without_devices_is_admitted_without_any_effect() -> None:
    """It is admitted without any effect. Rules: DM-72, DM-83"""
    steps = Bench().admitting(pod("p", {"cpu": 1}))

    assert (steps.result, steps.seen) == (Admitted(), [])


def test_containers_are_allocated_in_the_order_of_the_spec() -> None:
    """Init containers in spec order, sidecars in their place, then the app containers. Rules: DM-75"""
    bench = Bench()
    bench.serve(*"abcdefghijklmno")
    names = {"i1": 1, "side": 2, "i2": 3, "app2": 4, "app1": 5}
    wanted = pod_of(
        "p",
        container("app2", {DEV: 4}),
        container("app1", {DEV: 5}),
        init=[
            container("i1", {DEV: 1}, kind=INIT),
            container("side", {DEV: 2}, kind=SIDECAR),
            container("i2", {DEV: 3}, kind=INIT),
        ],
    )
    steps = bench.admitting(wanted)
    steps.finish()

    sizes = [len(effect.device_ids) for effect in steps.seen if isinstance(effect, CallAllocate)]
    assert sizes == list(names.values())
    assert {name: len(bench.ids("p", name) or ()) for name in names} == names


def test_the_pod_is_active_while_it_is_admitted() -> None:
    """A reclaim in the middle does not take what its first container was given. Rules: DM-117"""
    bench = Bench()
    bench.serve("a", "b", "c")
    bench.admit(pod("old", {DEV: 1}))
    steps = bench.admitting(pod_of("p", container("one", {DEV: 1}), container("two", {DEV: 1})))
    assert PodUID("p") in bench.state.active_pods
    steps.answer(AllocateAnswer((grant("b"),)))
    bench.remove("old")

    assert steps.finish() == Admitted()
    assert bench.ids("p", "one") == {"b"}
    assert bench.ids("p", "two") is not None
    assert set(bench.state.active_pods) == {"p"}


def test_a_refused_pod_is_inactive_at_once() -> None:
    """It leaves the active pods with the verdict, as does one that was active before a restart. Rules: DM-101, DM-116"""
    bench = Bench()
    bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))
    assert set(bench.state.active_pods) == {"p"}
    bench.end(bench.state.clients[DEV])

    assert isinstance(bench.admit(pod("p", {DEV: 1})), Rejected)
    assert bench.state.active_pods == {}


def test_a_pod_that_is_removed_while_it_is_admitted() -> None:
    """It is inactive from then on, and what it gets is reclaimed like anybody's. Rules: DM-115, DM-116"""
    bench = Bench()
    bench.serve("a")
    steps = bench.admitting(pod("p", {DEV: 1}))
    bench.remove("p")

    assert steps.finish() == Admitted()
    assert bench.ids("p") == {"a"}
    assert bench.admit(pod("q", {DEV: 1})) == Admitted()
    assert bench.ids("p") is None


def test_an_allocation_error_is_wrapped() -> None:
    """Reason and message are the kubelet's, the plugin's error in the middle as it is. Rules: DM-77, DM-78"""
    bench = Bench()
    bench.serve("a")

    assert bench.admit(pod("p", {DEV: 1}), scripted(CallAllocate, RpcFailed("Unknown", "x\ny"))) == Rejected(
        "UnexpectedAdmissionError", "Allocate failed due to rpc error: code = Unknown desc = x\ny, which is unexpected"
    )
    assert bench.admit(pod("p", {DEV: 2})) == Rejected(
        "UnexpectedAdmissionError",
        "Allocate failed due to requested number of devices unavailable for example.com/dev. "
        "Requested: 2, Available: 1, which is unexpected",
    )


def test_devices_are_allocated_before_the_node_is_looked_at() -> None:
    """Allocate is called for a pod that the node has no room for. Rules: DM-72, DM-195"""
    bench = Bench(machine=quantities({"pods": 0}))
    bench.serve("a")

    steps = bench.admitting(pod("p", {DEV: 1}))

    assert isinstance(steps.effect, CallAllocate)
    assert steps.finish() == Rejected(
        "OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 0, capacity: 0"
    )


def test_an_allocation_error_is_told_before_a_shortage() -> None:
    """Of both reasons the devices' is given. Rules: DM-72"""
    bench = Bench(machine=quantities({"pods": 0}))
    bench.serve("a")

    assert "Available: 1" in bench.refusal(pod("p", {DEV: 2}))


def test_verdicts_are_noted() -> None:
    """A refusal is a warning with reason and message, an admission is a plain note. Rules: DM-72, DM-77"""
    bench = Bench()
    bench.admit(pod("fine"))
    bench.admit(pod("big", {"cpu": 1000}))

    assert [decision.subject for decision in bench.notes.of("DM-72")] == ["default/fine"]
    assert [decision.subject for decision in bench.notes.warnings("DM-77")] == ["default/big"]
    assert "OutOfcpu" in bench.notes.warnings("DM-77")[0].text


# ------------------------------------------------------ what a pod sees that is bound here in spite of missing devices

OUT_OF = Rejected(f"OutOf{DEV}", f"Node didn't have enough resource: {DEV}, requested: 1, used: 0, capacity: 0")


def _wrapped(text: str) -> Rejected:
    return Rejected("UnexpectedAdmissionError", f"Allocate failed due to {text}, which is unexpected")


NO_HEALTHY = _wrapped(f"no healthy devices present; cannot allocate unhealthy devices {DEV}")
UNREGISTERED = _wrapped(f"cannot allocate unregistered device {DEV}")


def _failed_stream(bench: Bench) -> Bench:
    bench.end(bench.register(), 0.0)
    bench.round(1.0)
    return bench


def _registered(bench: Bench) -> Bench:
    bench.register()
    bench.round(1.0)
    return bench


def _all_taken(bench: Bench) -> Bench:
    bench.serve("a")
    bench.round()
    bench.admit(pod("holder", {DEV: 1}))
    return bench


def _all_sick(bench: Bench) -> Bench:
    bench.serve(sick("a"))
    bench.round()
    return bench


def _gone(bench: Bench) -> Bench:
    bench.serve("a")
    bench.round()
    bench.end(bench.state.clients[DEV], 0.0)
    return bench


def _restarted(bench: Bench) -> Bench:
    bench.serve("a")
    bench.round()
    return bench.restarted(CheckpointDocument(None, {DEV: ("a",)}), ready=True)


def _removed(bench: Bench) -> Bench:
    _gone(bench).round(GONE_S + 1)
    return bench


def _zero_never_stored(bench: Bench) -> Bench:
    _removed(bench)
    bench.state.node = NodeObject(
        {**bench.state.node.capacity, **quantities({DEV: 1})}, {**bench.state.node.allocatable, **quantities({DEV: 0})}
    )
    bench.round(GONE_S + 2)
    return bench


def _removed_with_holder(bench: Bench) -> Bench:
    _all_taken(bench)
    bench.end(bench.state.clients[DEV], 0.0)
    bench.round(GONE_S + 1)
    return bench


SITUATIONS: dict[str, tuple[Callable[[Bench], Bench], Admission]] = {
    "never in node status": (lambda bench: bench, Admitted()),
    "stream failed before any message": (_failed_stream, OUT_OF),
    "no message yet": (_registered, Admitted()),
    "fewer free than requested": (
        _all_taken,
        _wrapped(f"requested number of devices unavailable for {DEV}. Requested: 1, Available: 0"),
    ),
    "all unhealthy": (_all_sick, NO_HEALTHY),
    "plugin gone": (_gone, NO_HEALTHY),
    "kubelet restarted, plugin not back": (_restarted, NO_HEALTHY),
    "removed": (_removed, OUT_OF),
    "removed, but the zero was never stored": (_zero_never_stored, Admitted()),
    "removed, some pod still holds devices": (_removed_with_holder, UNREGISTERED),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_pod_that_asks_for_a_missing_device_is_rejected(situation: str) -> None:
    """The verdict on a pod that asks for one device, line by line of the table; no call is made. Rules: DM-81"""
    story, expected = SITUATIONS[situation]
    bench = story(Bench())

    steps = bench.admitting(pod("p", {DEV: 1}))

    assert steps.seen == []
    assert steps.result == expected
    assert bench.ids("p") is None


def test_running_without_a_device_is_worth_a_word() -> None:
    """An admitted pod that asks for an unknown resource is warned about; one that asks for 0 is not. Rules: DM-81"""
    bench = Bench()
    bench.admit(pod("p", {DEV: 1, "cpu": 1}))
    bench.admit(pod("q", {NIC: 0}))

    (warning,) = bench.notes.warnings("DM-81")
    assert warning.subject == "default/p"
    assert DEV in warning.text


def test_admissions_of_one_pod_in_two_kubelets() -> None:
    """A walk is bound to its own manager: another one's state is not touched. Rules: DM-16"""
    old, new = Bench(), Bench()
    old.serve("a")
    steps: Steps[Admission] = old.admitting(pod("p", {DEV: 1}))
    steps.close()

    assert new.state.active_pods == {}
    assert not new.state.allocations.pods()
