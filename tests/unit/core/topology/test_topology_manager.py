from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from attrs import define, field

from kubelet_sim.core.effects import CallAllocate, Walk
from kubelet_sim.core.topology.counters import TopologyTally
from kubelet_sim.core.topology.hints import Hint, HintsByResource
from kubelet_sim.core.topology.masks import mask_of
from kubelet_sim.core.topology.topology_manager import TopologyManager
from kubelet_sim.errors import AllocationFailed, TopologyRefused
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod import Container, Pod
from tests.unit.core.bench import (
    BOOM,
    DEV,
    NIC,
    Bench,
    calls,
    container,
    dev,
    drive,
    init,
    pod,
    pod_of,
    scripted,
    sidecar,
    topology,
)

UNALIGNED = Rejected("TopologyAffinityError", "Resources cannot be allocated with Topology locality")
ON_0, ON_1 = Hint(1, is_preferred=True), Hint(2, is_preferred=True)
POD = pod_of("p", container("app"), init("first"), sidecar("side"))
ALL = ["first", "side", "app"]


@define
class Provider:
    """Somebody with hints; writes down how it is asked."""

    name: str
    log: list[str]
    answers: Mapping[str, Sequence[Hint]] = field(factory=dict)
    """By container; the pod's under the empty text."""
    failures: Mapping[str, Exception] = field(factory=dict)

    def hints(self, pod: Pod, container: Container) -> HintsByResource:
        self.log.append(f"{self.name} hints {container.name}")
        return self._answer(container.name)

    def pod_hints(self, pod: Pod) -> HintsByResource:
        self.log.append(f"{self.name} hints")
        return self._answer("")

    def _answer(self, name: str) -> HintsByResource:
        return {self.name: self.answers[name]} if name in self.answers else {}

    def allocating(self, pod: Pod, container: Container) -> Walk[None]:
        self.log.append(f"{self.name} allocates {container.name}")
        if container.name in self.failures:
            raise self.failures[container.name]
        yield from ()


def _admit(bench: Bench, *providers: Provider) -> Admission:
    return drive(TopologyManager(bench.manager.context, providers).admitting(POD))


def _stored(bench: Bench, wanted: Pod = POD) -> dict[str, Hint]:
    return {each.name: bench.state.affinities.of(wanted.uid, each.name) for each in wanted.all_containers()}


def _bench(policy: str = "restricted", scope: str = "container") -> Bench:
    return Bench(settings=topology(policy, scope), numa=(0, 1))


# ------------------------------------------------------------------------------------------ who is asked, and when


def test_policy_none_asks_nobody_for_hints() -> None:
    """Nobody is asked for hints, nothing is stored, everybody allocates container by container. Rules: TM-18, TM-37, TM-38"""
    log: list[str] = []
    bench = _bench("none")

    assert _admit(bench, Provider("a", log), Provider("b", log)) == Admitted()
    assert log == [f"{who} allocates {name}" for name in ALL for who in "ab"]
    assert set(_stored(bench).values()) == {Hint()}


def test_each_container_is_judged_after_the_one_before_is_allocated() -> None:
    """Each is judged after the one before it has been allocated. Rules: TM-10, TM-37, TM-39"""
    log: list[str] = []
    bench = _bench()
    first = Provider("a", log, {"first": [ON_0], "side": [ON_1]})

    assert _admit(bench, first, Provider("b", log)) == Admitted()
    assert log == [f"{who} {does} {name}" for name in ALL for does in ("hints", "allocates") for who in "ab"]
    assert _stored(bench) == {"first": ON_0, "side": ON_1, "app": Hint(3, is_preferred=True)}


def test_pod_scope_asks_once_for_all_containers() -> None:
    """One question, one hint for all, then everybody allocates container by container. Rules: TM-40, TM-60"""
    log: list[str] = []
    bench = _bench(scope="pod")

    assert _admit(bench, Provider("a", log, {"": [ON_1], "app": [ON_0]}), Provider("b", log)) == Admitted()
    assert log == ["a hints", "b hints", *(f"{who} allocates {name}" for name in ALL for who in "ab")]
    assert set(_stored(bench).values()) == {ON_1}


def test_the_stored_hint_is_all_nodes_if_nobody_pins_anything() -> None:
    """The stored hint is all nodes, but no mask under `single-numa-node`. Rules: TM-49"""
    for policy, hint in (("best-effort", Hint(3, True)), ("single-numa-node", Hint(None, True))):
        bench = _bench(policy)
        assert _admit(bench, Provider("a", [])) == Admitted()
        assert set(_stored(bench).values()) == {hint}


# ------------------------------------------------------------------------------------------------------- refusals


def test_a_container_that_cannot_be_aligned() -> None:
    """It ends there: containers before it keep hint and devices, itself is neither stored nor allocated. Rules: TM-39, TM-41, TM-42"""
    log: list[str] = []
    bench = _bench()

    assert _admit(bench, Provider("a", log, {"first": [ON_0], "side": [Hint(1)], "app": [ON_1]})) == UNALIGNED
    assert log == ["a hints first", "a allocates first", "a hints side"]
    assert _stored(bench) == {"first": ON_0, "side": Hint(), "app": Hint()}


def test_a_pod_that_cannot_be_aligned() -> None:
    """Nothing was stored or allocated by then. Rules: DM-122, TM-40, TM-42"""
    log: list[str] = []
    bench = _bench(scope="pod")

    assert _admit(bench, Provider("a", log, {"": ()})) == UNALIGNED
    assert log == ["a hints"]
    assert set(_stored(bench).values()) == {Hint()}


@pytest.mark.parametrize("policy, scope", [("none", "container"), ("restricted", "container"), ("restricted", "pod")])
def test_an_error_of_a_provider_ends_the_admission(policy: str, scope: str) -> None:
    """It is wrapped, nobody after it allocates, and what is stored stays. Rules: TM-38, TM-39, TM-40, TM-43"""
    log: list[str] = []
    bench = _bench(policy, scope)
    broken = Provider("a", log, failures={"side": AllocationFailed("boom", rule="TM-43")})

    assert _admit(bench, broken, Provider("b", log)) == Rejected(
        "UnexpectedAdmissionError", "Allocate failed due to boom, which is unexpected"
    )
    assert log[-1] == "a allocates side"
    assert (_stored(bench)["side"] == Hint()) == (policy == "none")


def test_an_error_with_a_reason_of_its_own() -> None:
    """Reason and message are its own then, unwrapped. Rules: TM-43"""
    bench = _bench("none")

    assert _admit(bench, Provider("a", [], failures={"app": TopologyRefused()})) == UNALIGNED


def test_a_later_admission_overwrites_the_stored_hint() -> None:
    """The newest hint is the one that counts. Rules: TM-45"""
    bench = _bench("best-effort")
    for hint in (ON_0, ON_1):
        _admit(bench, Provider("a", [], dict.fromkeys(ALL, (hint,))))

    assert set(_stored(bench).values()) == {ON_1}


def test_the_merge_is_told() -> None:
    """An admitted merge is a note, a refused one a warning with what everybody could do. Rules: TM-21, TM-42"""
    bench = _bench()
    many = [Hint(mask) for mask in (1, 2, 3) for _ in range(3)]
    _admit(bench, Provider("a", [], {"first": [ON_0], "side": many}))
    _admit(bench, Provider("a", [], {"first": ()}))

    noted = [(decision.level.name, decision.text) for decision in bench.notes.of("TM-21")]
    assert noted == [
        ("INFO", "first: a could come from {0} (preferred); together {0} (preferred): admitted by policy restricted"),
        (
            "WARNING",
            "side: a could come from {0}, {0}, {0}, {1}, {1}, {1}, {0,1}, {0,1} …; together {0}: refused by policy restricted",
        ),
        ("WARNING", "first: a cannot be had; together {0,1}: refused by policy restricted"),
    ]


# ----------------------------------------------------------------------------------- with the device manager's hints


def _hint(bench: Bench, uid: str, name: str = "main") -> Hint:
    return bench.state.affinities.of(PodUID(uid), ContainerName(name))


def test_aligned_devices_come_from_the_node_that_has_both() -> None:
    """Two resources come from the node that has both, though others are free. Rules: DM-91, DM-121, TM-66"""
    bench = _bench("single-numa-node")
    bench.serve(dev("a", 0), dev("b", 1), dev("c", 1))
    bench.serve(dev("x", 0), dev("y", 1), dev("z", 1), resource=NIC)

    assert bench.admit(pod("p", {DEV: 2, NIC: 1})) == Admitted()
    assert _hint(bench, "p") == ON_1
    assert bench.ids("p") == {"b", "c"}
    assert bench.ids("p", resource=NIC) <= {"y", "z"}  # type: ignore[operator]


@pytest.mark.parametrize("policy", ["restricted", "single-numa-node"])
def test_what_one_node_could_have_had(policy: str) -> None:
    """A node would do if it were idle: two nodes are possible then, but not preferred. Rules: DM-120, TM-31, TM-57"""
    bench = _bench(policy)
    client = bench.serve(dev("a", 0), dev("c", 1))
    bench.admit(pod("q", {DEV: 1}))
    bench.admit(pod("r", {DEV: 1}))
    bench.list(client, *(dev(name, node) for name, node in (("a", 0), ("b", 0), ("c", 1), ("d", 1))))

    assert bench.admit(pod("p", {DEV: 2})) == UNALIGNED
    assert bench.admit(pod("s", {DEV: 1})) == Admitted()


def test_best_effort_takes_what_there_is() -> None:
    """The mask is not satisfiable: aligned devices first, then others. Rules: TM-30, TM-66, TM-67"""
    bench = _bench("best-effort")
    bench.serve(dev("a", 0), dev("b", 0), dev("c", 1))
    bench.serve(dev("x", 1), resource=NIC)

    assert bench.admit(pod("p", {DEV: 3, NIC: 1})) == Admitted()
    assert _hint(bench, "p") == Hint(2)
    assert bench.ids("p") == {"a", "b", "c"}


def test_a_refusal_comes_before_the_devices_are_looked_at() -> None:
    """Too few, unhealthy, gone: with topology it is one and the same refusal. Rules: DM-122"""
    bench = _bench()
    client = bench.serve(dev("a", 0))
    assert bench.admit(pod("many", {DEV: 2})) == UNALIGNED
    bench.list(client, dev("a", 0, health="Sick"))
    assert bench.admit(pod("sick", {DEV: 1})) == UNALIGNED
    bench.end(client)
    assert bench.admit(pod("gone", {DEV: 1})) == UNALIGNED


def test_the_mask_of_the_pod_is_used_for_each_container() -> None:
    """Scope pod: containers get devices one by one from one mask. Rules: DM-119, TM-40, TM-60"""
    bench = _bench("single-numa-node", "pod")
    bench.serve(dev("a", 0), dev("b", 1), dev("c", 1))

    assert bench.admit(pod_of("p", container("one", {DEV: 1}), container("two", {DEV: 1}))) == Admitted()
    assert _hint(bench, "p", "one") == _hint(bench, "p", "two") == ON_1
    assert (bench.ids("p", "one") or set()) | (bench.ids("p", "two") or set()) == {"b", "c"}


def test_what_is_held_is_judged_again() -> None:
    """A pod that has its devices passes again with the hint of just these. Rules: DM-119, TM-45, TM-55"""
    bench = _bench("single-numa-node")
    bench.serve(dev("a", 0), dev("b", 1))
    wanted = pod("p", {DEV: 1})
    bench.admit(pod("q", {DEV: 1}))
    bench.admit(wanted)
    assert _hint(bench, "p") == ON_1
    bench.remove("q")

    steps = bench.admitting(wanted)
    assert (steps.result, steps.seen) == (Admitted(), [])
    assert _hint(bench, "p") == ON_1


def test_records_of_a_refused_pod_come_free() -> None:
    """Its first container's devices stay until the pod is reclaimed, which the next admission does. Rules: DM-115, TM-41, TM-51"""
    bench = _bench()
    bench.serve(dev("a", 0), dev("b", 0))
    assert bench.admit(pod_of("p", container("one", {DEV: 1}), container("two", {DEV: 2}))) == UNALIGNED
    assert bench.ids("p", "one") == {"a"}
    assert _hint(bench, "p", "one") == ON_0

    assert bench.admit(pod("no devices at all")) == Admitted()
    assert bench.ids("p", "one") is None
    assert _hint(bench, "p", "one") == ON_0


def test_under_policy_none_such_a_pod_reclaims_nothing() -> None:
    """Nobody computes hints there. Rules: DM-115, TM-38"""
    bench = _bench("none")
    bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))
    bench.remove("p")
    bench.admit(pod("no devices at all"))

    assert bench.ids("p") == {"a"}


def test_a_failed_allocation_is_told_alike_under_a_policy() -> None:
    """The plugin's error is told as without one. Rules: DM-78, TM-43"""
    bench = _bench()
    bench.serve(dev("a", 1))

    assert bench.refusal(pod("p", {DEV: 1}), scripted(CallAllocate, BOOM)) == str(BOOM)


def test_unaligned_after_a_restart() -> None:
    """Before the plugin is back no topology is known, so that the devices are looked at after all. Rules: DM-122, DM-145"""
    bench = _bench()
    bench.serve(dev("a", 0))
    bench.admit(pod("p", {DEV: 1}))
    after = bench.restarted(None, ready=True)
    after.serve(resource=DEV)

    assert after.refusal(pod("q", {DEV: 1})) == f"no healthy devices present; cannot allocate unhealthy devices {DEV}"


def test_zero_devices_are_judged() -> None:
    """A limit of 0 has hints of its own: any node would do. Rules: TM-53, TM-57"""
    bench = _bench("single-numa-node")
    bench.serve(dev("a", 1), dev("b", 0))
    steps = bench.admitting(pod("p", {DEV: 0}))

    assert (steps.result, calls(steps)) == (Admitted(), [])
    assert _hint(bench, "p") == ON_0
    assert mask_of([0]) == _hint(bench, "p").mask


@pytest.mark.parametrize(
    "policy, scope, tally",
    [
        ("none", "container", TopologyTally(requests=3, errors=0)),
        ("best-effort", "container", TopologyTally(requests=3, errors=2)),
        ("restricted", "pod", TopologyTally(requests=3, errors=2)),
        ("single-numa-node", "container", TopologyTally(requests=3, errors=2, aligned=2, unaligned=1)),
        ("single-numa-node", "pod", TopologyTally(requests=3, errors=2, aligned=1, unaligned=1)),
    ],
)
def test_what_is_counted(policy: str, scope: str, tally: TopologyTally) -> None:
    """Every admission; refusals but for policy none; alignment where it is sure, each container or each pod once.

    Two containers fit, a third wants more than there is, and for a fourth the plugin fails to allocate.

    Rules: TM-35, TM-50
    """
    bench = Bench(settings=topology(policy, scope), numa=[0, 1])
    bench.serve(dev("a", 0), dev("b", 0), dev("c", 1), dev("d", 1))
    assert bench.admit(pod_of("two", container("one", {DEV: 1}), container("other", {DEV: 1}))) == Admitted()

    bench.admit(pod("big", {DEV: 3}))
    bench.admit(pod("fails", {DEV: 1}), scripted(CallAllocate, BOOM))

    assert bench.state.topology_tally == tally
