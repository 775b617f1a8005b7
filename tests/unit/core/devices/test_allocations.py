from __future__ import annotations

from kubelet_sim.core.devices.allocations import AllocationRecord, Books, RecordKey
from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.response import ContainerResponse
from tests.unit.core.bench import DEV, NIC


def _key(pod: str, container: str = "main", resource: ResourceName = DEV) -> RecordKey:
    return PodUID(pod), ContainerName(container), resource


def _record(*ids: str, numa: int = -1) -> AllocationRecord:
    return AllocationRecord({NumaNode(numa): tuple(map(DeviceID, ids))}, ContainerResponse())


def _books(*entries: tuple[RecordKey, AllocationRecord]) -> Books:
    books = Books()
    for key, record in entries:
        books.enter(key, record)
    books.recount()
    return books


def test_empty_books() -> None:
    """Nothing is recorded, nothing in use, nothing lost. Rules: DM-113"""
    books = Books()

    assert list(books) == []
    assert books.pods() == frozenset()
    assert books.of_container(PodUID("p"), ContainerName("main")) == {}
    assert books.record(*_key("p")) is None
    assert books.holders(DEV, DeviceID("a")) == ()
    assert books.forgotten() == books.unrecorded() == frozenset()


def test_ids_of_a_record() -> None:
    """An id under several nodes, or twice under one, is one id. Rules: DM-100"""
    a, b = DeviceID("a"), DeviceID("b")

    assert AllocationRecord({NumaNode(0): (a, b), NumaNode(1): (a, a)}, ContainerResponse()).ids == {a, b}
    assert AllocationRecord({}, ContainerResponse()).ids == frozenset()


def test_records_are_found_again() -> None:
    """By key, by container, by device; in order of recording. Rules: DM-123"""
    books = _books(
        (_key("q"), _record("a")),
        (_key("p", "one"), _record("b")),
        (_key("p", "one", NIC), _record("a")),
        (_key("p", "two"), _record("a")),
    )

    assert books.pods() == {"p", "q"}
    assert books.of_container(PodUID("p"), ContainerName("one")) == {DEV: _record("b"), NIC: _record("a")}
    assert books.record(*_key("p", "two")) == _record("a")
    assert books.record(*_key("p", "two", NIC)) is None
    assert books.holders(DEV, DeviceID("a")) == (("q", "main"), ("p", "two"))
    assert [key for key, _ in books] == [_key("q"), _key("p", "one"), _key("p", "one", NIC), _key("p", "two")]


def test_a_record_replaces_its_predecessor() -> None:
    """A second allocation of one key leaves nothing of the first. Rules: DM-100"""
    books = _books((_key("p"), _record("a")), (_key("p"), _record("b", numa=1)))

    assert dict(books) == {_key("p"): _record("b", numa=1)}
    assert books.in_use == {DEV: {"b"}}


def test_entering_does_not_count() -> None:
    """Ids are in use from the choice on; the record adds none. Rules: DM-97, DM-100"""
    books = Books()
    books.enter(_key("p"), _record("a"))

    assert books.in_use == {}
    assert books.forgotten() == {(DEV, "a")}


def test_an_id_of_two_pods_is_named() -> None:
    """It is answered and kept as shared; two containers of one pod, or two resources, share nothing. Rules: DM-88, DM-97, DM-145"""
    books = _books((_key("p"), _record("a", "b")))

    assert books.enter(_key("p", "other"), _record("a")) == frozenset()
    assert books.enter(_key("q", resource=NIC), _record("a")) == frozenset()
    assert books.shared == set()
    assert books.enter(_key("q"), _record("b", "c")) == {"b"}
    assert books.shared == {(DEV, "b")}


def test_taking_and_knowing() -> None:
    """A taken id is in use and unrecorded; a known name has a key, and what it had. Rules: DM-83, DM-102"""
    books = Books()
    books.take(DEV, DeviceID("a"))
    books.take(DEV, DeviceID("b"))

    assert books.know(DEV) == {"a", "b"}
    assert books.know(NIC) == set()
    assert books.in_use == {DEV: {"a", "b"}, NIC: set()}
    assert books.unrecorded() == {(DEV, "a"), (DEV, "b")}


def test_known_ids_are_the_books_own() -> None:
    """What is added to the answer is in use. Rules: DM-90"""
    books = Books()
    books.know(DEV).add(DeviceID("a"))

    assert books.in_use == {DEV: {"a"}}


def test_counting_anew() -> None:
    """Ids in use become the union of the records: leaked ids and bare names are gone, lost ids are back. Rules: DM-83, DM-97, DM-102"""
    books = Books()
    books.know(NIC)
    books.take(DEV, DeviceID("leaked"))
    books.enter(_key("p"), _record("a"))
    books.enter(_key("q"), _record("a", "b"))

    books.recount()

    assert books.in_use == {DEV: {"a", "b"}}
    assert books.forgotten() == books.unrecorded() == frozenset()


def test_releasing() -> None:
    """Every record of the pods goes, the others stay, and the ids are counted anew. Rules: DM-115"""
    books = _books(
        (_key("p", "one"), _record("a")),
        (_key("p", "two", NIC), _record("x")),
        (_key("q"), _record("b")),
    )
    books.take(DEV, DeviceID("leaked"))

    books.release({PodUID("p")})

    assert dict(books) == {_key("q"): _record("b")}
    assert books.in_use == {DEV: {"b"}}
