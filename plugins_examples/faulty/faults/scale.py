"""Faults that show with many devices, many calls, or none."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence

from plugins_examples.faulty.conduct import HEALTHY, POLL_S, Conduct, Stream
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2

SHARES = 500
ID_LENGTH = 60
BUSY_S, REST_S = 0.02, 0.03


@fault("long-ids", "scale-device-count", also="health-initial-state-true health-down-propagates")
def long_ids(conduct: Conduct) -> None:
    """It spends as much on each id as is allowed, which is too much for all that it is made for."""
    conduct.devices = lambda _: [api_pb2.Device(ID=f"{n:0{ID_LENGTH}}", health=HEALTHY) for n in range(SHARES)]


@fault("one-thread", "scale-parallel-rpcs")
def one_thread(conduct: Conduct) -> None:
    """Its server has one thread, and the stream has that."""
    conduct.thread_count = 1


@fault("leaks-descriptors", "scale-alloc-burst")
def leaks_descriptors(conduct: Conduct) -> None:
    """Each Allocate call opens a file, and leaves it open."""
    good = conduct.allocate_one

    def allocate_one(ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        os.open(os.devnull, os.O_RDONLY)
        return good(ids)

    conduct.allocate_one = allocate_one


@fault("never-rests", "scale-idle-cpu")
def never_rests(conduct: Conduct) -> None:
    """It asks again and again whether anything has happened."""

    def ask() -> None:
        while True:
            until_s = time.monotonic() + BUSY_S
            while time.monotonic() < until_s:
                pass
            time.sleep(REST_S)

    conduct.at_start = threading.Thread(target=ask, daemon=True).start


@fault(
    "one-for-all",
    "multi-resource-independent",
    # Its ids are not those that the hooks know.
    also="health-down-propagates health-initial-state-true inv-hotplug-reported law-first-message-full-list",
)
def one_for_all(conduct: Conduct) -> None:
    """The end of one stream ends those of the other resources."""
    conduct.resources = ["example.com/one", "example.com/two"]
    good = conduct.devices
    ended = [0]

    def devices(resource: str) -> list[api_pb2.Device]:
        kind = resource.rpartition("/")[2]
        return [api_pb2.Device(ID=f"{kind}-{each.ID}", health=each.health) for each in good(resource)]

    def lists(resource: str, stream: Stream) -> Iterator[list[api_pb2.Device]]:
        before = ended[0]
        try:
            last = None
            while stream.wait(POLL_S) and ended[0] == before:
                if (now := devices(resource)) != last:
                    last = now
                    yield now
        finally:
            ended[0] += 1

    conduct.devices, conduct.lists = devices, lists
