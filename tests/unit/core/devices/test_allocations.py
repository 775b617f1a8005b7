from __future__ import annotations

from kubelet_sim.core.devices.allocations import AllocationRecord, Allocations, RecordKey
from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.response import ContainerResponse
from tests.unit.core.bench import DEV, NIC


def _key(pod: str, container: str = "main", resource: ResourceName = DEV) -> RecordKey:
    return PodUID(pod), ContainerName(container), resource


def _record(*ids: str, numa: int = -1) -> AllocationRecord:
    return AllocationRecord({NumaNode(numa): tuple(map(DeviceID, ids))}, ContainerResponse())


def _books(*entries: tuple[RecordKey, AllocationRecord]) -> Allocations:
    allocations = Allocations()
    for key, record in entries:
        allocations.enter(key, record)
    allocations.recount()
    return allocations


def test_empty_books() -> None:
    """Nothing is recorded, nothing in use, nothing lost. Rules: DM-113"""
    allocations = Allocations()

    assert list(allocations) == []
    assert allocations.pods() == frozenset()
    assert allocations.of_container(PodUID("p"), ContainerName("main")) == {}
    assert allocations.record(*_key("p")) is None
    assert allocations.holders(DEV, DeviceID("a")) == ()
    assert allocations.forgotten() == allocations.unrecorded() == frozenset()


def test_ids_of_a_record() -> None:
    """An id under several nodes, or twice under one, is one id. Rules: DM-100"""
    a, b = DeviceID("a"), DeviceID("b")

    assert AllocationRecord({NumaNode(0): (a, b), NumaNode(1): (a, a)}, ContainerResponse()).ids == {a, b}
    assert AllocationRecord({}, ContainerResponse()).ids == frozenset()


def test_records_are_found_again() -> None:
    """By key, by container, by device; in order of recording. Rules: DM-123"""
    allocations = _books(
        (_key("q"), _record("a")),
        (_key("p", "one"), _record("b")),
        (_key("p", "one", NIC), _record("a")),
        (_key("p", "two"), _record("a")),
    )

    assert allocations.pods() == {"p", "q"}
    assert allocations.of_container(PodUID("p"), ContainerName("one")) == {DEV: _record("b"), NIC: _record("a")}
    assert allocations.record(*_key("p", "two")) == _record("a")
    assert allocations.record(*_key("p", "two", NIC)) is None
    assert allocations.holders(DEV, DeviceID("a")) == (("q", "main"), ("p", "two"))
    assert [key for key, _ in allocations] == [_key("q"), _key("p", "one"), _key("p", "one", NIC), _key("p", "two")]


def test_a_record_replaces_its_predecessor() -> None:
    """A second allocation of one key leaves nothing of the first. Rules: DM-100"""
    allocations = _books((_key("p"), _record("a")), (_key("p"), _record("b", numa=1)))

    assert dict(allocations) == {_key("p"): _record("b", numa=1)}
    assert allocations.in_use == {DEV: {"b"}}


def test_entering_does_not_count() -> None:
    """Ids are in use from the choice on; the record adds none. Rules: DM-97, DM-100"""
    allocations = Allocations()
    allocations.enter(_key("p"), _record("a"))

    assert allocations.in_use == {}
    assert allocations.forgotten() == {(DEV, "a")}


def test_an_id_of_two_pods_is_named() -> None:
    """It is answered and kept as shared; two containers of one pod, or two resources, share nothing. Rules: DM-88, DM-97, DM-145"""
    allocations = _books((_key("p"), _record("a", "b")))

    assert allocations.enter(_key("p", "other"), _record("a")) == frozenset()
    assert allocations.enter(_key("q", resource=NIC), _record("a")) == frozenset()
    assert allocations.shared == set()
    assert allocations.enter(_key("q"), _record("b", "c")) == {"b"}
    assert allocations.shared == {(DEV, "b")}


def test_taking_and_knowing() -> None:
    """A taken id is in use and unrecorded; a known name has a key, and what it had. Rules: DM-83, DM-102"""
    allocations = Allocations()
    allocations.take(DEV, DeviceID("a"))
    allocations.take(DEV, DeviceID("b"))

    assert allocations.know(DEV) == {"a", "b"}
    assert allocations.know(NIC) == set()
    assert allocations.in_use == {DEV: {"a", "b"}, NIC: set()}
    assert allocations.unrecorded() == {(DEV, "a"), (DEV, "b")}


def test_known_ids_are_the_books_own() -> None:
    """What is added to the answer is in use. Rules: DM-90"""
    allocations = Allocations()
    allocations.know(DEV).add(DeviceID("a"))

    assert allocations.in_use == {DEV: {"a"}}


def test_counting_anew() -> None:
    """Ids in use become the union of the records: leaked ids and bare names are gone, lost ids are back. Rules: DM-83, DM-97, DM-102"""
    allocations = Allocations()
    allocations.know(NIC)
    allocations.take(DEV, DeviceID("leaked"))
    allocations.enter(_key("p"), _record("a"))
    allocations.enter(_key("q"), _record("a", "b"))

    allocations.recount()

    assert allocations.in_use == {DEV: {"a", "b"}}
    assert allocations.forgotten() == allocations.unrecorded() == frozenset()


def test_releasing() -> None:
    """Every record of the pods goes, the others stay, and the ids are counted anew. Rules: DM-115"""
    allocations = _books(
        (_key("p", "one"), _record("a")),
        (_key("p", "two", NIC), _record("x")),
        (_key("q"), _record("b")),
    )
    allocations.take(DEV, DeviceID("leaked"))

    allocations.release({PodUID("p")})

    assert dict(allocations) == {_key("q"): _record("b")}
    assert allocations.in_use == {DEV: {"b"}}
