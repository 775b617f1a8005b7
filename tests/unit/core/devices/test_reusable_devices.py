"""What init containers hand on, seen at the table and in whole admissions."""

from __future__ import annotations

import pytest

from kubelet_sim.core.devices.allocations import AllocationRecord
from kubelet_sim.core.devices.reusable_devices import ReuseTable
from kubelet_sim.core.effects import CallAllocate
from kubelet_sim.errors import CheckpointNotWritten
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.ids import DeviceID, NumaNode, PodUID
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.model.pod import Container, ContainerKind
from kubelet_sim.model.response import ContainerResponse
from tests.unit.core.bench import (
    BOOM,
    DEV,
    NIC,
    PREFERS,
    Bench,
    Preferring,
    asked,
    calls,
    container,
    init,
    pod,
    pod_of,
    scripted,
    sick,
    sidecar,
    topology,
)

P, Q = PodUID("p"), PodUID("q")
INIT, SIDECAR, APP = ContainerKind.INIT, ContainerKind.SIDECAR, ContainerKind.APP


def _record(*ids: str) -> AllocationRecord:
    return AllocationRecord({NumaNode(-1): tuple(map(DeviceID, ids))}, ContainerResponse())


def _table(*ids: str) -> ReuseTable:
    table = ReuseTable()
    table.begin(P)
    table.settle(INIT, {DEV: _record(*ids)})
    return table


# -------------------------------------------------------------------------------------------------------- the table


def test_an_init_container_adds() -> None:
    """All that it has, by resource, to what is there. Rules: DM-86, TM-59"""
    table = _table("a", "b")
    table.settle(INIT, {DEV: _record("b", "c"), NIC: _record("x")})

    assert table.of(P, DEV) == {"a", "b", "c"}
    assert table.of(P, NIC) == {"x"}


@pytest.mark.parametrize("kind", [SIDECAR, APP])
def test_others_take_away(kind: ContainerKind) -> None:
    """A sidecar and an app container keep what they have. Rules: DM-86, DM-87, TM-59"""
    table = _table("a", "b")
    table.settle(kind, {DEV: _record("b", "z"), NIC: _record("x")})

    assert table.of(P, DEV) == {"a"}
    assert table.of(P, NIC) == frozenset()


def test_one_pod_at_a_time() -> None:
    """The next pod's first container ends it, wanting devices or not; the same pod's does not. Rules: DM-86, TM-59"""
    table = _table("a")
    table.begin(P)
    assert table.of(P, DEV) == {"a"}
    assert table.of(Q, DEV) == frozenset()

    table.begin(Q)
    assert table.of(P, DEV) == table.of(Q, DEV) == frozenset()
    table.begin(P)
    assert table.of(P, DEV) == frozenset()


# ------------------------------------------------------------------------------------------------ in whole admissions


def test_the_course_of_the_specification() -> None:
    """Init container, sidecar, two app containers: who has what, four calls, and nothing left. Rules: DM-86, DM-87, DM-88, DM-199"""
    bench = Bench()
    bench.serve(*"abcd")
    steps = bench.admitting(
        pod_of("p", init("i", {DEV: 2}), sidecar("s", {DEV: 1}), container("one", {DEV: 1}), container("two", {DEV: 1}))
    )

    assert steps.finish() == Admitted()
    assert calls(steps) == [("a", "b"), ("a",), ("b",), ("c",)]
    assert [bench.ids("p", name) for name in ("i", "s", "one", "two")] == [{"a", "b"}, {"a"}, {"b"}, {"c"}]
    assert bench.in_use() == {"a", "b", "c"}
    assert bench.reusable("p") == set()


@pytest.mark.parametrize(
    "containers, expected, left",
    [
        ([init("1", {DEV: 1}), init("2", {DEV: 2})], ["a", "ab"], "ab"),
        ([init("1", {DEV: 2}), init("2", {DEV: 1})], ["ab", "a"], "ab"),
        ([init("1", {DEV: 2}), container("2", {DEV: 3})], ["ab", "abc"], ""),
        ([init("1", {DEV: 2}), container("2")], ["ab", None], "ab"),
        ([init("1", {DEV: 2}), container("2", {DEV: 0})], ["ab", None], "ab"),
        ([init("1", {DEV: 3}), container("2", {DEV: 1}), container("3", {DEV: 1})], ["abc", "a", "b"], "c"),
        ([sidecar("1", {DEV: 1}), init("2", {DEV: 1}), container("3", {DEV: 2})], ["a", "b", "bc"], ""),
        ([init("1", {DEV: 2}), sidecar("2", {DEV: 1}), init("3", {DEV: 2})], ["ab", "a", "bc"], "bc"),
        ([container("1", {DEV: 1}), container("2", {DEV: 1})], ["a", "b"], ""),
        ([sidecar("1", {DEV: 1}), container("2", {DEV: 1})], ["a", "b"], ""),
    ],
)
def test_who_takes_over_what(containers: list[Container], expected: list[str | None], left: str) -> None:
    """Handed-on devices come first for every kind of container, what is missing is free ones. Rules: DM-86, DM-87, DM-88"""
    bench = Bench()
    bench.serve(*"abcdef")
    wanted = pod_of("p", *containers)

    assert bench.admit(wanted) == Admitted()
    assert [bench.ids("p", each.name) for each in wanted.all_containers()] == [
        None if ids is None else set(ids) for ids in expected
    ]
    assert bench.reusable("p") == set(left)


def test_handed_on_devices_need_no_health_and_no_preference() -> None:
    """They suffice: the plugin is not asked, though one is unhealthy by now and another is preferred. Rules: DM-87, DM-93, TM-62"""
    bench = Bench()
    client = bench.serve("a", "b", options=PREFERS)
    steps = bench.admitting(pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 1})))
    steps.answer(("b",)).answer(AllocateAnswer((ContainerResponse(),)))
    bench.list(client, "a", sick("b"))

    assert steps.finish() == Admitted()
    assert calls(steps) == [("b",), ("b",)]
    assert len(asked(steps)) == 1


def test_handed_on_devices_do_not_help_when_none_is_healthy() -> None:
    """The checks before the choice know nothing of them. Rules: DM-87, DM-90, TM-61"""
    bench = Bench()
    client = bench.serve("a")
    steps = bench.admitting(pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 1})))
    bench.list(client, sick("a"))

    verdict = steps.finish()
    assert "no healthy devices present" in str(verdict)
    assert calls(steps) == [("a",)]


def test_must_include_what_was_handed_on() -> None:
    """The plugin is asked for the full number, with what was taken over as given. Rules: DM-92, DM-94, DM-200"""
    bench = Bench()
    bench.serve(*"abcd", options=PREFERS)
    steps = bench.admitting(pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 3})))
    steps.answer(("c",)).answer(AllocateAnswer((ContainerResponse(),))).answer()

    assert asked(steps)[1] == ({"a", "b", "c", "d"}, {"c"}, 3)
    steps.answer(("d", "b", "a"))
    assert calls(steps)[1] in [("a", "b", "c"), ("a", "c", "d"), ("b", "c", "d")]


def test_too_few_after_reuse() -> None:
    """The text tells what is still needed, and what is free. Rules: DM-90, DM-198, TM-63"""
    bench = Bench()
    bench.serve(*"abc")

    assert bench.refusal(pod_of("p", init("i", {DEV: 2}), container("main", {DEV: 4}))) == (
        f"requested number of devices unavailable for {DEV}. Requested: 2, Available: 1"
    )


@pytest.mark.parametrize("what", [BOOM, AllocateAnswer(()), CheckpointNotWritten("disk full")])
def test_a_failure_leaves_the_table(what: object) -> None:
    """Whatever failed, what was handed on before is still there, and nothing more. Rules: DM-86, TM-59"""
    bench = Bench()
    bench.serve(*"abcd")
    steps = bench.admitting(pod_of("p", init("i", {DEV: 1}), init("j", {DEV: 2}), container("main")))
    steps.answer(AllocateAnswer((ContainerResponse(),))).answer()
    assert isinstance(steps.effect, CallAllocate)
    if isinstance(what, CheckpointNotWritten):
        steps.answer(AllocateAnswer((ContainerResponse(),)))
    steps.answer(what)

    assert "UnexpectedAdmissionError" in str(steps.result)
    assert bench.reusable("p") == {"a"}


def test_another_pod_comes() -> None:
    """It has no use for the table, and what is left there is gone, though it wants no devices. Rules: DM-86, TM-59"""
    bench = Bench()
    bench.serve(*"abc")
    bench.admit(pod_of("p", init("i", {DEV: 2}), container("main")))
    assert bench.reusable("p") == {"a", "b"}

    bench.admit(pod("q"))
    assert bench.reusable("p") == bench.reusable("q") == set()
    assert bench.admit(pod("r", {DEV: 1})) == Admitted()
    assert bench.ids("r") == {"c"}


def test_another_pod_that_cannot_be_aligned() -> None:
    """It ends before any allocation, and so leaves the table alone. Rules: DM-86, TM-39, TM-59"""
    bench = Bench(settings=topology("restricted"), numa=())
    bench.state.reuse.begin(P)
    bench.state.reuse.settle(INIT, {DEV: _record("a")})
    bench.admit(pod("q"))

    assert bench.reusable("p") == {"a"}


def test_admitted_again() -> None:
    """Nothing is needed then, and all the same init containers hand on what they have and others take it away. Rules: DM-86, DM-111, TM-59"""
    bench = Bench()
    bench.serve(*"abc")
    wanted = pod_of("p", init("i", {DEV: 2}), container("main", {DEV: 1}))
    bench.admit(wanted)
    bench.admit(pod("q"))
    steps = bench.admitting(wanted)

    assert (steps.result, steps.seen) == (Admitted(), [])
    assert bench.reusable("p") == {"b"}


def test_a_refused_pod_comes_back_at_once() -> None:
    """Nobody came in between, so its table still names devices that were reclaimed: they come first. Rules: DM-86, DM-101"""
    bench = Bench(order=Preferring("b"))
    bench.serve(*"abc")
    wanted = pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 4}))
    bench.refusal(wanted)
    assert bench.reusable("p") == {"b"}
    bench.manager.context.order = Preferring("a")

    steps = bench.admitting(pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 1})))
    assert calls(steps) == [("b",)]
    assert steps.finish() == Admitted()


def test_two_resources() -> None:
    """Each is handed on by itself. Rules: DM-86, DM-87"""
    bench = Bench()
    bench.serve("a", "b")
    bench.serve("x", "y", resource=NIC)
    bench.admit(pod_of("p", init("i", {DEV: 1, NIC: 1}), container("main", {DEV: 1}), container("net", {NIC: 2})))

    assert bench.ids("p", "main") == {"a"}
    assert bench.ids("p", "net", NIC) == {"x", "y"}
    assert bench.reusable("p") == bench.reusable("p", NIC) == set()


def test_nobody_else_gets_a_device_that_was_handed_on() -> None:
    """It is in use by its init container as long as the pod is there. Rules: DM-88, DM-115"""
    bench = Bench()
    bench.serve("a", "b")
    bench.admit(pod_of("p", init("i", {DEV: 2}), container("main", {DEV: 1})))

    assert "Requested: 1, Available: 0" in bench.refusal(pod("q", {DEV: 1}))
    bench.remove("p")
    assert bench.admit(pod("q", {DEV: 2})) == Admitted()


def test_an_error_of_allocate_for_a_device_handed_on() -> None:
    """The count anew leaves it in use: the init container has it. Rules: DM-88, DM-98"""
    bench = Bench()
    bench.serve("a", "b")
    ok = AllocateAnswer((ContainerResponse(),))
    answers = scripted(CallAllocate, ok, BOOM)

    assert bench.refusal(pod_of("p", init("i", {DEV: 1}), container("main", {DEV: 2})), answers) == str(BOOM)
    assert bench.in_use() == {"a"}
