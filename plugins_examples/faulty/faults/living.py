"""Faults that show only in a life: after a restart, with the second pod, when something was lost. `fuzz` has to find them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence

from plugins_examples.faulty.conduct import Conduct, Context, Stream
from plugins_examples.faulty.faults.table import FAULTS, fault
from plugins_examples.pb import api_pb2

Devices = list[api_pb2.Device]


@fault("misses-restarts")
def misses_restarts(conduct: Conduct) -> None:
    """It notices neither that the kubelet has restarted nor that its stream has ended."""
    conduct.restarted, conduct.notices_lost_stream = lambda _: False, False


@fault("misses-lost-stream")
def misses_lost_stream(conduct: Conduct) -> None:
    """It notices a restart of the kubelet, and nothing of a stream that has ended."""
    conduct.notices_lost_stream = False


@fault("own-books")
def own_books(conduct: Conduct) -> None:
    """It refuses a device that it has given away before."""
    given: set[str] = set()
    good = conduct.allocate

    def allocate(request: api_pb2.AllocateRequest, context: Context) -> api_pb2.AllocateResponse:
        for container in request.container_requests:
            if taken := given & set(container.devices_ids):
                raise RuntimeError(f"already allocated: {', '.join(sorted(taken))}")
            given.update(container.devices_ids)
        return good(request, context)

    conduct.allocate = allocate


@fault("dies-of-empty-request")
def dies_of_empty_request(conduct: Conduct) -> None:
    """An Allocate call without devices ends the process."""
    good = conduct.allocate

    def allocate(request: api_pb2.AllocateRequest, context: Context) -> api_pb2.AllocateResponse:
        if any(not container.devices_ids for container in request.container_requests):
            os._exit(2)
        return good(request, context)

    conduct.allocate = allocate


@fault("ids-of-a-process")
def ids_of_a_process(conduct: Conduct) -> None:
    """Each process has ids of its own."""
    good = conduct.devices

    def devices(resource: str) -> Devices:
        return [api_pb2.Device(ID=f"{each.ID}-{os.getpid()}", health=each.health) for each in good(resource)]

    conduct.devices = devices


@fault("no-response-for-the-second")
def no_response_for_the_second(conduct: Conduct) -> None:
    """From the second Allocate on its answers hold no response."""
    good, count = conduct.allocate, itertools.count(1)

    def allocate(request: api_pb2.AllocateRequest, context: Context) -> api_pb2.AllocateResponse:
        return good(request, context) if next(count) == 1 else api_pb2.AllocateResponse()

    conduct.allocate = allocate


@fault("repeats-ids-later")
def repeats_ids_later(conduct: Conduct) -> None:
    """From the second stream on its first device stands twice in the list."""
    good = conduct.lists

    def lists(resource: str, stream: Stream) -> Iterator[Devices]:
        for devices in good(resource, stream):
            yield [*devices[:1], *devices] if stream.number > 1 else devices

    conduct.lists = lists


@fault("odd-health-later")
def odd_health_later(conduct: Conduct) -> None:
    """From the second stream on one device has a word for its health that there is not."""
    good = conduct.lists

    def lists(resource: str, stream: Stream) -> Iterator[Devices]:
        for devices in good(resource, stream):
            if stream.number > 1 and devices:
                devices = [api_pb2.Device(ID=devices[0].ID, health="healthy"), *devices[1:]]  # noqa: PLW2901
            yield devices

    conduct.lists = lists


@fault("relative-path-for-two")
def relative_path_for_two(conduct: Conduct) -> None:
    """With two devices or more, paths of device nodes are not absolute."""
    good = conduct.allocate_one

    def allocate_one(ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        answer = good(ids)
        for node in answer.devices if len(ids) > 1 else ():
            node.host_path = node.host_path.lstrip("/")
        return answer

    conduct.allocate_one = allocate_one


@fault("drops-what-is-allocated")
def drops_what_is_allocated(conduct: Conduct) -> None:
    """A device that was given away is listed no more."""
    given: set[str] = set()
    good_devices, good_one = conduct.devices, conduct.allocate_one

    def allocate_one(ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        given.update(ids)
        return good_one(ids)

    def lists(resource: str, stream: Stream) -> Iterator[Devices]:
        before = None
        while stream.is_open:
            now = [each for each in good_devices(resource) if each.ID not in given]
            if now != before:
                yield now
                before = now
            stream.wait(0.1)

    conduct.allocate_one, conduct.lists = allocate_one, lists


FAULTS_OF_A_LIFE = tuple(each for each in FAULTS.values() if not each.checks)
"""Those of this module: no check is made for one of them."""
