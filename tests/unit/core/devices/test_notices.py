"""Which pods a list makes the kubelet look after at once."""

from __future__ import annotations

from attrs import evolve

from kubelet_sim.core.effects import Effect, NotifyPodHealth, WriteCheckpoint
from kubelet_sim.core.facts import Applied
from kubelet_sim.profiles import V1_36, HealthNotices
from tests.unit.core.bench import DEV, NIC, Bench, Preferring, container, dev, pod, pod_of, sick


def _told(applied: Applied[None]) -> list[tuple[str, ...]]:
    """The pods of each notice."""
    return [effect.pods for effect in applied.effects if isinstance(effect, NotifyPodHealth)]


def _is_before_the_write(effects: tuple[Effect[None], ...]) -> bool:
    return [type(effect) for effect in effects] == [NotifyPodHealth, WriteCheckpoint]


def test_a_change_of_health_is_told() -> None:
    """In both directions, before the checkpoint is written; the same list again tells nothing. Rules: DM-60, DM-157"""
    bench = Bench()
    client = bench.serve("a", "b")
    bench.admit(pod("p", {DEV: 1}))

    turned = bench.list(client, sick("a"), "b")
    assert _told(turned) == [("p",)]
    assert _is_before_the_write(turned.effects)
    assert _told(bench.list(client, sick("a"), "b")) == []
    assert _told(bench.list(client, "a", "b")) == [("p",)]


def test_words_are_compared_not_their_meaning() -> None:
    """From one unhealthy word to another is a change, although the status shows the same. Rules: DM-156, DM-157"""
    bench = Bench()
    client = bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))
    bench.list(client, dev("a", health="Unhealthy"))

    assert _told(bench.list(client, dev("a", health="unhealthy"))) == [("p",)]
    assert _told(bench.list(client, dev("a", 1, health="unhealthy"))) == []


def test_the_first_list_after_a_start_is_news() -> None:
    """Nothing is known of before, so every recorded id that is listed tells its pod. Rules: DM-157"""
    bench = Bench()
    client = bench.serve("a", "b")
    bench.admit(pod("p", {DEV: 1}))
    bench.admit(pod("q", {DEV: 1}))
    documents = [each.document for each in bench.list(client, "a", "b").effects if isinstance(each, WriteCheckpoint)]

    after = bench.restarted(documents[0])

    assert _told(after.list(after.register(), "b")) == [("q",)]


def test_a_vanished_id_tells_nothing_and_its_return_does() -> None:
    """Health unchanged or not, an id that was not in the message before is a change. Rules: DM-157"""
    bench = Bench()
    client = bench.serve("a", "b")
    bench.admit(pod("p", {DEV: 1}))

    assert _told(bench.list(client, "b")) == []
    assert _told(bench.list(client, "a", "b")) == [("p",)]


def test_a_lost_plugin_tells_nothing() -> None:
    """Neither its end nor, with the same list, its return: the table of devices stayed. Rules: DM-44, DM-157"""
    bench = Bench()
    client = bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))

    assert _told(bench.end(client)) == []
    assert _told(bench.list(bench.register(), "a")) == []


def test_one_notice_a_message_one_mention_a_pod() -> None:
    """However many ids and containers are concerned. Rules: DM-157"""
    bench = Bench()
    client = bench.serve(*"abcd")
    bench.admit(pod_of("p", container("one", {DEV: 2}), container("two", {DEV: 1})))
    bench.admit(pod("q", {DEV: 1}))

    assert _told(bench.list(client, *map(sick, "abcd"))) == [("p", "q")]


def test_devices_of_nobody_tell_nothing() -> None:
    """A change of devices that no pod has recorded is nobody's business. Rules: DM-157"""
    bench = Bench()
    client = bench.serve("a", "b")
    bench.admit(pod("p", {DEV: 1}))

    assert _told(bench.list(client, "a", sick("b"))) == []


def test_the_id_alone_is_looked_for() -> None:
    """With equal ids in two resources the pod of the other one may be told instead: which is open. Rules: DM-55, DM-157"""
    told = []
    for first in ("nic-pod", "dev-pod"):
        bench = Bench(order=Preferring(first))
        client = bench.serve("0")
        bench.serve("0", resource=NIC)
        bench.admit(pod("dev-pod", {DEV: 1}))
        bench.admit(pod("nic-pod", {NIC: 1}))
        told += _told(bench.list(client, sick("0")))

    assert told == [("nic-pod",), ("dev-pod",)]


def test_a_pod_of_another_resource_is_told() -> None:
    """Even if nobody holds the device that changed. Rules: DM-157"""
    bench = Bench()
    client = bench.serve("0")
    bench.serve("0", resource=NIC)
    bench.admit(pod("nic-pod", {NIC: 1}))

    assert _told(bench.list(client, sick("0"))) == [("nic-pod",)]


def test_each_entry_of_a_message_is_compared() -> None:
    """With an id that is listed twice, once as before, once not; the table of before had its last entry. Rules: DM-53, DM-157"""
    bench = Bench()
    client = bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))

    assert _told(bench.list(client, sick("a"), "a")) == [("p",)]
    assert _told(bench.list(client, "a")) == []


def test_a_kubelet_without_the_field_tells_nobody() -> None:
    """Rules: DM-154"""
    bench = Bench(profile=evolve(V1_36, health_notices=HealthNotices.NEVER))
    client = bench.serve("a")
    bench.admit(pod("p", {DEV: 1}))

    assert _told(bench.list(client, sick("a"))) == []
