from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.core.effects import (
    CallAllocate,
    CallGetPreferredAllocation,
    CallPreStartContainer,
    Effect,
    TakeAdmissionTurn,
    WriteCheckpoint,
)
from kubelet_sim.errors import CheckpointNotWritten, PreparationFailed, RpcFailed
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.model.ids import ClientID, DeviceID, PodUID
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.response import ContainerResponse, ContainerSpec
from tests.unit.core.bench import (
    BOOM,
    DEV,
    GONE_S,
    NIC,
    PRE_STARTS,
    PREFERS,
    Bench,
    Preferring,
    Steps,
    calls,
    container,
    grant,
    init,
    pod,
    pod_of,
    pre_started,
    restored,
    scripted,
    sick,
    snapshot,
    written,
)


def _prepare(bench: Bench, wanted: Pod, which: Container | None = None) -> ContainerSpec | None:
    steps = Steps(bench.manager.prepare(wanted, which or wanted.containers[0]))
    assert steps.is_over
    assert steps.seen == []
    return steps.result


def _refused(bench: Bench, wanted: Pod) -> str:
    before = snapshot(bench.state)
    with pytest.raises(PreparationFailed) as caught:
        _prepare(bench, wanted)
    assert snapshot(bench.state) == before
    assert str(caught.value) == caught.value.text
    return caught.value.text


def test_the_cached_response() -> None:
    """Each creation gives the container what was answered at its allocation, without a call. Rules: DM-107, DM-123, DM-134"""
    bench = Bench()
    bench.serve("a")
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted)
    before = snapshot(bench.state)

    for _ in range(2):
        assert _prepare(bench, wanted) == ContainerSpec(envs=(("IDS", "a"),))
    assert snapshot(bench.state) == before


def test_health_does_not_matter() -> None:
    """An unhealthy, vanished or lost device is prepared like any other. Rules: DM-57, DM-107"""
    bench = Bench()
    client = bench.serve("a")
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted)
    spec = _prepare(bench, wanted)

    bench.list(client, sick("a"))
    assert _prepare(bench, wanted) == spec
    bench.list(client)
    assert _prepare(bench, wanted) == spec
    bench.end(client, 0.0)
    assert _prepare(bench, wanted) == spec


def test_a_new_registration_changes_nothing() -> None:
    """The response is that of the allocation, whatever the plugin would answer by now. Rules: DM-134"""
    bench = Bench()
    bench.serve("a")
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted)
    bench.serve("a", "b")

    assert _prepare(bench, wanted) == ContainerSpec(envs=(("IDS", "a"),))


def test_a_missing_endpoint() -> None:
    """Once a resource in use is removed, no container with such a limit is created. Rules: DM-79, DM-103, DM-105"""
    bench = Bench()
    bench.end(bench.serve("a"), 0.0)
    client = bench.serve("a")
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted)
    bench.end(client, 0.0)
    bench.round(GONE_S + 1)

    assert _refused(bench, wanted) == f"endpoint not found in cache for a registered resource: {DEV}"
    bench.register()
    assert _prepare(bench, wanted) is not None


def test_the_missing_endpoint_of_another_resource_counts() -> None:
    """Every limit of the container is looked at, also one without a record. Rules: DM-103"""
    bench = Bench()
    bench.serve("a")
    bench.serve("x", resource=NIC)
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted)
    bench.admit(pod("q", {NIC: 1}))
    bench.end(bench.state.clients[NIC], 0.0)
    bench.round(GONE_S + 1)

    assert NIC in _refused(bench, pod("p", {DEV: 1, NIC: 1}))
    assert _prepare(bench, wanted) is not None


def test_a_limit_of_zero_is_skipped() -> None:
    """Here a limit of 0 asks for nothing, not even for an endpoint. Rules: DM-84, DM-103"""
    bench = Bench()
    client = bench.serve("a")
    bench.admit(pod("holder", {DEV: 1}))
    bench.end(client, 0.0)
    bench.round(GONE_S + 1)

    assert bench.state.is_device_plugin_resource(DEV)
    assert _prepare(bench, pod("p", {DEV: 0})) is None
    assert "endpoint not found" in _refused(bench, pod("p", {DEV: "1n"}))


def test_other_resources_are_skipped() -> None:
    """A name that the device manager does not know is none of its business. Rules: DM-83, DM-103"""
    assert _prepare(Bench(), pod("p", {"cpu": 1, NIC: 2})) is None


def test_a_container_without_record() -> None:
    """It gets nothing, though the pod's other container has devices. Rules: DM-123"""
    bench = Bench()
    bench.serve("a")
    wanted = pod_of("p", container("one", {DEV: 1}), container("two"))
    bench.admit(wanted)

    assert _prepare(bench, wanted, wanted.containers[0]) is not None
    assert _prepare(bench, wanted, wanted.containers[1]) is None
    assert _prepare(bench, pod("other", {DEV: 1})) is None


def test_an_empty_response_is_not_nothing() -> None:
    """A record with an empty response gives an empty spec, a missing record none. Rules: DM-99, DM-123"""
    bench = Bench()
    bench.serve("a")
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted, scripted(CallAllocate, AllocateAnswer((ContainerResponse(),))))

    assert _prepare(bench, wanted) == ContainerSpec()


def test_records_without_a_limit_count() -> None:
    """All that is recorded for the container is merged, whether or not the limit still exists. Rules: DM-123"""
    bench = Bench()
    bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))

    assert _prepare(bench, pod("p")) == ContainerSpec(envs=(("IDS", "a"),))


def test_after_a_restart_before_the_plugin_is_back() -> None:
    """The placeholder is endpoint enough: the checkpointed response is used. Rules: DM-103, DM-105, DM-134"""
    bench = Bench()
    entry = CheckpointEntry("p", "main", DEV, {-1: ("a",)}, b"")
    bench.manager.apply(restored(CheckpointDocument((entry,), {DEV: ()})))

    assert _prepare(bench, pod("p", {DEV: 1})) == ContainerSpec()


# ------------------------------------------------------------------------------------------------- PreStartContainer

WANTED = pod("p", {DEV: 2})


def _failure(steps: Steps[ContainerSpec | None]) -> PreparationFailed:
    """What ended a preparation."""
    assert isinstance(steps.failure, PreparationFailed)
    return steps.failure


def _prestarting() -> tuple[Bench, ClientID]:
    """The pod has two devices of a plugin that wants to be called before each start."""
    bench = Bench()
    client = bench.serve("a", "b", "c", options=PRE_STARTS)
    assert bench.admit(WANTED) == Admitted()
    return bench, client


def test_pre_start_comes_at_every_creation() -> None:
    """With all ids of the record, each time anew, and without another Allocate. Rules: DM-103, DM-107, DM-205"""
    bench, client = _prestarting()
    before = snapshot(bench.state)

    for _ in range(3):
        steps = bench.preparing(WANTED)
        assert steps.effect == CallPreStartContainer(client, (DeviceID("a"), DeviceID("b")))
        assert steps.finish() == ContainerSpec(envs=(("IDS", "a,b"),))
        assert len(steps.seen) == 1
    assert snapshot(bench.state) == before


@pytest.mark.parametrize("options", [PluginOptions(), PREFERS])
def test_a_plugin_that_does_not_want_pre_start(options: PluginOptions) -> None:
    """It is not called. Rules: DM-103"""
    bench = Bench()
    bench.serve("a", options=options)
    bench.admit(pod("p", {DEV: 1}))

    assert _prepare(bench, pod("p", {DEV: 1})) is not None


def test_pre_start_of_unhealthy_devices() -> None:
    """Health does not matter, nor does a list that comes during the call. Rules: DM-103, DM-107"""
    bench, client = _prestarting()
    bench.list(client, sick("a"))
    steps = bench.preparing(WANTED)
    assert pre_started(steps) == [{"a", "b"}]
    bench.list(client)

    assert steps.answer().result is not None


def test_pre_start_of_what_was_handed_on() -> None:
    """Init container and app container, each with its own record. Rules: DM-88, DM-103"""
    bench = Bench()
    bench.serve("a", "b", options=PRE_STARTS)
    wanted = pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 2}))
    bench.admit(wanted)

    assert pre_started(bench.preparing(wanted, "i")) == [{"a"}]
    assert pre_started(bench.preparing(wanted, "main")) == [{"a", "b"}]


def test_pre_start_for_each_resource() -> None:
    """One call each, in any order; a limit of 0 and other names are skipped. Rules: DM-84, DM-103"""
    for first in (DEV, NIC):
        bench = Bench(order=Preferring(first))
        bench.serve("a", options=PRE_STARTS)
        bench.serve("x", "y", resource=NIC, options=PRE_STARTS)
        wanted = pod("p", {DEV: 1, NIC: 2, "cpu": 1})
        bench.admit(wanted)
        steps = bench.preparing(wanted)
        steps.finish()
        assert sorted(map(sorted, pre_started(steps))) == [["a"], ["x", "y"]]
        assert pre_started(steps)[0] == ({"a"} if first == DEV else {"x", "y"})

        assert _prepare(bench, pod("p", {NIC: 0, DEV: 0})) is not None


def test_a_failing_pre_start() -> None:
    """The container is not created, the pod and its devices stay, and the next attempt calls again. Rules: DM-79, DM-103, DM-104, DM-207"""
    bench, _ = _prestarting()
    before = snapshot(bench.state)
    failure = _failure(bench.preparing(WANTED).answer(RpcFailed("DeadlineExceeded", "context deadline exceeded")))

    text = "device plugin PreStartContainer rpc failed with err: rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    assert (failure.text, failure.shown) == (text, text)
    assert snapshot(bench.state) == before
    assert text in bench.notes.warnings("DM-104")[0].text
    steps = bench.preparing(WANTED)
    assert pre_started(steps) == [{"a", "b"}]
    assert steps.finish() is not None


def test_a_failing_pre_start_ends_the_creation() -> None:
    """Nothing after it is called, and nothing is allocated late. Rules: DM-103, DM-106"""
    bench = Bench(order=Preferring(DEV))
    wanted = pod("p", {DEV: 1, NIC: 1})
    bench.serve("a", options=PRE_STARTS)
    bench.admit(wanted)
    bench.serve("x", resource=NIC)
    steps = bench.preparing(wanted).answer(BOOM)

    assert _failure(steps).text.endswith(str(BOOM))
    assert len(steps.seen) == 1


def test_pre_start_without_a_record() -> None:
    """That is an error before anything could be allocated late. Rules: DM-79, DM-103, DM-106"""
    bench = Bench()
    wanted = pod("p", {DEV: 1})
    bench.admit(wanted)
    bench.serve("a", options=PRE_STARTS)

    assert _refused(bench, wanted) == (
        f"no devices found allocated in local cache for pod p, container main, resource {DEV}"
    )


def test_pre_start_of_a_pod_that_is_over() -> None:
    """As long as it has a record, it is called. Rules: DM-103"""
    bench, _ = _prestarting()
    bench.remove("p")

    assert pre_started(bench.preparing(WANTED)) == [{"a", "b"}]


def test_a_placeholder_does_not_want_pre_start() -> None:
    """After a restart the container starts without it, until the plugin is back. Rules: DM-105, DM-206"""
    bench, _ = _prestarting()
    after = bench.restarted(
        CheckpointDocument((CheckpointEntry("p", "main", DEV, {-1: ("a", "b")}, b""),), {DEV: ("a", "b", "c")}),
        ready=True,
    )
    assert _prepare(after, WANTED) is not None

    after.register(options=PRE_STARTS)
    assert pre_started(after.preparing(WANTED)) == [{"a", "b"}]


def test_a_stopped_endpoint_fails_pre_start() -> None:
    """The plugin went, the kubelet did not: its options are still there, and the call fails locally. Rules: DM-46, DM-105"""
    bench, client = _prestarting()
    bench.end(client, 0.0)

    text = _refused(bench, WANTED)
    assert text.startswith("device plugin PreStartContainer rpc failed with err: endpoint &{{{} {0 0}} " + DEV)
    assert text.endswith(" has been stopped")


def test_the_options_of_the_newest_registration_count() -> None:
    """A plugin that comes back without the wish is not called, though the device was allocated with it. Rules: DM-28, DM-103"""
    bench, _ = _prestarting()
    bench.register()
    assert _prepare(bench, WANTED) is not None

    newest = bench.register(options=PRE_STARTS)
    assert bench.preparing(WANTED).effect == CallPreStartContainer(newest, (DeviceID("a"), DeviceID("b")))


def test_an_endpoint_that_is_removed_during_the_pre_start_of_another() -> None:
    """Each limit is looked at when its turn comes. Rules: DM-103, DM-105"""
    bench = Bench(order=Preferring(DEV))
    bench.serve("a", options=PRE_STARTS)
    bench.end(bench.serve("x", resource=NIC), 0.0)
    client = bench.serve("x", resource=NIC)
    wanted = pod("p", {DEV: 1, NIC: 1})
    bench.admit(wanted)
    steps = bench.preparing(wanted)
    bench.end(client, 0.0)
    bench.round(GONE_S + 1)

    assert _failure(steps.answer()).text == f"endpoint not found in cache for a registered resource: {NIC}"


# --------------------------------------------------------------------------------------------------- late allocation

ONE = pod("p", {DEV: 1})


def _late(*devices: str, options: PluginOptions | None = None) -> Bench:
    """A pod was admitted before its resource was known."""
    bench = Bench()
    assert bench.admit(ONE) == Admitted()
    bench.serve(*devices, options=options)
    bench.round()
    return bench


def test_late_allocation() -> None:
    """In turn with admissions, with call, record and checkpoint; the next creation needs none of it. Rules: DM-106, DM-107"""
    bench = _late("a", "b")
    steps = bench.preparing(ONE)
    assert steps.effect == TakeAdmissionTurn()
    assert bench.in_use() is None
    steps.answer(False)
    assert isinstance(steps.effect, CallAllocate)
    steps.answer(AllocateAnswer((grant("a"),)))
    assert [len(document.entries or ()) for document in written(steps.seen)] == [1]

    assert steps.answer().result == ContainerSpec(envs=(("IDS", "a"),))
    assert bench.ids("p") == bench.in_use() == {"a"}
    assert bench.notes.warnings("DM-86") == []
    assert _prepare(bench, ONE) == ContainerSpec(envs=(("IDS", "a"),))


def test_a_turn_that_was_waited_for() -> None:
    """A kubelet may crash there: both allocations use one table. Rules: DM-86, DM-106"""
    bench = _late("a")
    assert bench.preparing(ONE).answer(True).finish() is not None

    assert "crash" in bench.notes.warnings("DM-86")[0].text


def test_late_allocation_asks_for_a_preference() -> None:
    """It is the whole allocation. Rules: DM-93, DM-106"""
    bench = _late("a", "b", options=PREFERS)
    steps = bench.preparing(ONE).answer(False)
    assert isinstance(steps.effect, CallGetPreferredAllocation)

    assert steps.answer(("b",)).finish() == ContainerSpec(envs=(("IDS", "b"),))


@pytest.mark.parametrize("when", ["before", "while it waits"])
def test_a_pod_that_is_over_is_not_allocated_late(when: str) -> None:
    """It gets nothing if it is inactive when its limits are looked at; later it is reclaimed. Rules: DM-106, DM-116"""
    bench = _late("a")
    if when == "before":
        bench.remove("p")
        assert _prepare(bench, ONE) is None
        return
    steps = bench.preparing(ONE)
    bench.remove("p")
    assert steps.answer(False).finish() is not None
    assert bench.admit(pod("q", {DEV: 1})) == Admitted()
    assert bench.ids("p") is None


def test_an_admission_takes_the_last_device_before_its_turn() -> None:
    """What is free is looked at when the turn has come. Rules: DM-86, DM-90, DM-106"""
    bench = _late("a")
    admission = bench.admitting(pod_of("q", container("main", {DEV: 1}, requests={})))
    steps = bench.preparing(ONE)
    assert admission.finish() == Admitted()

    text = f"requested number of devices unavailable for {DEV}. Requested: 1, Available: 0"
    failure = _failure(steps.answer(True))
    assert (failure.text, failure.shown) == (text, text)
    assert bench.ids("q") == {"a"}


def test_it_was_allocated_while_it_waited() -> None:
    """Then nothing is needed any more, and the cached response is used. Rules: DM-90, DM-106"""
    bench = _late("a")
    first, second = bench.preparing(ONE), bench.preparing(ONE)
    spec = first.finish()
    second.answer(True)

    assert second.result == spec == ContainerSpec(envs=(("IDS", "a"),))
    assert calls(second) == []


@pytest.mark.parametrize(
    "at, answer, text, shown",
    [
        (CallAllocate, RpcFailed("Internal", "bad"), "rpc error: code = Internal desc = bad", "bad"),
        (CallAllocate, AllocateAnswer(()), "no containers return in allocation response ", None),
        (
            CallGetPreferredAllocation,
            RpcFailed("Internal", "bad"),
            "device plugin GetPreferredAllocation rpc failed with err: rpc error: code = Internal desc = bad",
            None,
        ),
        (
            WriteCheckpoint,
            CheckpointNotWritten("no space left on device"),
            'failed to write checkpoint file "kubelet_internal_checkpoint": no space left on device',
            None,
        ),
    ],
)
def test_a_late_allocation_that_fails(at: type[Effect[Any]], answer: object, text: str, shown: str | None) -> None:
    """The container is not created, the pod stays; of a bare status the description alone is shown. Rules: DM-104, DM-106"""
    bench = _late("a", options=PREFERS)
    steps = bench.preparing(ONE)
    while not isinstance(steps.effect, at):
        steps.answer(AllocateAnswer((grant("a"),)) if isinstance(steps.effect, CallAllocate) else ())
    failure = _failure(steps.answer(answer))

    assert (failure.text, failure.shown) == (text, text if shown is None else shown)
    assert PodUID("p") in bench.state.active_pods
    assert (bench.ids("p") is not None) == (at is WriteCheckpoint)


def test_a_late_allocation_through_a_stopped_endpoint() -> None:
    """That is no status, so that all of it is shown. Rules: DM-46, DM-104"""
    bench = _late("a")
    older, newer = bench.state.clients[DEV], bench.register()
    bench.registering().close()
    bench.end(newer, 0.0)
    bench.list(older, "a")
    failure = _failure(bench.preparing(ONE).answer(False))

    assert failure.text == failure.shown
    assert failure.text.startswith("endpoint &{")
    assert failure.text.endswith("has been stopped")


@pytest.mark.parametrize("first, is_recorded", [(DEV, False), (NIC, True)])
def test_a_recorded_resource_is_checked_again(first: str, is_recorded: bool) -> None:
    """If its device is unhealthy, the creation fails; had the new one its turn before, the next attempt succeeds. Rules: DM-90, DM-106"""
    bench = Bench(order=Preferring(first))
    wanted = pod("p", {DEV: 1, NIC: 1})
    client = bench.serve("a", "b")
    bench.admit(wanted)
    bench.list(client, sick("a"), "b")
    bench.serve("x", resource=NIC)
    steps = bench.preparing(wanted)
    with pytest.raises(PreparationFailed, match="previously allocated devices are no longer healthy"):
        steps.finish()

    assert (bench.ids("p", resource=NIC) == {"x"}) == is_recorded
    if is_recorded:
        assert _prepare(bench, wanted) is not None


def test_one_late_allocation_for_all_resources() -> None:
    """Two resources became known: one turn, one write, two calls. Rules: DM-100, DM-106"""
    bench = Bench()
    wanted = pod("p", {DEV: 1, NIC: 1})
    bench.admit(wanted)
    bench.serve("a")
    bench.serve("x", resource=NIC)
    steps = bench.preparing(wanted)
    steps.finish()

    kinds = [type(effect) for effect in steps.seen]
    assert kinds == [TakeAdmissionTurn, CallAllocate, CallAllocate, WriteCheckpoint]


def test_late_allocation_ends_another_pod_s_reuse() -> None:
    """It is an allocation like any other, of a pod like any other. Rules: DM-86, DM-106"""
    bench = _late("a", "b")
    bench.admit(pod_of("q", init("i", {DEV: 1}), container("main")))
    assert bench.reusable("q") == {"a"}
    bench.preparing(ONE).finish()

    assert bench.reusable("q") == set()
    assert bench.ids("p") == {"b"}


def test_late_allocation_hands_on() -> None:
    """An init container that was allocated late hands on to the next, if nobody came in between. Rules: DM-86, DM-106"""
    bench = Bench()
    wanted = pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 1}))
    bench.admit(wanted)
    bench.serve("a", "b")
    bench.preparing(wanted, "i").finish()
    bench.preparing(wanted, "main").finish()

    assert bench.ids("p", "i") == bench.ids("p", "main") == {"a"}
    assert bench.reusable("p") == set()


def test_late_allocation_without_sources_of_a_running_container() -> None:
    """It was running when the kubelet started: nothing is allocated, and it gets nothing. Rules: DM-90, DM-106, DM-110"""
    bench = Bench().restarted(None, running=[("p", "main")])
    bench.admit(ONE)
    bench.serve("a")
    steps = bench.preparing(ONE)
    steps.finish()

    assert (steps.result, steps.seen) == (None, [TakeAdmissionTurn()])


def test_the_kubelet_ends_while_it_waits_for_its_turn() -> None:
    """Nothing has changed. Rules: DM-16, DM-106"""
    bench = _late("a")
    before = snapshot(bench.state)
    bench.preparing(ONE).close()

    assert snapshot(bench.state) == before
