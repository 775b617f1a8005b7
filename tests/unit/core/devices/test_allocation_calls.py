"""What a plugin answers to Allocate, what stays when something fails, and what may happen in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import pytest

from kubelet_sim.core.devices.allocation import _allocating_resource
from kubelet_sim.core.effects import CallAllocate, WriteCheckpoint
from kubelet_sim.errors import AllocationFailed, CheckpointNotWritten, RpcFailed
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.plugin import AllocateAnswer
from tests.unit.core.bench import (
    DEV,
    NIC,
    Bench,
    Preferring,
    Steps,
    container,
    dev,
    grant,
    pod,
    pod_of,
    scripted,
    snapshot,
    written,
)

T = TypeVar("T")
BAD = RpcFailed("InvalidArgument", "bad device")


def _unavailable(wanted: int, available: int) -> str:
    return f"requested number of devices unavailable for {DEV}. Requested: {wanted}, Available: {available}"


def _allocate_calls(steps: Steps[T]) -> list[CallAllocate]:
    return [effect for effect in steps.seen if isinstance(effect, CallAllocate)]


# -------------------------------------------------------------------------------------------------- what a plugin answers


def test_an_error_of_the_plugin_refuses_the_pod() -> None:
    """The text is passed on as it is, there is one call only, the ids are free again. Rules: DM-78, DM-98"""
    bench = Bench()
    bench.serve("a", "b")
    bench.admit(pod("q", {DEV: 1}))
    steps = bench.admitting(pod("p", {DEV: 1}))

    steps.answer(BAD)

    assert steps.result == Rejected(
        "UnexpectedAdmissionError",
        "Allocate failed due to rpc error: code = InvalidArgument desc = bad device, which is unexpected",
    )
    assert len(steps.seen) == 1
    assert bench.in_use() == {"a"}
    assert bench.admit(pod("p", {DEV: 1})) == Admitted()


def test_an_empty_response_is_fine() -> None:
    """A container response without content is recorded like any other. Rules: DM-99"""
    bench = Bench()
    bench.serve("a")

    assert bench.admit(pod("p", {DEV: 1}), scripted(CallAllocate, AllocateAnswer((grant(),)))) == Admitted()
    assert bench.ids("p") == {"a"}


def test_only_the_first_response_counts() -> None:
    """Further container responses are ignored. Rules: DM-99"""
    bench = Bench()
    bench.serve("a")
    bench.admit(pod("p", {DEV: 1}), scripted(CallAllocate, AllocateAnswer((grant("1"), grant("2"), grant("3")))))

    record = bench.state.allocations.record(PodUID("p"), ContainerName("main"), DEV)

    assert record is not None
    assert record.response == grant("1")
    assert record.ids == {"a"}
    assert bench.notes.warnings("DM-99")


def _leaking(bench: Bench) -> None:
    """An answer without container response."""
    text = bench.refusal(pod("leak", {DEV: 1}), scripted(CallAllocate, AllocateAnswer(())))
    assert text == "no containers return in allocation response "


def test_no_response_leaks_the_ids() -> None:
    """The ids stay in use without an owner, and a reclaim that removes nobody does not help. Rules: DM-99, DM-102"""
    bench = Bench()
    client = bench.serve("a", "b")
    _leaking(bench)
    assert bench.ids("leak") is None

    for _ in range(2):
        bench.reclaim()
        bench.list(client, "a", "b")
        bench.round(1.0)
        assert bench.in_use() == {"a"}
        assert bench.refusal(pod("p", {DEV: 2})) == _unavailable(2, 1)
    assert bench.state.allocations.unrecorded() == {(DEV, "a")}


def _end_of_another_pod(bench: Bench) -> Bench:
    bench.serve("x", resource=NIC)
    bench.admit(pod("other", {NIC: 1}))
    bench.remove("other")
    bench.reclaim()
    return bench


def _failure_of_another_resource(bench: Bench) -> Bench:
    bench.serve("x", resource=NIC)
    bench.refusal(pod("other", {NIC: 1}), scripted(CallAllocate, BAD))
    return bench


def _stopped_endpoint_of_another_resource(bench: Bench) -> Bench:
    older, newer = bench.serve("x", resource=NIC), bench.register(NIC)
    bench.end(newer)
    bench.list(older, "x")
    assert "has been stopped" in bench.refusal(pod("other", {NIC: 1}))
    return bench


def _restart(bench: Bench) -> Bench:
    after = bench.restarted(CheckpointDocument(None, {DEV: ("a", "b")}), ready=True)
    after.serve("a", "b")
    return after


@pytest.mark.parametrize(
    "remedy",
    [_end_of_another_pod, _failure_of_another_resource, _stopped_endpoint_of_another_resource, _restart],
)
def test_when_leaked_ids_come_back(remedy: Callable[[Bench], Bench]) -> None:
    """When the ids are counted anew, whoever caused it. Rules: DM-46, DM-98, DM-102"""
    bench = Bench()
    bench.serve("a", "b")
    _leaking(bench)

    after = remedy(bench)

    assert not after.state.allocations.unrecorded()
    assert after.admit(pod("p", {DEV: 2})) == Admitted()


def test_a_missing_endpoint_counts_anew() -> None:
    """An endpoint that is gone when it is to be called: `unknown Device Plugin`, and leaked ids are free. Rules: DM-89, DM-102"""
    bench = Bench()
    bench.serve("a", "b")
    _leaking(bench)
    wanted = pod("p", {DEV: 1})

    class Vanishing:
        """Takes the endpoint away between the choice and the call."""

        def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
            comparable: list[T] = list(items)
            if rule == "DM-92" and comparable:
                bench.state.endpoints.clear()
            return comparable

    bench.manager.context.order = Vanishing()
    with pytest.raises(AllocationFailed, match=f"^unknown Device Plugin {DEV}$"):
        next(_allocating_resource(bench.manager.context, wanted, wanted.containers[0], DEV))
    assert bench.in_use() is None


# ---------------------------------------------------------------------------- nothing is rolled back (DM-100, DM-101)


def test_a_checkpoint_that_cannot_be_written() -> None:
    """It refuses the pod with the cause, while the records stay in memory. Rules: DM-79, DM-100"""
    bench = Bench()
    bench.serve("a")

    text = bench.refusal(pod("p", {DEV: 1}), scripted(WriteCheckpoint, CheckpointNotWritten("no space left")))

    assert text == 'failed to write checkpoint file "kubelet_internal_checkpoint": no space left'
    assert bench.ids("p") == bench.in_use() == {"a"}
    assert bench.state.active_pods == {}
    assert bench.admit(pod("q", {DEV: 1})) == Admitted()
    assert bench.ids("p") is None


def test_an_earlier_resource_stays_allocated() -> None:
    """A later resource of the container fails: the first is recorded, but nothing is written. Rules: DM-101, DM-136"""
    bench = Bench()
    bench.serve("a")
    bench.serve("x", resource=NIC)
    steps = bench.admitting(pod("p", {DEV: 1, NIC: 1}))

    steps.answer(AllocateAnswer((grant("a"),)))
    steps.answer(BAD)

    assert isinstance(steps.result, Rejected)
    assert bench.ids("p") == {"a"}
    assert bench.ids("p", resource=NIC) is None
    assert not written(steps.seen)
    assert bench.in_use() == {"a"}
    assert bench.in_use(NIC) is None


def test_an_earlier_container_stays_allocated() -> None:
    """A later container fails: the first one's record stays, and was written. Rules: DM-101"""
    bench = Bench()
    bench.serve("a", "b")
    steps = bench.admitting(pod_of("p", container("one", {DEV: 1}), container("two", {DEV: 2})))

    verdict = steps.finish()

    assert isinstance(verdict, Rejected)
    assert _unavailable(2, 1) in verdict.message
    assert bench.ids("p", "one") == {"a"}
    assert len(written(steps.seen)) == 1


def test_a_refused_pod_is_reclaimed_by_the_next() -> None:
    """It is inactive at once: whoever asks for devices next finds its devices free. Rules: DM-101, DM-115"""
    bench = Bench()
    bench.serve("a", "b")
    bench.admit(pod_of("p", container("one", {DEV: 2}), container("two", {DEV: 1})))
    assert bench.ids("p", "one") == {"a", "b"}

    assert bench.admit(pod("q", {DEV: 2})) == Admitted()
    assert bench.ids("p", "one") is None


def test_it_stops_at_the_first_failure() -> None:
    """Containers after a refused one are not looked at. Rules: DM-75"""
    bench = Bench()
    bench.serve("a")
    bench.serve("x", resource=NIC)

    steps = bench.admitting(pod_of("p", container("one", {DEV: 5}), container("two", {NIC: 1})))

    assert steps.is_over
    assert steps.seen == []


# ------------------------------------------------------------------- what happens during a call (DM-44, DM-59, DM-97)


def test_the_plugin_leaves_during_allocate() -> None:
    """Its stream ends, the call fails with it, the pod is refused. Rules: DM-44, DM-98"""
    bench = Bench()
    client = bench.serve("a")
    steps = bench.admitting(pod("p", {DEV: 1}))
    bench.end(client)

    steps.answer(RpcFailed("Canceled", "grpc: the client connection is closing"))

    assert isinstance(steps.result, Rejected)
    assert "rpc error: code = Canceled desc = grpc: the client connection is closing" in steps.result.message
    assert bench.in_use() is None


def test_a_device_turns_unhealthy_during_allocate() -> None:
    """The choice is not looked at again: the device is recorded all the same. Rules: DM-59, DM-97, DM-98"""
    bench = Bench()
    client = bench.serve(dev("a", 2))
    steps = bench.admitting(pod("p", {DEV: 1}))
    bench.list(client, Device(dev("a").id, "Unhealthy", dev("a", 2).topology))

    assert steps.finish() == Admitted()
    assert bench.ids("p") == {"a"}
    assert not bench.notes.warnings("DM-59")


@pytest.mark.parametrize("left", [(), (dev("b", 1),)])
def test_a_device_vanishes_during_allocate(left: tuple[Device, ...]) -> None:
    """It is recorded as one without topology, where a kubelet of this version crashes. Rules: DM-59"""
    bench = Bench()
    client = bench.serve(dev("a", 1), dev("b", 1))
    steps = bench.admitting(pod("p", {DEV: 2}))
    bench.list(client, *left)

    assert steps.finish() == Admitted()

    record = bench.state.allocations.record(PodUID("p"), ContainerName("main"), DEV)
    assert record is not None
    assert record.devices == ({-1: ("a", "b")} if not left else {-1: ("a",), 1: ("b",)})
    assert bench.notes.warnings("DM-59")


def test_a_plugin_registers_anew_during_allocate() -> None:
    """The call under way is the old plugin's; its answer is recorded. Rules: DM-31, DM-97"""
    bench = Bench()
    bench.serve("a")
    steps = bench.admitting(pod("p", {DEV: 1}))
    bench.serve("a", "b")

    assert steps.finish() == Admitted()
    assert len(_allocate_calls(steps)) == 1
    assert bench.ids("p") == {"a"}


def _raced(bench: Bench) -> None:
    """A pod is admitted, and another one reclaimed while its Allocate call runs."""
    bench.serve("a", "b", "c")
    bench.round()
    bench.admit(pod("old", {DEV: 1}))
    steps = bench.admitting(pod("p", {DEV: 1}))
    bench.remove("old")
    bench.reclaim()
    assert steps.finish() == Admitted()


def test_a_reclaim_during_allocate_forgets_the_choice() -> None:
    """The chosen id is recorded and counts as free: the next pod can be given the same one. Rules: DM-97"""
    bench = Bench(order=Preferring("a", "b"))
    _raced(bench)
    assert bench.ids("p") == {"b"}
    assert bench.state.allocations.forgotten() == {(DEV, "b")}
    assert bench.notes.warnings("DM-97")

    bench.manager.context.order = Preferring("b")
    assert bench.admit(pod("q", {DEV: 1})) == Admitted()

    assert bench.ids("q") == bench.ids("p") == {"b"}
    assert bench.state.allocations.shared == {(DEV, "b")}
    assert bench.refusal(pod("r", {DEV: 3})) == _unavailable(3, 2)


def test_a_new_count_finds_the_forgotten_again() -> None:
    """As soon as the ids are counted anew, the recorded one is in use again. Rules: DM-97, DM-102"""
    bench = Bench()
    _raced(bench)
    bench.refusal(pod("other", {DEV: 1}), scripted(CallAllocate, BAD))

    assert bench.in_use() == bench.ids("p")
    assert not bench.state.allocations.forgotten()


def test_a_reclaim_during_allocate_leaves_the_name_unknown() -> None:
    """The record does not make the lost name known again, so that a node without it has no say. Rules: DM-80, DM-83, DM-97"""
    bench = Bench()
    bench.serve("a", "b")
    bench.admit(pod("old", {DEV: 1}))
    steps = bench.admitting(pod("p", {DEV: 1}))
    bench.remove("old")
    bench.reclaim()

    assert steps.finish() == Admitted()
    assert bench.in_use() is None


def test_a_reclaim_during_a_call_that_answers_nothing() -> None:
    """What the reclaim has forgotten is free when the answer has no container response: nothing leaks. Rules: DM-97, DM-102"""
    bench = Bench()
    bench.serve("a", "b")
    bench.admit(pod("old", {DEV: 1}))
    steps = bench.admitting(pod("p", {DEV: 1}))
    bench.remove("old")
    bench.reclaim()

    assert isinstance(steps.answer(AllocateAnswer(())).result, Rejected)
    assert bench.in_use() is None
    assert not bench.state.allocations.unrecorded()


def test_a_reclaim_while_the_checkpoint_is_written() -> None:
    """The record is there by then, so that nothing is lost. Rules: DM-97, DM-100"""
    bench = Bench()
    bench.serve("a", "b")
    bench.admit(pod("old", {DEV: 1}))
    steps = bench.admitting(pod("p", {DEV: 1}))
    steps.answer(AllocateAnswer((grant("b"),)))
    bench.remove("old")
    bench.reclaim()

    assert steps.finish() == Admitted()
    assert bench.in_use() == bench.ids("p") == {"b"}


def test_reclaim_comes_once_before_the_first_resource() -> None:
    """Before the choice, of every container anew; what ends later in the container is not seen. Rules: DM-89, DM-115"""
    bench = Bench()
    bench.serve("a")
    bench.serve("x", resource=NIC)
    bench.admit(pod("old", {NIC: 1}))
    steps = bench.admitting(pod_of("p", container("one", {DEV: 1, NIC: 1})))
    bench.remove("old")

    steps.answer(AllocateAnswer((grant("a"),)))

    assert isinstance(steps.result, Rejected)
    assert bench.ids("old", resource=NIC) == {"x"}


def test_reclaim_comes_for_each_container() -> None:
    """What ended during the first container's calls is free for the second. Rules: DM-89, DM-115"""
    bench = Bench()
    bench.serve("a")
    bench.serve("x", resource=NIC)
    bench.admit(pod("old", {NIC: 1}))
    steps = bench.admitting(pod_of("p", container("one", {DEV: 1}), container("two", {NIC: 1})))
    bench.remove("old")

    assert steps.finish() == Admitted()
    assert bench.ids("p", "two", NIC) == {"x"}


def test_a_limit_of_zero_reclaims() -> None:
    """Any limit of a device resource is enough. Rules: DM-115"""
    bench = Bench()
    bench.serve("a")
    bench.admit(pod("old", {DEV: 1}))
    bench.remove("old")

    bench.admit(pod("p", {DEV: 0}))

    assert bench.ids("old") is None
    assert bench.in_use() is None


@pytest.mark.parametrize("at", [0, 1])
def test_the_kubelet_ends_during_an_allocation(at: int) -> None:
    """Nothing is cleaned up: what was recorded stays recorded, for nobody to see. Rules: DM-16, DM-101"""
    bench = Bench()
    bench.serve("a")
    steps = bench.admitting(pod("p", {DEV: 1}))
    if at:
        steps.answer(AllocateAnswer((grant("a"),)))
    before = snapshot(bench.state)

    steps.close()

    assert snapshot(bench.state) == before
