from __future__ import annotations

import pytest

from kubelet_sim.core.devices.endpoint import EndpointState
from kubelet_sim.core.effects import CallAllocate, CloseConnection, NotifyPodHealth, WriteCheckpoint
from kubelet_sim.core.facts import DevicesListed, StreamEnded
from kubelet_sim.errors import RpcFailed, UsageError
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ClientID, DeviceID
from tests.unit.core.bench import DEV, GONE_S, NIC, Bench, dev, pod, sick, snapshot


def test_a_list_is_the_whole_truth() -> None:
    """Each message replaces both sets and the table; nothing is merged. Rules: DM-51"""
    bench = Bench()
    client = bench.serve("a", sick("b"), dev("c", 0))

    bench.list(client, "b", sick("d"))

    assert bench.state.healthy == {DEV: {"b"}}
    assert bench.state.unhealthy == {DEV: {"d"}}
    assert bench.state.devices == {DEV: {"b": dev("b"), "d": sick("d")}}


@pytest.mark.parametrize("health", ["Unhealthy", "", "healthy", "HEALTHY", "Unknown", " Healthy", "Healthy\n", "\x00"])
def test_healthy_is_one_word(health: str) -> None:
    """Anything but `Healthy` to the letter is unhealthy, and is kept as sent. Rules: DM-52"""
    bench = Bench()
    bench.serve(dev("a", health=health), dev("b", health="Healthy"))

    assert bench.state.healthy == {DEV: {"b"}}
    assert bench.state.unhealthy == {DEV: {"a"}}
    assert bench.state.devices[DEV][DeviceID("a")].health == health


def test_an_id_may_occur_twice() -> None:
    """With both healths it is in both sets; the table keeps the last; it can be allocated. Rules: DM-53"""
    bench = Bench()
    client = bench.serve(dev("a", 0), Device(DeviceID("a"), "Unhealthy", ()))

    assert bench.state.healthy == bench.state.unhealthy == {DEV: {"a"}}
    assert bench.state.devices[DEV] == {"a": Device(DeviceID("a"), "Unhealthy", ())}
    assert bench.round().answer.capacity == {DEV: 2}
    assert bench.round().answer.allocatable == {DEV: 1}
    assert bench.admit(pod("p", {DEV: 1})) == Admitted()

    bench.list(client, sick("a"), dev("a", 1))
    assert bench.state.devices[DEV] == {"a": dev("a", 1)}


def test_the_same_entry_twice_counts_once() -> None:
    """An id that occurs twice with one health is one device. Rules: DM-53"""
    bench = Bench()
    bench.serve("a", "a")

    assert bench.round().answer.capacity == {DEV: 1}
    assert bench.round().answer.allocatable == {DEV: 1}


def test_an_empty_list_is_valid() -> None:
    """It registers the resource with no devices, under a live endpoint that never expires. Rules: DM-54"""
    bench = Bench()
    bench.serve()

    assert bench.state.healthy == {DEV: set()}
    assert bench.round(1e9).answer.capacity == bench.round(1e9).answer.allocatable == {DEV: 0}
    assert bench.refusal(pod("p", {DEV: 1})) == (f"no healthy devices present; cannot allocate unhealthy devices {DEV}")


@pytest.mark.parametrize("device_id", ["", " ", "a" * 5000, "../x", "\x1b[31m", "\u202eid", "\U0001d521", "a,b", "a b"])
def test_ids_are_opaque(device_id: str) -> None:
    """Length, emptiness and characters of an id are nobody's business. Rules: DM-55"""
    bench = Bench()
    bench.serve(device_id)
    steps = bench.admitting(pod("p", {DEV: 1}))

    assert isinstance(steps.effect, CallAllocate)
    assert steps.effect.device_ids == (device_id,)
    assert steps.finish() == Admitted()
    assert bench.ids("p") == {device_id}


def test_resources_may_share_ids() -> None:
    """One id under two names is two devices. Rules: DM-55"""
    bench = Bench()
    bench.serve("a")
    bench.serve("a", resource=NIC)

    assert bench.admit(pod("p", {DEV: 1})) == Admitted()
    assert bench.admit(pod("q", {NIC: 1})) == Admitted()


def test_every_list_asks_for_the_checkpoint() -> None:
    """The document names the healthy ids as of this list, also if nothing changed. Rules: DM-60, DM-136"""
    bench = Bench()
    client = bench.register()
    for _ in range(2):
        applied = bench.list(client, "b", "a", sick("c"))

        assert applied.effects == (WriteCheckpoint(CheckpointDocument(None, {DEV: ("a", "b")})),)
        assert applied.answer is None


def test_what_is_told_of_a_list() -> None:
    """The number of entries, duplicates counted, and of healthy entries. Rules: DM-60"""
    bench = Bench()
    bench.serve("a", "a", sick("a"), sick("b"))

    told = bench.notes.of("DM-60")[-1]

    assert (told.subject, told.details) == (DEV, {"total": 4, "healthy": 2})


def test_a_list_leaves_the_books_alone() -> None:
    """Devices that turn unhealthy or vanish stay allocated, and nobody is called. Rules: DM-57"""
    bench = Bench()
    client = bench.serve("a", "b")
    bench.admit(pod("p", {DEV: 2}))
    records, active = dict(bench.state.allocations), dict(bench.state.active_pods)

    effects = bench.list(client, sick("a")).effects

    assert [type(effect) for effect in effects] == [NotifyPodHealth, WriteCheckpoint]
    assert dict(bench.state.allocations) == records
    assert bench.in_use() == {"a", "b"}
    assert bench.state.active_pods == active
    assert bench.round().answer.allocatable == {DEV: 0}


def test_a_device_that_comes_back_is_still_taken() -> None:
    """A vanished device counts no more, and is not available when listed again until its pod is gone. Rules: DM-58"""
    bench = Bench()
    client = bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))
    bench.list(client, "b")
    assert bench.round().answer.capacity == {DEV: 1}
    assert bench.refusal(pod("p", {DEV: 1})) == (
        f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {DEV}"
    )
    assert bench.in_use() == {"a"}

    bench.list(client, "a")
    bench.manager.apply(DevicesListed(client, (dev("a"),)))
    bench.state.active_pods[pod("p").uid] = pod("p")
    assert bench.refusal(pod("q", {DEV: 1})).endswith("Requested: 1, Available: 0")

    bench.remove("p")
    assert bench.admit(pod("q", {DEV: 1})) == Admitted()


def test_the_last_message_of_any_stream_wins() -> None:
    """The stream of a replaced client still feeds the resource. Rules: DM-32, DM-61"""
    bench = Bench()
    older = bench.serve("a")
    newer = bench.serve("b")
    assert bench.state.healthy == {DEV: {"b"}}

    bench.list(older, "c")
    assert bench.state.healthy == {DEV: {"c"}}
    bench.list(newer, "d")
    assert bench.state.healthy == {DEV: {"d"}}


def test_the_end_of_a_stream() -> None:
    """Healthy devices become unhealthy, the endpoint gets its stop time, the connection is closed. Rules: DM-42, DM-44"""
    bench = Bench()
    client = bench.serve(dev("a", 1), sick("b"))
    table = dict(bench.state.devices[DEV])

    applied = bench.end(client, 7.0)

    assert applied.effects == (CloseConnection(client),)
    assert bench.state.clients == {}
    assert bench.state.healthy == {DEV: set()}
    assert bench.state.unhealthy == {DEV: {"a", "b"}}
    assert bench.state.devices[DEV] == table
    assert bench.state.endpoints[DEV].stopped_at_s == 7.0
    assert bench.state.endpoints[DEV].client == client


@pytest.mark.parametrize(
    "error", [None, RpcFailed("Unavailable", "gone"), RpcFailed("ResourceExhausted", "5 MiB"), RpcFailed("OK", "")]
)
def test_every_end_is_the_same(error: RpcFailed | None) -> None:
    """An orderly end is no better than an error, and nothing is opened again. Rules: DM-42"""
    bench, orderly = Bench(), Bench()
    client = bench.serve("a")

    applied = bench.end(client, 1.0, error)

    assert applied == orderly.end(orderly.serve("a"), 1.0)
    assert snapshot(bench.state) == snapshot(orderly.state)


def test_an_end_before_any_list() -> None:
    """Only an empty unhealthy set comes of it: capacity 0, no allocatable value, no device resource. Rules: DM-50"""
    bench = Bench()
    bench.end(bench.register(), 0.0)

    assert bench.state.healthy == {}
    assert bench.state.unhealthy == {DEV: set()}
    answer = bench.round(GONE_S).answer
    assert (answer.capacity, answer.allocatable, answer.deleted) == ({DEV: 0}, {}, ())
    assert bench.shown() == (0, 0)
    assert not bench.state.is_device_plugin_resource(DEV)
    assert bench.round(GONE_S + 1).answer.deleted == (DEV,)


def test_the_older_stream_takes_the_newer_plugin_down() -> None:
    """The client found under the name is closed, not the one whose stream ended. Rules: DM-33"""
    bench = Bench()
    older = bench.serve("a")
    newer = bench.serve("a")

    applied = bench.end(older, 3.0)

    assert applied.effects == (CloseConnection(newer),)
    assert bench.state.clients == {}
    assert bench.state.healthy == {DEV: set()}
    assert (bench.state.endpoints[DEV].client, bench.state.endpoints[DEV].stopped_at_s) == (newer, 3.0)
    assert bench.notes.warnings("DM-33")

    before = snapshot(bench.state)
    assert bench.end(newer, 4.0).effects == ()
    assert snapshot(bench.state) == before


def test_a_stream_ends_once() -> None:
    """An end or a list of a stream that is over is refused, and nothing changes. Rules: DM-42"""
    bench = Bench()
    client = bench.serve("a")
    bench.end(client, 1.0)
    bench.serve("a")
    before = snapshot(bench.state)
    for fact in (StreamEnded(client, 2.0), DevicesListed(client, ())):
        with pytest.raises(UsageError, match="no open stream"):
            bench.manager.apply(fact)
    assert snapshot(bench.state) == before


def test_the_usual_restart_of_a_plugin() -> None:
    """A stream that ends before its successor registers harms nobody. Rules: DM-34"""
    bench = Bench()
    bench.end(bench.serve("a"), 1.0)

    newer = bench.serve("a", "b")

    assert bench.state.clients == {DEV: newer}
    assert bench.state.endpoints[DEV].state is EndpointState.LIVE
    assert bench.state.healthy == {DEV: {"a", "b"}}
    assert bench.state.unhealthy == {DEV: set()}


def test_a_second_disconnect_moves_the_stop_time() -> None:
    """The grace period begins anew with a later disconnect of the name. Rules: DM-45"""
    bench = Bench()
    bench.end(bench.serve("a"), 0.0)
    waiting = bench.registering()
    bench.end(bench.state.clients[DEV], 200.0)
    waiting.close()

    assert bench.round(GONE_S + 100).answer.deleted == ()
    assert bench.round(GONE_S + 201).answer.deleted == (DEV,)


def test_an_older_stream_speaks_for_a_removed_resource() -> None:
    """Its list brings the sets back without an endpoint: pods are refused, the next round removes again. Rules: DM-61"""
    bench = Bench()
    older, newer = bench.serve("a"), bench.register()
    bench.registering()
    bench.end(newer, 0.0)
    assert bench.round(GONE_S + 1).answer.deleted == (DEV,)

    bench.list(older, "a")

    assert bench.state.healthy == {DEV: {"a"}}
    assert bench.state.endpoints == {}
    assert bench.notes.warnings("DM-61")
    assert bench.refusal(pod("p", {DEV: 1})) == f"endpoint not found in cache for a registered resource: {DEV}"
    assert bench.round(GONE_S + 2).answer.deleted == (DEV,)
    assert bench.state.healthy == {}


def test_an_older_stream_that_ends_without_endpoint() -> None:
    """Without an endpoint the sets stay as they are; only the client is closed. Rules: DM-44"""
    bench = Bench()
    older, newer = bench.serve("a"), bench.register()
    waiting = bench.registering()
    bench.end(newer, 0.0)
    bench.round(GONE_S + 1)
    bench.list(older, "a")
    waiting.close()
    again = bench.registering()
    client = bench.state.clients[DEV]

    assert bench.end(older, 400.0).effects == (CloseConnection(client),)

    assert bench.state.healthy == {DEV: {"a"}}
    assert bench.state.unhealthy == {DEV: set()}
    again.close()


@pytest.mark.parametrize(
    "fact", [DevicesListed(ClientID(99), (dev("a"),)), StreamEnded(ClientID(99), 1.0), DevicesListed(ClientID(0), ())]
)
def test_an_unknown_client_is_refused(fact: DevicesListed | StreamEnded) -> None:
    """A fact of a client that never registered here is our caller's error, and changes nothing. Rules: DM-32"""
    bench = Bench()
    bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))
    before, noted = snapshot(bench.state), len(bench.notes.decisions)

    with pytest.raises(UsageError, match=str(fact.client)):
        bench.manager.apply(fact)

    assert snapshot(bench.state) == before
    assert len(bench.notes.decisions) == noted
