"""The choice of devices: which are taken, what the plugin is asked, and what happens while it thinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kubelet_sim.core.effects import CallAllocate, CallGetPreferredAllocation
from kubelet_sim.core.ports import Order
from kubelet_sim.core.topology.hints import Hint
from kubelet_sim.core.topology.masks import mask_of
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ClientID, ContainerName, DeviceID, PodUID
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions
from kubelet_sim.model.pod import ContainerKind, Pod
from kubelet_sim.model.response import ContainerResponse
from tests.unit.core.bench import (
    BOOM,
    DEV,
    GONE_S,
    NIC,
    PREFERS,
    Bench,
    Reversed,
    Shuffled,
    Steps,
    asked,
    calls,
    container,
    dev,
    init,
    pod,
    pod_of,
    scripted,
    sick,
    sidecar,
    topology,
)

OK = AllocateAnswer((ContainerResponse(),))
NUMA = (dev("a0", 0), dev("b0", 0), dev("c0", 0), dev("d1", 1), dev("e1", 1), dev("f"), dev("g", -1))
"""Three on node 0, two on node 1, two on none."""


def _failed(text: str) -> Rejected:
    return Rejected("UnexpectedAdmissionError", f"Allocate failed due to {text}, which is unexpected")


def _preference_failed(error: object) -> Rejected:
    return _failed(f"device plugin GetPreferredAllocation rpc failed with err: {error}")


def _aligned(bench: Bench, count: int, *nodes: int, extra: Sequence[str] = ()) -> Steps[Admission]:
    """An admission under policy none, whose container has an affinity all the same: the choice goes by that alone."""
    wanted = pod("p", {DEV: count})
    for name in extra:
        bench.state.allocations.take(DEV, DeviceID(name))
    bench.state.affinities.store(wanted.uid, ContainerName("main"), Hint(mask_of(nodes)))
    return bench.admitting(wanted)


# ------------------------------------------------------------------------------------------------ whether it is asked


@pytest.mark.parametrize("options", [None, PluginOptions(), PluginOptions(pre_start_required=True)])
def test_a_plugin_that_does_not_want_to_be_asked(options: PluginOptions | None) -> None:
    """It is not. Rules: DM-93"""
    bench = Bench()
    bench.serve("a", "b", options=options)

    assert asked(bench.admitting(pod("p", {DEV: 1}))) == []


@pytest.mark.parametrize("count", [1, 2, 3])
def test_it_is_asked_even_without_a_choice(count: int) -> None:
    """Without NUMA nodes always, whatever is free; with the full number and nothing given. Rules: DM-92, DM-93, DM-94"""
    bench = Bench()
    client = bench.serve("a", "b", "c", sick("d"), options=PREFERS)
    steps = bench.admitting(pod("p", {DEV: count}))

    assert steps.effect == CallGetPreferredAllocation(client, tuple(map(DeviceID, "abc")), (), count)


@pytest.mark.parametrize("count", [0, 4])
def test_it_is_not_asked_for_nothing_or_in_vain(count: int) -> None:
    """A limit of 0, and one that cannot be met, are settled before. Rules: DM-90, DM-93"""
    bench = Bench()
    bench.serve("a", "b", "c", options=PREFERS)

    assert asked(bench.admitting(pod("p", {DEV: count}))) == []


def test_what_others_have_is_not_offered() -> None:
    """Free and healthy devices only. Rules: DM-90, DM-94"""
    bench = Bench()
    bench.serve("a", "b", "c", sick("d"), options=PREFERS)
    bench.admit(pod("q", {DEV: 1}))

    assert asked(bench.admitting(pod("p", {DEV: 1}))) == [({"b", "c"}, set(), 1)]


def test_the_options_of_the_current_endpoint_count() -> None:
    """Not those that an earlier registration brought. Rules: DM-31, DM-93"""
    bench = Bench()
    bench.serve("a", options=PREFERS)
    bench.serve("a")
    steps = bench.admitting(pod("p", {DEV: 1}))
    steps.finish()
    assert asked(steps) == []

    newer = bench.register(options=PREFERS)
    bench.list(newer, "a", "b")
    steps = bench.admitting(pod("q", {DEV: 1}))
    assert isinstance(steps.effect, CallGetPreferredAllocation)
    assert steps.effect.client == newer


# ----------------------------------------------------------------------------------------------- the two cases


def test_more_are_aligned_than_needed() -> None:
    """The plugin is asked of the aligned ones alone. Rules: DM-92, TM-66"""
    bench = Bench(numa=(0, 1))
    bench.serve(*NUMA, options=PREFERS)
    steps = _aligned(bench, 2, 0)

    assert asked(steps) == [({"a0", "b0", "c0"}, set(), 2)]
    assert calls(steps.answer(("c0", "b0"))) == [("b0", "c0")]


def test_what_is_preferred_outside_of_the_aligned_is_ignored() -> None:
    """Aligned ones take its place. Rules: DM-92, DM-95, TM-66"""
    bench = Bench(numa=(0, 1))
    bench.serve(*NUMA, options=PREFERS)
    steps = _aligned(bench, 2, 0).answer(("d1", "c0", "f"))

    ((first, second),) = calls(steps)
    assert {first, second} - {"c0"} <= {"a0", "b0"}
    assert "c0" in (first, second)
    assert len(bench.notes.warnings("DM-95")) == 1


def test_just_as_many_are_aligned_as_needed() -> None:
    """All of them are taken, and nobody is asked. Rules: DM-92, DM-93, TM-66"""
    bench = Bench(numa=(0, 1))
    bench.serve(*NUMA, options=PREFERS)
    steps = _aligned(bench, 3, 0)

    assert asked(steps) == []
    assert calls(steps) == [("a0", "b0", "c0")]


def test_fewer_are_aligned_than_needed() -> None:
    """All of them are taken and given, the plugin may choose the rest of everything free, in any mix. Rules: DM-92, DM-94, DM-95, TM-66"""
    bench = Bench(numa=(0, 1))
    bench.serve(*NUMA, options=PREFERS)
    steps = _aligned(bench, 5, 0)

    assert asked(steps) == [({"a0", "b0", "c0", "d1", "e1", "f", "g"}, {"a0", "b0", "c0"}, 5)]
    assert bench.in_use() == {"a0", "b0", "c0"}
    assert calls(steps.answer(("g", "e1"))) == [("a0", "b0", "c0", "e1", "g")]


def test_without_a_preference_unaligned_ones_come_first() -> None:
    """Then those without affinity. Rules: DM-92, TM-66"""
    for count, expected in ((4, {"d1", "e1", "f", "g"}), (5, set())):
        bench = Bench(numa=(0, 1), order=Reversed())
        bench.serve(*NUMA)
        ((*ids,),) = calls(_aligned(bench, count, 0))
        assert {"a0", "b0", "c0"} < set(ids)
        rest = set(ids) - {"a0", "b0", "c0"}
        assert rest == {"d1", "e1"} if not expected else rest < {"d1", "e1"}
    bench = Bench(numa=(0, 1), order=Reversed())
    bench.serve(*NUMA)
    assert set(calls(_aligned(bench, 6, 0))[0]) > {"d1", "e1"}


def test_nothing_is_aligned() -> None:
    """An affinity that no device meets still parts those elsewhere from those nowhere. Rules: DM-91, DM-92, TM-64"""
    bench = Bench(numa=(0, 1, 2), order=Reversed())
    bench.serve(*NUMA)

    assert set(calls(_aligned(bench, 5, 2))[0]) == {"a0", "b0", "c0", "d1", "e1"}


def test_handed_on_devices_are_given_in_both_cases() -> None:
    """They are in what is offered, in what is given, and in the number. Rules: DM-92, DM-94, TM-66"""
    for nodes, offered, given in (
        ((0,), {"a0", "b0", "c0"}, {"a0"}),
        ((1,), {"a0", "b0", "c0", "d1", "e1", "f", "g"}, {"a0", "d1", "e1"}),
    ):
        bench = Bench(numa=(0, 1))
        bench.serve(*NUMA)
        wanted = pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 2 if nodes == (0,) else 5}))
        bench.register(options=PREFERS)
        bench.state.affinities.store(wanted.uid, ContainerName("main"), Hint(mask_of(nodes)))
        steps = bench.admitting(wanted)
        steps.answer(("a0",)).answer(OK).answer()
        available, must_include, size = asked(steps)[-1]
        assert (available, must_include) == (offered, given)
        assert size == (2 if nodes == (0,) else 5)


# -------------------------------------------------------------------------------------------------- bad answers


@pytest.mark.parametrize(
    "answer, must_have, only",
    [
        ((), "", "bcde"),
        (("d",), "d", "bcde"),
        (("d", "d", "d"), "d", "bcde"),
        (("x", "y", ""), "", "bcde"),
        (("a", "s", "d"), "d", "bcde"),
        (("b", "c", "d", "e"), "", "bcde"),
        (("e", "d", "n"), "de", "de"),
    ],
)
def test_a_bad_preference_is_filtered_and_completed(answer: tuple[str, ...], must_have: str, only: str) -> None:
    """Foreign, taken, sick, repeated, too few, too many: two free ones come of it. Rules: DM-95, DM-201"""
    bench = Bench()
    bench.serve("a", *"bcde", sick("s"), options=PREFERS)
    bench.serve("n", resource=NIC)
    bench.state.allocations.take(DEV, DeviceID("a"))
    steps = bench.admitting(pod("p", {DEV: 2})).answer(answer)

    ((*ids,),) = calls(steps)
    assert len(set(ids)) == len(ids) == 2
    assert set(must_have) <= set(ids) <= set(only)
    assert steps.finish() == Admitted()


def test_what_was_ignored_is_told() -> None:
    """A plugin author should know of an answer that names what was not offered. Rules: DM-95"""
    bench = Bench()
    bench.serve("a", "b", options=PREFERS)
    bench.admit(pod("p", {DEV: 1}), scripted(CallGetPreferredAllocation, ("b", "zz")))
    assert bench.ids("p") == {"b"}
    assert "zz" in bench.notes.warnings("DM-95")[0].text

    bench.admit(pod("q", {DEV: 1}), scripted(CallGetPreferredAllocation, ("a",)))
    assert len(bench.notes.warnings("DM-95")) == 1


def test_must_include_missing_from_the_answer() -> None:
    """It is chosen already. Rules: DM-95"""
    bench = Bench(numa=(0, 1))
    bench.serve(*NUMA, options=PREFERS)

    assert calls(_aligned(bench, 4, 0).answer(("f",))) == [("a0", "b0", "c0", "f")]


# ------------------------------------------------------------------------------------------------------- errors


def test_an_error_is_fatal() -> None:
    """The pod is refused with the plugin's words, and no Allocate follows. Rules: DM-79, DM-96"""
    bench = Bench()
    bench.serve("a", options=PREFERS)
    steps = bench.admitting(pod("p", {DEV: 1})).answer(RpcFailed("Unimplemented", "no\tidea"))

    assert steps.result == _preference_failed("rpc error: code = Unimplemented desc = no\tidea")
    assert calls(steps) == []
    assert bench.in_use() == set()
    assert bench.notes.warnings("DM-102") == []


def _leak(bench: Bench) -> None:
    """Three aligned ids were taken when the plugin failed."""
    assert _aligned(bench, 4, 0).answer(BOOM).result == _preference_failed(BOOM)
    assert bench.in_use() == {"a0", "b0", "c0"}
    assert bench.state.allocations.unrecorded() == {(DEV, name) for name in ("a0", "b0", "c0")}


def test_an_error_leaks_what_was_taken() -> None:
    """Aligned ids stay in use without an owner, with a warning; the next pod finds the rest. Rules: DM-96, DM-102, TM-66"""
    bench = Bench(numa=(0, 1))
    bench.serve(*NUMA, options=PREFERS)
    _leak(bench)
    assert "3 ids" in bench.notes.warnings("DM-102")[0].text

    assert "Requested: 5, Available: 4" in bench.refusal(pod("q", {DEV: 5}))
    bench.reclaim()
    assert bench.in_use() == {"a0", "b0", "c0"}


def _by_a_reclaim(bench: Bench) -> Bench:
    bench.admit(pod("old", {DEV: 1}))
    bench.remove("old")
    bench.reclaim()
    return bench


def _by_a_failing_allocate(bench: Bench) -> Bench:
    assert bench.refusal(pod("bad", {NIC: 1}), scripted(CallAllocate, BOOM)) == str(BOOM)
    return bench


def _by_a_restart(bench: Bench) -> Bench:
    after = bench.restarted(None, ready=True)
    after.serve(*NUMA)
    return after


@pytest.mark.parametrize("remedy", [_by_a_reclaim, _by_a_failing_allocate, _by_a_restart])
def test_when_leaked_ids_come_back(remedy: Callable[[Bench], Bench]) -> None:
    """A reclaim that removes a pod, a failing Allocate of any resource, a restart. Rules: DM-96, DM-102, TM-66"""
    bench = Bench(numa=(0, 1))
    bench.serve(*NUMA, options=PREFERS)
    bench.serve("x", resource=NIC)
    _leak(bench)

    after = remedy(bench)

    assert not after.in_use()
    assert after.admit(pod("q", {DEV: 7})) == Admitted()


def test_another_error_of_a_preference_helps_nobody() -> None:
    """It does not count anew. Rules: DM-96, DM-102"""
    bench = Bench(numa=(0, 1))
    bench.serve(*NUMA, options=PREFERS)
    _leak(bench)

    assert bench.admit(pod("q", {DEV: 1}), scripted(CallGetPreferredAllocation, BOOM)) == _preference_failed(BOOM)
    assert bench.in_use() == {"a0", "b0", "c0"}


def test_what_an_init_container_has_is_no_leak() -> None:
    """A device that was taken over stays with its init container. Rules: DM-88, DM-96, DM-102"""
    bench = Bench()
    bench.serve("a", "b", options=PREFERS)
    steps = bench.admitting(pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 2})))
    steps.answer(("a",)).answer(OK).answer().answer(BOOM)

    assert steps.result == _preference_failed(BOOM)
    assert bench.notes.warnings("DM-102") == []
    assert bench.in_use() == {"a"}
    assert bench.state.allocations.unrecorded() == frozenset()


def _older_stream(options: PluginOptions | None) -> tuple[Bench, ClientID]:
    """An older stream speaks for a resource whose endpoint is stopped. Rules: DM-32, DM-46"""
    bench = Bench(numa=(0, 1))
    older, newer = bench.serve("a"), bench.register(options=options)
    bench.registering().close()
    bench.end(newer, 0.0)
    return bench, older


def test_a_stopped_endpoint_is_not_asked() -> None:
    """The question fails locally, aligned ids leak; whoever is not to be asked fails at Allocate. Rules: DM-46, DM-93, DM-96"""
    bench, older = _older_stream(PREFERS)
    bench.list(older, *NUMA)
    steps = _aligned(bench, 4, 0)
    assert steps.seen == []
    assert isinstance(steps.result, Rejected)
    start = "Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: endpoint &{"
    assert steps.result.message.startswith(start)
    assert f" {DEV} " in steps.result.message
    assert steps.result.message.endswith("has been stopped, which is unexpected")
    assert bench.in_use() == {"a0", "b0", "c0"}

    bench, older = _older_stream(None)
    bench.list(older, *NUMA)
    steps = _aligned(bench, 4, 0)
    assert isinstance(steps.result, Rejected)
    assert steps.result.message.startswith("Allocate failed due to endpoint &{")
    assert bench.in_use() is None


def test_a_missing_endpoint_is_told_whatever_its_options_were() -> None:
    """The choice ends where the plugin would be asked; aligned ids leak. Rules: DM-61, DM-93, TM-66"""
    bench, older = _older_stream(None)
    bench.round(GONE_S + 1)
    bench.list(older, *NUMA)

    nobody = _failed(f"endpoint not found in cache for a registered resource: {DEV}")
    assert _aligned(bench, 4, 0).result == nobody
    assert bench.in_use() == {"a0", "b0", "c0"}


def test_a_missing_endpoint_that_need_not_be_asked() -> None:
    """Aligned ids suffice, so it is missed later, and the ids are counted anew. Rules: DM-89, DM-93"""
    bench, older = _older_stream(None)
    bench.round(GONE_S + 1)
    bench.list(older, *NUMA)

    assert _aligned(bench, 3, 0).result == _failed(f"unknown Device Plugin {DEV}")
    assert bench.in_use() is None


# --------------------------------------------------------------------------------------- what happens while it thinks


def _asking(*devices: Device | str, count: int = 1) -> tuple[Bench, ClientID, Steps[Admission]]:
    """A pod is admitted, and its plugin is being asked."""
    bench = Bench()
    client = bench.serve(*devices, options=PREFERS)
    steps = bench.admitting(pod("p", {DEV: count}))
    assert isinstance(steps.effect, CallGetPreferredAllocation)
    return bench, client, steps


def test_devices_that_come_meanwhile_are_not_taken() -> None:
    """Preferred as they may be; what was offered counts. Rules: DM-97"""
    bench, client, steps = _asking("a", "b")
    bench.list(client, "a", "b", "new")

    assert calls(steps.answer(("new",))) == [("a",)]
    assert len(bench.notes.warnings("DM-95")) == 1


def test_devices_that_turn_unhealthy_meanwhile_are_taken() -> None:
    """The choice is not looked at again. Rules: DM-97"""
    bench, client, steps = _asking("a", "b")
    bench.list(client, "a", sick("b"))

    assert steps.answer(("b",)).finish() == Admitted()
    assert bench.ids("p") == {"b"}
    assert bench.notes.warnings("DM-59") == []


@pytest.mark.parametrize("left", [(), ("a",)])
def test_devices_that_vanish_meanwhile(left: tuple[str, ...]) -> None:
    """Such a one is recorded without topology, and a warning says that a kubelet crashes there. Rules: DM-59, DM-97"""
    bench = Bench(numa=(0, 1))
    client = bench.serve(dev("a", 1), dev("b", 1), options=PREFERS)
    steps = bench.admitting(pod("p", {DEV: 1}))
    bench.list(client, *left)

    assert steps.answer(("b",)).finish() == Admitted()
    record = bench.state.allocations.record(PodUID("p"), ContainerName("main"), DEV)
    assert record is not None
    assert record.devices == {-1: ("b",)}
    assert "crashes" in bench.notes.warnings("DM-59")[0].text


def test_a_handed_on_device_that_vanishes() -> None:
    """It is taken over all the same; between init and app container a message dropped it. Rules: DM-59, DM-87"""
    bench = Bench()
    client = bench.serve(dev("a", 0), "b")
    steps = bench.admitting(pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 1})))
    steps.answer(OK)
    bench.list(client, "b")

    assert steps.finish() == Admitted()
    assert bench.ids("p") == {"a"}
    assert len(bench.notes.warnings("DM-59")) == 1


def test_a_list_between_choice_and_allocate() -> None:
    """In the middle of the call nothing is chosen anew; the record goes by what is listed then. Rules: DM-97, DM-98, DM-100"""
    bench, client, steps = _asking(dev("a", 0), dev("b", 0))
    steps.answer(("b",))
    bench.list(client, dev("b", 1, health="Sick"), "c")

    assert steps.finish() == Admitted()
    record = bench.state.allocations.record(PodUID("p"), ContainerName("main"), DEV)
    assert record is not None
    assert record.devices == {1: ("b",)}


def test_an_endpoint_that_is_replaced_meanwhile() -> None:
    """The new plugin gets the call for what the old one preferred. Rules: DM-31, DM-97"""
    bench, older, steps = _asking("a", "b")
    newer = bench.register()
    assert newer != older

    steps.answer(("b",))
    assert steps.effect == CallAllocate(newer, (DeviceID("b"),))


def test_an_endpoint_that_is_removed_meanwhile() -> None:
    """There is nobody to call, and the ids are counted anew. Rules: DM-89, DM-97"""
    bench, client, steps = _asking("a", "b")
    bench.end(client, 0.0)
    bench.round(GONE_S + 1)

    assert steps.answer(("b",)).result == _failed(f"unknown Device Plugin {DEV}")
    assert bench.in_use() is None


def test_an_endpoint_that_stops_meanwhile() -> None:
    """With its stream goes the call, which is the pod's end; had it answered first, Allocate fails. Rules: DM-44, DM-46, DM-97"""
    closing = RpcFailed("Canceled", "grpc: the client connection is closing")
    bench, client, steps = _asking("a", "b")
    bench.end(client, 0.0)
    assert steps.answer(closing).result == _preference_failed(closing)

    bench, client, steps = _asking("a", "b")
    bench.end(client, 0.0)
    steps.answer(("b",))
    assert "has been stopped" in str(steps.result)
    assert bench.in_use() is None


def _raced(bench: Bench) -> Steps[Admission]:
    """A reclaim comes while the plugin is asked for one more than the three aligned ids."""
    bench.serve(*NUMA, options=PREFERS)
    bench.round()
    bench.state.affinities.store(PodUID("old"), ContainerName("main"), Hint(mask_of([1])))
    bench.admit(pod("old", {DEV: 2}))
    steps = _aligned(bench, 4, 0)
    bench.remove("old")
    bench.reclaim()
    assert bench.in_use() is None
    return steps


def test_a_reclaim_meanwhile_loses_what_was_taken_before() -> None:
    """Recorded in the end, they count as free; those taken after the answer do not. Rules: DM-97"""
    bench = Bench(numa=(0, 1))
    steps = _raced(bench)
    steps.answer(("f",))
    assert bench.in_use() == {"f"}

    assert steps.finish() == Admitted()
    assert bench.ids("p") == {"a0", "b0", "c0", "f"}
    assert bench.in_use() == {"f"}
    assert bench.state.allocations.forgotten() == {(DEV, name) for name in ("a0", "b0", "c0")}
    assert "3 ids" in bench.notes.warnings("DM-97")[0].text


def test_the_next_pod_gets_the_same_devices() -> None:
    """Two pods share them until the ids are counted anew, and everybody is told. Rules: DM-97"""
    bench = Bench(numa=(0, 1))
    _raced(bench).finish()

    bench.state.affinities.store(PodUID("q"), ContainerName("main"), Hint(mask_of([0])))
    assert bench.admit(pod("q", {DEV: 3})) == Admitted()
    assert bench.ids("q") == {"a0", "b0", "c0"}
    assert bench.state.allocations.shared == {(DEV, name) for name in ("a0", "b0", "c0")}
    assert len(bench.notes.warnings("DM-97")) == 2

    bench.refusal(pod("bad", {DEV: 1}), scripted(CallAllocate, BOOM))
    assert (bench.in_use() or set()) >= {"a0", "b0", "c0"}
    bench.remove("p")
    bench.reclaim()
    assert bench.state.allocations.shared == set()


def test_a_reclaim_meanwhile_leaves_what_an_init_container_has() -> None:
    """Its record keeps a device that was taken over in use. Rules: DM-88, DM-97"""
    bench = Bench()
    bench.serve("a", "b", "c", options=PREFERS)
    bench.admit(pod("old", {DEV: 1}))
    steps = bench.admitting(pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 2})))
    steps.answer(("b",)).answer(OK).answer()
    assert asked(steps)[-1] == ({"b", "c"}, {"b"}, 2)
    bench.remove("old")
    bench.reclaim()

    assert steps.finish() == Admitted()
    assert bench.ids("p") == bench.in_use() == {"b", "c"}
    assert bench.notes.warnings("DM-97") == []


def test_a_reclaim_meanwhile_and_an_error() -> None:
    """What was forgotten is free, so nothing is lost. Rules: DM-96, DM-97, DM-102"""
    bench = Bench(numa=(0, 1))

    assert _raced(bench).answer(BOOM).result == _preference_failed(BOOM)
    assert not bench.in_use()
    assert bench.notes.warnings("DM-102") == []
    assert bench.admit(pod("q", {DEV: 7})) == Admitted()


def test_a_reclaim_that_removes_nobody_loses_nothing() -> None:
    """Only a new count does. Rules: DM-97, DM-115"""
    bench = Bench(numa=(0, 1))
    bench.serve(*NUMA, options=PREFERS)
    steps = _aligned(bench, 4, 0)
    bench.reclaim()

    steps.finish()
    assert bench.in_use() == bench.ids("p")
    assert bench.notes.warnings("DM-97") == []


def test_the_pod_itself_goes_meanwhile() -> None:
    """Its admission goes on, and what it gets is reclaimed by the next. Rules: DM-97, DM-115"""
    bench, _, steps = _asking("a")
    bench.remove("p")

    assert steps.finish() == Admitted()
    assert bench.ids("p") == {"a"}
    assert bench.admit(pod("q", {DEV: 1})) == Admitted()


# ------------------------------------------------------------------------------------------------- what is told


def test_the_course_is_told() -> None:
    """From which pools the devices came, and which; what was taken over by itself. Rules: DM-87, DM-91, DM-92"""
    bench = Bench(numa=(0, 1))
    bench.serve(*NUMA)
    _aligned(bench, 4, 0).finish()
    bench.serve("x", resource=NIC)
    bench.admit(pod_of("q", init("i", {NIC: 1}), container("main", {NIC: 1})))

    told = {
        decision.text: decision.details["chosen"] for decision in bench.notes.decisions if "chosen" in decision.details
    }
    assert told == {
        f"main gets 4 of {DEV}: 3 free and aligned, 2 unaligned, 2 without affinity": ["a0", "b0", "c0", "d1"],
        f"i gets 1 of {NIC}: 1 free, none bound to the affinity": ["x"],
        f"main takes over 1 of {NIC} from an init container": ["x"],
    }


# --------------------------------------------------------------------------------------------- any order will do


def _world(order: Order, policy: str) -> Bench:
    bench = Bench(order=order, settings=topology(policy), numa=(0, 1))
    bench.serve(*NUMA, sick("s"), options=PREFERS)
    bench.serve(dev("x", 0), dev("y", 1), dev("z", 1), resource=NIC)
    return bench


PODS = (
    pod_of("mixed", init("i", {DEV: 2}), sidecar("s", {DEV: 1}), container("one", {DEV: 2, NIC: 1})),
    pod_of("pair", container("one", {DEV: 1}), container("two", {NIC: 1})),
    pod("last", {DEV: 1}),
)


def _play(order: Order, policy: str) -> list[tuple[bool, tuple[int, ...]]]:
    """Whether each pod was admitted, and how many ids each of its calls had; every call is held against the rules."""
    bench = _world(order, policy)
    came = []
    for wanted in PODS:
        steps = bench.admitting(wanted)
        while not steps.is_over:
            match steps.effect:
                case CallGetPreferredAllocation(_, available, must_include, size):
                    assert set(must_include) <= set(available) <= {device.id for device in NUMA}
                    assert len(must_include) < size <= len(available)
                    steps.answer((*available[:1], "zz"))
                case CallAllocate(_, ids):
                    others = {
                        i for (uid, _, _), record in bench.state.allocations for i in record.ids if uid != wanted.uid
                    }
                    assert len(set(ids)) == len(ids)
                    assert not set(ids) & (others | {"s"})
                    steps.answer(OK)
                case _:
                    steps.answer()
        assert bench.state.allocations.unrecorded() == bench.state.allocations.forgotten() == frozenset()
        came.append((_is_allowed(bench, wanted, steps.result), tuple(sorted(map(len, calls(steps))))))
    return came


def _is_allowed(bench: Bench, wanted: Pod, verdict: Admission) -> bool:
    """A verdict is the topology manager's, or the pod has all that it asked for, aligned as its hint says. Rules: TM-67"""
    if isinstance(verdict, Rejected):
        assert verdict.reason == "TopologyAffinityError"
        return False
    listed = {device.id: device for device in bench.state.devices[DEV].values()}
    handed_on: set[str] = set()
    for each in wanted.all_containers():
        for resource, limit in each.limits.items():
            assert len(bench.ids(wanted.uid, each.name, resource) or ()) == limit.value
        ids = bench.ids(wanted.uid, each.name) or set()
        hint = bench.state.affinities.of(wanted.uid, each.name)
        assert len(ids & handed_on) == min(len(ids), len(handed_on))
        if hint.is_preferred and hint.mask is not None:
            for device in ids - handed_on:
                assert any(hint.mask >> node & 1 for node in listed[DeviceID(device)].numa_nodes)
        handed_on = handed_on | ids if each.kind is ContainerKind.INIT else handed_on - ids
    return True


@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted", "single-numa-node"])
def test_a_thousand_adversaries(policy: str) -> None:
    """Whatever order is picked where it is open, every answer is an allowed one, and without alignment they are alike. Rules: DM-89, DM-92, DM-221, TM-65"""
    came = [_play(Shuffled(seed), policy) for seed in range(1000)]

    if policy in ("none", "best-effort"):
        assert all(is_admitted for pods in came for is_admitted, _ in pods)
        assert all(pods == came[0] for pods in came)
    else:
        assert any(pods[0][0] for pods in came)
