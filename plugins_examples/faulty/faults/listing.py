"""Faults of lists and of the streams that they come on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from plugins_examples.faulty.conduct import POLL_S, Conduct, Stream
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2

Devices = list[api_pb2.Device]


def _bend(conduct: Conduct, bend: Callable[[Devices], object]) -> None:
    """Change every list before it goes out."""
    good = conduct.devices

    def devices(resource: str) -> Devices:
        found = good(resource)
        bend(found)
        return found

    conduct.devices = devices


@fault("late-list", "law-first-message-full-list")
def late_list(conduct: Conduct) -> None:
    """The first list comes after six seconds."""
    good = conduct.lists

    def lists(resource: str, stream: Stream) -> Iterator[Devices]:
        stream.wait(6.0)
        yield from good(resource, stream)

    conduct.lists = lists


@fault("ends-stream", "law-stream-stays-open")
def ends_stream(conduct: Conduct) -> None:
    """It ends its first stream after a moment."""
    good = conduct.lists

    def lists(resource: str, stream: Stream) -> Iterator[Devices]:
        if stream.number > 1:
            yield from good(resource, stream)
        else:
            yield conduct.devices(resource)
            stream.wait(0.8)

    conduct.lists = lists


@fault("changes-only", "law-full-list-every-time")
def changes_only(conduct: Conduct) -> None:
    """After the first list it sends what has changed, and nothing else."""

    def lists(resource: str, stream: Stream) -> Iterator[Devices]:
        before = conduct.devices(resource)
        yield before
        while stream.wait(POLL_S):
            now = conduct.devices(resource)
            if changed := [each for each in now if each not in before]:
                yield changed
            before = now

    conduct.lists = lists


@fault("repeated-id", "law-unique-ids")
def repeated_id(conduct: Conduct) -> None:
    """The first device stands twice in every list."""
    _bend(conduct, lambda devices: devices.extend(devices[:1]))


@fault("empty-id", "law-nonempty-ids")
def empty_id(conduct: Conduct) -> None:
    """One device has no id."""
    _bend(conduct, lambda devices: devices.append(api_pb2.Device(health="Healthy")))


@fault("long-id", "law-id-length")
def long_id(conduct: Conduct) -> None:
    """One id is too long."""
    _bend(conduct, lambda devices: devices.append(api_pb2.Device(ID="x" * 64, health="Healthy")))


@fault("comma-in-id", "law-id-charset")
def comma_in_id(conduct: Conduct) -> None:
    """One id has a comma."""
    _bend(conduct, lambda devices: devices.append(api_pb2.Device(ID="a,b", health="Healthy")))


@fault("shared-ids", "law-ids-unique-across-resources")
def shared_ids(conduct: Conduct) -> None:
    """Two resources have the same ids."""
    conduct.resources = ["example.com/one", "example.com/two"]
    good = conduct.devices
    conduct.devices = lambda _: good("example.com/faulty")


@fault("lower-case-health", "law-health-value")
def lower_case_health(conduct: Conduct) -> None:
    """The health of one device is not spelt as it should be."""
    _bend(conduct, lambda devices: devices.append(api_pb2.Device(ID="odd", health="healthy")))


@fault("large-list", "law-message-under-4mib")
def large_list(conduct: Conduct) -> None:
    """A list has more than 4 MiB."""
    many = [api_pb2.Device(ID=f"{number:060}", health="Healthy") for number in range(60_000)]
    conduct.devices = lambda _: many


@fault("repeats-list", "law-no-spam")
def repeats_list(conduct: Conduct) -> None:
    """It sends its list again and again."""

    def lists(resource: str, stream: Stream) -> Iterator[Devices]:
        while stream.is_open:
            yield conduct.devices(resource)
            stream.wait(0.4)

    conduct.lists = lists


@fault("one-queue", "law-two-streams")
def one_queue(conduct: Conduct) -> None:
    """Whichever stream looks first gets the change, the others never."""
    told: dict[str, Devices] = {}
    lock = threading.Lock()

    def lists(resource: str, stream: Stream) -> Iterator[Devices]:
        told[resource] = conduct.devices(resource)
        yield told[resource]
        while stream.wait(POLL_S):
            with lock:
                now = conduct.devices(resource)
                is_new, told[resource] = now != told[resource], now
            if is_new:
                yield now

    conduct.lists = lists


@fault("stays-after-cancel", "law-handler-exits-on-cancel")
def stays_after_cancel(conduct: Conduct) -> None:
    """Each stream starts a thread that waits for a change for ever."""
    good = conduct.lists

    def lists(resource: str, stream: Stream) -> Iterator[Devices]:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        yield from good(resource, stream)

    conduct.lists = lists


@fault("deaf-to-loss", "law-reconnect-after-stream-loss")
def deaf_to_loss(conduct: Conduct) -> None:
    """It does not notice that its stream is gone."""
    conduct.notices_lost_stream = False


@fault("silent-when-empty", "law-empty-list-explicit")
def silent_when_empty(conduct: Conduct) -> None:
    """It sends no list without a device."""
    good = conduct.lists

    def lists(resource: str, stream: Stream) -> Iterator[Devices]:
        for devices in good(resource, stream):
            if devices:
                yield devices

    conduct.lists = lists
