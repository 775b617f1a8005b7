"""Faults of PreStartContainer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import grpc

from plugins_examples.faulty.conduct import Conduct, Context
from plugins_examples.faulty.faults.options import PRE_START, advertise
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2

Request = api_pb2.PreStartContainerRequest
CRASH = 70


def _before(conduct: Conduct, look: Callable[[Request, Context], object]) -> None:
    """Require the call, and look at each before it gets its good answer."""
    advertise(conduct, PRE_START)
    good = conduct.pre_start

    def pre_start(request: Request, context: Context) -> api_pb2.PreStartContainerResponse:
        look(request, context)
        return good(request, context)

    conduct.pre_start = pre_start


def _at_allocate(conduct: Conduct, note: Callable[[set[str]], object]) -> None:
    """Have the ids of each Allocate noted."""
    good = conduct.allocate

    def allocate(request: api_pb2.AllocateRequest, context: Context) -> api_pb2.AllocateResponse:
        answer = good(request, context)
        note({id_ for each in request.container_requests for id_ in each.devices_ids})
        return answer

    conduct.allocate = allocate


@fault("slow-pre-start", "prestart-latency")
def slow_pre_start(conduct: Conduct) -> None:
    """It takes more than five seconds before a container starts."""
    _before(conduct, lambda *_: time.sleep(5.3))


@fault("prepares-once", "prestart-repeatable")
def prepares_once(conduct: Conduct) -> None:
    """It refuses to prepare a device again until it is allocated anew."""
    prepared: set[str] = set()

    def look(request: Request, context: Context) -> None:
        if prepared & set(request.devices_ids):
            context.abort(grpc.StatusCode.ALREADY_EXISTS, "prepared already")
        prepared.update(request.devices_ids)

    _before(conduct, look)
    _at_allocate(conduct, prepared.difference_update)


@fault("forgets-at-restart", "prestart-after-plugin-restart")
def forgets_at_restart(conduct: Conduct) -> None:
    """It refuses to prepare what this process has not allocated."""
    allocated: set[str] = set()

    def look(request: Request, context: Context) -> None:
        if not set(request.devices_ids) <= allocated:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "was never allocated")

    _before(conduct, look)
    _at_allocate(conduct, allocated.update)


@fault("crashes-at-unknown-start", "prestart-unknown-id")
def crashes_at_unknown_start(conduct: Conduct) -> None:
    """It ends when it is to prepare an unknown device."""

    def look(request: Request, _: Context) -> None:
        known = {device.ID for resource in conduct.resources for device in conduct.devices(resource)}
        if not set(request.devices_ids) <= known:
            os._exit(CRASH)

    _before(conduct, look)


@fault("prepares-unknown", "prestart-unknown-id")
def prepares_unknown(conduct: Conduct) -> None:
    """It prepares an unknown device."""
    advertise(conduct, PRE_START)
    conduct.pre_start = lambda *_: api_pb2.PreStartContainerResponse()
