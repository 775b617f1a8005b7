"""Faults of the answers to GetPreferredAllocation."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

import grpc

from plugins_examples.faulty.conduct import HEALTHY, Conduct, Context
from plugins_examples.faulty.faults.options import PREFERRED, advertise
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2

Request = api_pb2.PreferredAllocationRequest
Answer = api_pb2.PreferredAllocationResponse
Container = api_pb2.ContainerPreferredAllocationRequest
CRASH = 70


def _before(conduct: Conduct, look: Callable[[Container, Context], object]) -> None:
    """Advertise the call, and look at each container's request before the good answer is given."""
    advertise(conduct, PREFERRED)
    good = conduct.prefer

    def prefer(request: Request, context: Context) -> Answer:
        for each in request.container_requests:
            look(each, context)
        return good(request, context)

    conduct.prefer = prefer


def _bend(conduct: Conduct, bend: Callable[[Container, list[str]], Sequence[str]]) -> None:
    """Advertise the call, and change each container's good answer."""
    advertise(conduct, PREFERRED)
    good = conduct.prefer

    def prefer(request: Request, context: Context) -> Answer:
        answer = good(request, context)
        bent = [
            bend(asked, list(each.deviceIDs))
            for asked, each in zip(request.container_requests, answer.container_responses, strict=True)
        ]
        return Answer(container_responses=[api_pb2.ContainerPreferredAllocationResponse(deviceIDs=ids) for ids in bent])

    conduct.prefer = prefer


def _known(conduct: Conduct) -> list[str]:
    return [device.ID for resource in conduct.resources for device in conduct.devices(resource)]


def _free(asked: Container, ids: Sequence[str]) -> list[str]:
    """What is in an answer and need not be."""
    return [each for each in ids if each not in asked.must_include_deviceIDs]


@fault("fails-to-prefer-unknown", "pref-no-error-on-bad-device")
def fails_to_prefer_unknown(conduct: Conduct) -> None:
    """It refuses to choose if there is an unknown id among those available."""

    def look(asked: Container, context: Context) -> None:
        for unknown in set(asked.available_deviceIDs) - set(_known(conduct)):
            context.abort(grpc.StatusCode.NOT_FOUND, f"no device {unknown!a}")

    _before(conduct, look)


@fault("fails-to-prefer-broken", "pref-error-implies-unhealthy", "pref-no-error-on-bad-device")
def fails_to_prefer_broken(conduct: Conduct) -> None:
    """It refuses to choose among devices of which one is broken, and lists that one as healthy."""
    good = conduct.devices
    conduct.devices = lambda resource: [api_pb2.Device(ID=each.ID, health=HEALTHY) for each in good(resource)]

    def look(asked: Container, context: Context) -> None:
        for each in (device for resource in conduct.resources for device in good(resource)):
            if each.health != HEALTHY and each.ID in asked.available_deviceIDs:
                context.abort(grpc.StatusCode.INTERNAL, f"{each.ID!a} does not answer")

    _before(conduct, look)


@fault("prefers-too-few", "pref-size")
def prefers_too_few(conduct: Conduct) -> None:
    """Its choice is one short."""

    def bend(asked: Container, ids: list[str]) -> list[str]:
        return [each for each in ids if each not in _free(asked, ids)[-1:]]

    _bend(conduct, bend)


@fault("prefers-unavailable", "pref-subset")
def prefers_unavailable(conduct: Conduct) -> None:
    """It chooses among all devices, whatever is available."""

    def bend(asked: Container, ids: list[str]) -> list[str]:
        others = [each for each in _known(conduct) if each not in asked.available_deviceIDs]
        free = _free(asked, ids)
        kept = [each for each in ids if each not in free]
        return [*kept, *[*others, *free][: len(free)]]

    _bend(conduct, bend)


@fault("ignores-must-include", "pref-includes-must-include")
def ignores_must_include(conduct: Conduct) -> None:
    """It does not look at what must be included."""
    _bend(conduct, lambda asked, _: sorted(asked.available_deviceIDs)[: asked.allocation_size])


@fault("prefers-twice", "pref-no-duplicates")
def prefers_twice(conduct: Conduct) -> None:
    """It chooses one device twice, if it need not be all different ones."""

    def bend(asked: Container, ids: list[str]) -> list[str]:
        free = _free(asked, ids)
        kept = [each for each in ids if each not in free[-1:]]
        return [*kept, kept[0]] if free and kept else ids

    _bend(conduct, bend)


@fault("reserves-preferred", "pref-no-side-effects")
def reserves_preferred(conduct: Conduct) -> None:
    """It takes the preference for one device as a promise, and refuses the next call if that is for another."""
    devices, allocate = conduct.devices, conduct.allocate
    conduct.devices = lambda resource: [
        *devices(resource),
        *(api_pb2.Device(ID=f"more-{number}", health=HEALTHY) for number in range(5)),
    ]
    promised: set[str] = set()

    def bend(_: Container, ids: list[str]) -> list[str]:
        promised.clear()
        promised.update(ids if len(ids) == 1 else ())
        return ids

    def refuse(request: api_pb2.AllocateRequest, context: Context) -> api_pb2.AllocateResponse:
        waited, asked = set(promised), {id_ for each in request.container_requests for id_ in each.devices_ids}
        promised.clear()
        if waited and not waited <= asked:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "another device was promised")
        return allocate(request, context)

    _bend(conduct, bend)
    conduct.allocate = refuse


@fault("crashes-at-all", "pref-edge-sizes", "alloc-accepts-schedulable-count")
def crashes_at_all(conduct: Conduct) -> None:
    """It ends when it is to choose all devices."""

    def look(asked: Container, _: Context) -> None:
        if asked.allocation_size == len(asked.available_deviceIDs) > 1:
            os._exit(CRASH)

    _before(conduct, look)


@fault("crashes-at-none", "pref-edge-sizes")
def crashes_at_none(conduct: Conduct) -> None:
    """It ends when it is to choose no device."""

    def look(asked: Container, _: Context) -> None:
        if asked.allocation_size == 0:
            os._exit(CRASH)

    _before(conduct, look)


@fault("slow-preference", "pref-latency")
def slow_preference(conduct: Conduct) -> None:
    """It takes more than a second to choose."""
    _before(conduct, lambda *_: time.sleep(1.1))
