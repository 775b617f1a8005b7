"""Faults of Allocate: what is refused, what is mixed up, and what takes long."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Sequence

import grpc

from plugins_examples.faulty.conduct import Conduct, Context
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2

Request = api_pb2.AllocateRequest
Answer = api_pb2.AllocateResponse
Granted = api_pb2.ContainerAllocateResponse
CRASH = 70


def _before(conduct: Conduct, look: Callable[[Request, Context], object]) -> None:
    """Look at a request before it gets its good answer."""
    good = conduct.allocate

    def allocate(request: Request, context: Context) -> Answer:
        look(request, context)
        return good(request, context)

    conduct.allocate = allocate


def _asked(request: Request) -> list[str]:
    return sorted(id_ for each in request.container_requests for id_ in each.devices_ids)


def _has_unknown(conduct: Conduct, request: Request) -> bool:
    known = {device.ID for resource in conduct.resources for device in conduct.devices(resource)}
    return not set(_asked(request)) <= known


@fault("response-per-device", "alloc-response-count", "alloc-multi-container-request", "alloc-uses-requested-ids")
def response_per_device(conduct: Conduct) -> None:
    """It answers device by device instead of container by container."""
    good = conduct.allocate

    def allocate(request: Request, context: Context) -> Answer:
        good(request, context)
        ids = [id_ for each in request.container_requests for id_ in sorted(each.devices_ids)]
        return Answer(container_responses=[conduct.allocate_one([id_]) for id_ in ids])

    conduct.allocate = allocate


@fault("no-response", "alloc-response-count", "alloc-accepts-schedulable-count", "alloc-multi-container-request")
def no_response(conduct: Conduct) -> None:
    """It answers without a container response."""
    good = conduct.allocate

    def allocate(request: Request, context: Context) -> Answer:
        good(request, context)
        return Answer()

    conduct.allocate = allocate


@fault("swaps-containers", "alloc-multi-container-request")
def swaps_containers(conduct: Conduct) -> None:
    """Of several containers the last one is answered first."""
    good = conduct.allocate
    conduct.allocate = lambda request, context: Answer(
        container_responses=reversed(good(request, context).container_responses)
    )


@fault("refuses-twice-in-a-row", "alloc-reoffer-same-id")
def refuses_twice_in_a_row(conduct: Conduct) -> None:
    """It refuses a second call for the same devices that follows at once."""
    last: list[list[str]] = [[]]

    def look(request: Request, context: Context) -> None:
        ids, before = _asked(request), last[0]
        last[0] = [] if ids == before else ids
        if ids == before and ids:
            context.abort(grpc.StatusCode.ALREADY_EXISTS, "allocated just now")

    _before(conduct, look)


@fault("keeps-in-use", "alloc-realloc-after-free", "alloc-accepts-schedulable-count", "alloc-multi-container-request")
def keeps_in_use(conduct: Conduct) -> None:
    """It refuses what it has ever allocated, but for the same devices at once again."""
    used: set[str] = set()
    last: list[list[str]] = [[]]

    def look(request: Request, context: Context) -> None:
        ids = _asked(request)
        if ids != last[0] and used & set(ids):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "in use")
        if not _has_unknown(conduct, request):
            used.update(ids)
            last[0] = ids

    _before(conduct, look)


@fault("crashes-at-unknown", "alloc-unknown-id-no-crash")
def crashes_at_unknown(conduct: Conduct) -> None:
    """It ends when it is asked for an unknown device."""

    def look(request: Request, _: Context) -> None:
        if _has_unknown(conduct, request):
            os._exit(CRASH)

    _before(conduct, look)


@fault("accepts-unknown", "alloc-unknown-id-no-crash")
def accepts_unknown(conduct: Conduct) -> None:
    """It grants an unknown device."""
    conduct.allocate = lambda request, _: Answer(
        container_responses=[conduct.allocate_one(sorted(each.devices_ids)) for each in request.container_requests]
    )


@fault("crashes-at-nothing", "alloc-empty-request-no-crash")
def crashes_at_nothing(conduct: Conduct) -> None:
    """It ends when it is asked for nothing."""

    def look(request: Request, _: Context) -> None:
        if not _asked(request):
            os._exit(CRASH)

    _before(conduct, look)


@fault("fails-after-error", "alloc-error-then-ok")
def fails_after_error(conduct: Conduct) -> None:
    """After a call that failed it fails once more."""
    is_spoilt = [False]

    def look(request: Request, context: Context) -> None:
        was_spoilt, is_spoilt[0] = is_spoilt[0], _has_unknown(conduct, request)
        if was_spoilt:
            context.abort(grpc.StatusCode.INTERNAL, "still locked")

    _before(conduct, look)


@fault("slow-allocate", "alloc-latency")
def slow_allocate(conduct: Conduct) -> None:
    """It takes more than a second to allocate."""
    _before(conduct, lambda *_: time.sleep(1.1))


@fault("refuses-pairs", "alloc-accepts-schedulable-count")
def refuses_pairs(conduct: Conduct) -> None:
    """It refuses two devices for a container."""

    def look(request: Request, context: Context) -> None:
        if any(len(each.devices_ids) == 2 for each in request.container_requests):  # noqa: PLR2004 - a pair
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no pairs")

    _before(conduct, look)


@fault(
    "asks-api-server",
    "alloc-without-apiserver",
    "alloc-response-count",
    "alloc-accepts-schedulable-count",
    "alloc-multi-container-request",
)
def asks_api_server(conduct: Conduct) -> None:
    """It asks an API server that is not there."""
    _before(conduct, lambda _, context: context.abort(grpc.StatusCode.UNAVAILABLE, "connection refused"))


@fault("first-id-matters", "alloc-id-order-irrelevant")
def first_id_matters(conduct: Conduct) -> None:
    """What comes first in a request is the main device."""
    good = conduct.allocate

    def allocate(request: Request, context: Context) -> Answer:
        answer = good(request, context)
        for asked, each in zip(request.container_requests, answer.container_responses, strict=True):
            each.envs["MAIN_DEVICE"] = next(iter(asked.devices_ids), "")
        return answer

    conduct.allocate = allocate


@fault("grants-one", "alloc-uses-requested-ids")
def grants_one(conduct: Conduct) -> None:
    """It grants the first device of those asked for."""
    good = conduct.allocate_one
    conduct.allocate_one = lambda ids: good(ids[:1])


@fault("shares-a-node", "alloc-isolated")
def shares_a_node(conduct: Conduct) -> None:
    """All devices but one have a node in common."""
    good = conduct.allocate_one

    def allocate_one(ids: Sequence[str]) -> Granted:
        answer = good(ids)
        for each in ids:
            host_path = "/dev/full" if each.endswith("0") else "/dev/zero"
            answer.devices.add(container_path=f"/dev/also-{each}", host_path=host_path, permissions="rw")
        return answer

    conduct.allocate_one = allocate_one


@fault("adds-up", "alloc-two-containers-one-pod", "alloc-order-independent", "alloc-multi-container-request")
def adds_up(conduct: Conduct) -> None:
    """What it grants includes what it has granted just before."""
    good = conduct.allocate_one
    last: list[Sequence[str]] = [()]

    def allocate_one(ids: Sequence[str]) -> Granted:
        before, last[0] = last[0], ids
        return good(sorted({*before, *ids}) if len(before) == len(ids) else ids)

    conduct.allocate_one = allocate_one


@fault("counts-calls", "alloc-order-independent")
def counts_calls(conduct: Conduct) -> None:
    """Which slot a device has depends on when it was first asked for."""
    good = conduct.allocate_one
    numbers = itertools.count()
    slots: dict[str, int] = {}

    def allocate_one(ids: Sequence[str]) -> Granted:
        answer = good(ids)
        for each in ids:
            if each not in slots:
                slots[each] = next(numbers)
        answer.envs["SLOTS"] = ",".join(str(slots[each]) for each in ids)
        return answer

    conduct.allocate_one = allocate_one
