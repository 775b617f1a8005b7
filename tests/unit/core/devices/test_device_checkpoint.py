from __future__ import annotations

from kubelet_sim.core.checkpoint_file.decoder import decode
from kubelet_sim.core.checkpoint_file.document_text import encode
from kubelet_sim.core.devices.allocations import AllocationRecord
from kubelet_sim.core.devices.device_checkpoint import compose
from kubelet_sim.core.devices.endpoint import Endpoint
from kubelet_sim.core.facts import CheckpointRestored, RestoredEntry
from kubelet_sim.core.ports import Order, Sorted
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, PodUID
from kubelet_sim.model.response import ContainerResponse
from tests.unit.core.bench import (
    DEV,
    GONE_S,
    NIC,
    Bench,
    Reversed,
    container,
    dev,
    grant,
    pod,
    pod_of,
    restored,
    sick,
    snapshot,
)


def _document(bench: Bench) -> CheckpointDocument:
    return compose(bench.state, bench.manager.context.order)


def test_a_fresh_manager() -> None:
    """Without records the entries are null; without resources the map is empty, not null. Rules: DM-138, CP-6"""
    assert _document(Bench()) == CheckpointDocument(None, {})
    assert encode(_document(Bench())).startswith(b'{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}}')


def test_what_is_in_a_document() -> None:
    """One entry for each record with the response's bytes; every registered resource with its healthy ids; new ones last. Rules: DM-138, CP-5, CP-6"""
    bench = Bench()
    bench.serve(dev("b", 0, 1), "a", sick("s"))
    bench.serve(sick("x"), resource=NIC)
    bench.register("other.io/silent")
    bench.admit(pod_of("p", container("two", {DEV: 1}), container("one", {DEV: 1})))

    entries = (
        CheckpointEntry("p", "two", DEV, {-1: ("a",)}, grant("a").raw),
        CheckpointEntry("p", "one", DEV, {0: ("b",), 1: ("b",)}, grant("b").raw),
    )
    assert _document(bench) == CheckpointDocument(entries, {DEV: ("a", "b"), NIC: ()})


def test_a_lost_plugin_stays_registered() -> None:
    """Its resource is in the document without ids until it is removed. Rules: DM-44, DM-47, DM-138"""
    bench = Bench()
    bench.end(bench.serve("a"))
    assert _document(bench).registered == {DEV: ()}

    bench.round(GONE_S + 1)
    assert _document(bench).registered == {}


def test_order_in_a_document_is_open() -> None:
    """Entries and ids may come in any order; they are the same ones. Rules: DM-138, CP-6, CP-19"""
    entries = tuple(CheckpointEntry(uid, "main", DEV, {0: ids}, b"") for uid, ids in (("q", ("c",)), ("p", ("a", "b"))))

    def composed(order: Order) -> CheckpointDocument:
        bench = Bench(order=order)
        bench.manager.apply(restored(CheckpointDocument(entries, {})))
        bench.serve("a", "b")
        return _document(bench)

    sorted_, reversed_ = composed(Sorted()), composed(Reversed())

    assert sorted_.entries is not None
    assert reversed_.entries is not None
    assert [entry.pod_uid for entry in sorted_.entries] == ["p", "q"]
    assert [entry.pod_uid for entry in reversed_.entries] == ["q", "p"]
    assert reversed_.entries[1].devices == {0: ("b", "a")}
    assert reversed_.registered == {DEV: ("b", "a")}


def test_what_did_not_change_is_the_same_value() -> None:
    """A later document shares the entries of records that stayed, and the lists that were not replaced. Rules: CP-5, CP-6"""
    bench = Bench()
    bench.serve("n", resource=NIC)
    client = bench.serve("a", "b", "c")
    for name in ("q", "p"):
        bench.admit(pod(name, {DEV: 1}))
    before = _document(bench)

    bench.remove("q")
    bench.admit(pod("o", {DEV: 1}))
    bench.list(client, "a", "b")
    after = _document(bench)

    assert before.entries is not None
    assert after.entries is not None
    assert before.registered is not None
    assert after.registered is not None
    assert [entry.pod_uid for entry in after.entries] == ["p", "o"]
    assert after.entries[0] is before.entries[1]
    assert after.registered[NIC] is before.registered[NIC]
    assert after.registered[DEV] == ("a", "b")


def test_a_record_that_was_replaced_is_composed_anew() -> None:
    """The entry follows the record, whatever was composed before. Rules: DM-100, CP-6"""
    bench = Bench()
    bench.serve("a", "b")
    bench.admit(pod("p", {DEV: 1}))
    _document(bench)

    record = AllocationRecord({NumaNode(1): (DeviceID("b"),)}, ContainerResponse(raw=b"new"))
    bench.state.allocations.enter((PodUID("p"), ContainerName("main"), DEV), record)

    assert _document(bench).entries == (CheckpointEntry("p", "main", DEV, {1: ("b",)}, b"new"),)


def test_composing_changes_nothing() -> None:
    """A document is a look at the state, and later changes do not reach it. Rules: DM-137, DM-138"""
    bench = Bench()
    client = bench.serve("a", "b")
    bench.admit(pod("p", {DEV: 1}))
    before = snapshot(bench.state)
    document = _document(bench)
    assert snapshot(bench.state) == before

    bench.list(client)
    bench.remove("p")
    bench.reclaim()
    assert document == CheckpointDocument(
        (CheckpointEntry("p", "main", DEV, {-1: ("a",)}, grant("a").raw),), {DEV: ("a", "b")}
    )


def test_what_a_start_restores() -> None:
    """Records, ids in use, and registered names without devices under a placeholder that is stopped now. Rules: DM-19, DM-45, DM-145, CP-15"""
    bench = Bench()
    response = ContainerResponse(envs={"K": "V"}, raw=b"bytes")
    devices = {NumaNode(0): (DeviceID("a"),), NumaNode(1): (DeviceID("a"), DeviceID("b"))}
    entry = RestoredEntry(PodUID("p"), ContainerName("main"), DEV, devices, response)

    applied = bench.manager.apply(CheckpointRestored((entry,), (DEV, NIC), 12.0))

    assert applied.effects == ()
    record = bench.state.allocations.record(PodUID("p"), ContainerName("main"), DEV)
    assert record is not None
    assert (record.devices, record.response) == (devices, response)
    assert bench.state.allocations.in_use == {DEV: {"a", "b"}}
    assert bench.state.healthy == bench.state.unhealthy == {DEV: set(), NIC: set()}
    assert bench.state.endpoints == {
        name: Endpoint(name, client=None, options=None, stopped_at_s=12.0) for name in (DEV, NIC)
    }
    assert (bench.state.clients, bench.state.devices, bench.state.resource_of) == ({}, {}, {})
    assert bench.round(12.0 + GONE_S).answer.capacity == {DEV: 0, NIC: 0}
    assert bench.round(13.0 + GONE_S).answer.deleted == (DEV, NIC)


def test_the_ids_of_registered_resources_are_not_restored() -> None:
    """Only the names count; the devices are the plugin's to list. Rules: DM-145, DM-209, CP-15"""
    bench = Bench()
    bench.manager.apply(restored(CheckpointDocument(None, {DEV: ("a", "b")})))

    assert bench.state.healthy == {DEV: set()}
    assert bench.state.devices == {}


def test_a_resource_in_entries_only() -> None:
    """It is known as in use, and not registered. Rules: DM-145, CP-16"""
    bench = Bench()
    bench.manager.apply(restored(CheckpointDocument((CheckpointEntry("p", "main", DEV, {-1: ("a",)}, b""),), {})))

    assert bench.in_use() == {"a"}
    assert DEV not in {**bench.state.healthy, **bench.state.endpoints}
    bench.sources_ready(ready=False)
    assert bench.refusal(pod("q", {DEV: 1})) == f"cannot allocate unregistered device {DEV}"
    assert bench.round().answer.capacity == {}


def test_a_later_entry_replaces_an_earlier_one() -> None:
    """Of two entries for one key the last is restored, and only its ids are in use. Rules: DM-145, CP-15"""
    bench = Bench()
    entries = (
        CheckpointEntry("p", "main", DEV, {-1: ("a",)}, b"1"),
        CheckpointEntry("p", "main", DEV, {0: ("b",)}, b"2"),
    )
    bench.manager.apply(restored(CheckpointDocument(entries, {})))

    assert bench.ids("p") == bench.in_use() == {"b"}


def test_a_document_that_gives_a_device_twice() -> None:
    """It is believed, and worth a warning. Rules: DM-145"""
    bench = Bench()
    entries = tuple(CheckpointEntry(uid, "main", DEV, {-1: ("a",)}, b"") for uid in ("p", "q"))
    bench.manager.apply(restored(CheckpointDocument(entries, {DEV: ()})))

    assert bench.ids("p") == bench.ids("q") == bench.in_use() == {"a"}
    assert bench.notes.warnings("DM-145")


def test_a_restart_through_the_file() -> None:
    """Written, read and restored, the books are the same, and so is the next document. Rules: DM-138, DM-145, CP-18"""
    bench = Bench()
    bench.serve(dev("a", 0, 1), dev("b", 10), "c\u2028<&>")
    bench.admit(pod("p", {DEV: 2}))
    bench.admit(pod("q", {DEV: 1}))
    document = decode(encode(_document(bench)))

    after = bench.restarted(document)

    assert {key: record.devices for key, record in after.state.allocations} == {
        key: record.devices for key, record in bench.state.allocations
    }
    assert after.state.allocations.in_use == bench.state.allocations.in_use
    assert _document(after).entries == document.entries
    assert _document(after).registered == {DEV: ()}


def test_an_empty_document_restores_nothing() -> None:
    """A start from a document without content equals a start without one. Rules: DM-113, DM-145"""
    bench = Bench()
    before = snapshot(bench.state)
    bench.manager.apply(restored(CheckpointDocument(None, {})))

    assert snapshot(bench.state) == before
