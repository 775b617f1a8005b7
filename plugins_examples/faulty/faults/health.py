"""Faults of the health of devices, and of which there are."""

from __future__ import annotations

import os
from collections.abc import Iterator

from plugins_examples.faulty.conduct import HEALTHY, MONITOR_DOWN, POLL_S, UNHEALTHY, Conduct, Stream
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2

Devices = list[api_pb2.Device]


def _first_as(conduct: Conduct, health: str) -> None:
    """The first list of each stream says that of all devices."""
    good = conduct.lists

    def lists(resource: str, stream: Stream) -> Iterator[Devices]:
        first = conduct.devices(resource)
        if any(each.health != health for each in first):
            yield [api_pb2.Device(ID=each.ID, health=health) for each in first]
            stream.wait(POLL_S)
        yield from good(resource, stream)

    conduct.lists = lists


@fault("hopeful", "health-initial-state-true", also="health-monitor-failure-visible")
def hopeful(conduct: Conduct) -> None:
    """Its first list has every device healthy, whatever it is like."""
    _first_as(conduct, HEALTHY)


@fault("wary", "health-initial-state-true", also="health-recovers-from-start")
def wary(conduct: Conduct) -> None:
    """Its first list has every device unhealthy, until it has looked."""
    _first_as(conduct, UNHEALTHY)


@fault("takes-all-down", "health-down-propagates", also="health-initial-state-true")
def takes_all_down(conduct: Conduct) -> None:
    """One device that breaks is the end of all."""
    good = conduct.devices

    def devices(resource: str) -> Devices:
        found = good(resource)
        if any(each.health != HEALTHY for each in found):
            for each in found:
                each.health = UNHEALTHY
        return found

    conduct.devices = devices


def _stays_broken(conduct: Conduct, *, from_start: bool) -> None:
    """What breaks stays so: what was broken when it was first seen, or the others."""
    good = conduct.devices
    first: dict[str, bool] = {}
    lost: set[str] = set()

    def devices(resource: str) -> Devices:
        found = good(resource)
        for each in found:
            is_broken = each.health != HEALTHY
            if is_broken and first.setdefault(each.ID, is_broken) == from_start:
                lost.add(each.ID)
            first.setdefault(each.ID, is_broken)
            if each.ID in lost:
                each.health = UNHEALTHY
        return found

    conduct.devices = devices


@fault("never-mends", "health-recovers", also="law-full-list-every-time law-two-streams law-handler-exits-on-cancel")
def never_mends(conduct: Conduct) -> None:
    """A device that breaks is never healthy again."""
    _stays_broken(conduct, from_start=False)


@fault("never-mends-from-start", "health-recovers-from-start")
def never_mends_from_start(conduct: Conduct) -> None:
    """A device that was broken at the start is never healthy."""
    _stays_broken(conduct, from_start=True)


@fault("drops-broken", "health-kept-in-list", also="inv-stable-ids law-full-list-every-time")
def drops_broken(conduct: Conduct) -> None:
    """A device that breaks leaves the list."""
    good = conduct.devices
    conduct.devices = lambda resource: [each for each in good(resource) if each.health == HEALTHY]


@fault("ghost", "health-missing-path-unhealthy")
def ghost(conduct: Conduct) -> None:
    """It lists one device more than there are."""
    good = conduct.devices
    conduct.devices = lambda resource: [*good(resource), api_pb2.Device(ID="ghost", health=HEALTHY)]


@fault("trusts-blindly", "health-monitor-failure-visible")
def trusts_blindly(conduct: Conduct) -> None:
    """What it cannot find out the health of is healthy."""
    good = conduct.devices

    def devices(resource: str) -> Devices:
        found = good(resource)
        if conduct.hardware is not None and (conduct.hardware / MONITOR_DOWN).exists():
            for each in found:
                each.health = HEALTHY
        return found

    conduct.devices = devices


@fault("looks-once", "inv-hotplug-reported", also="law-empty-list-explicit")
def looks_once(conduct: Conduct) -> None:
    """It lists no device that was not there at first."""
    good = conduct.devices
    known: dict[str, set[str]] = {}

    def devices(resource: str) -> Devices:
        found = good(resource)
        first = known.setdefault(resource, {each.ID for each in found})
        return [each for each in found if each.ID in first]

    conduct.devices = devices


@fault("new-ids", "inv-stable-ids")
def new_ids(conduct: Conduct) -> None:
    """One of its devices has another id at each start."""
    good = conduct.devices
    conduct.devices = lambda resource: [*good(resource), api_pb2.Device(ID=f"run-{os.getpid()}", health=HEALTHY)]
