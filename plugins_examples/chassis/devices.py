"""What a plugin has to offer: devices, their health, and a list that tells its readers when it has changed.

Nothing here knows gRPC. Readers wait for a newer state; whoever changes the state wakes them all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Device:
    """One device as it is listed. Without NUMA nodes it is as near to one processor as to another."""

    id: str
    healthy: bool = True
    numa_nodes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Listing:
    """All devices at one moment. `version` grows with every change, so that a reader never misses or repeats one."""

    version: int
    devices: tuple[Device, ...]


class Inventory:
    """The devices of one resource, safe to use from any thread."""

    def __init__(self, devices: Iterable[Device]) -> None:
        self._changed = threading.Condition()
        self._listing = Listing(version=1, devices=tuple(devices))

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids, in the order in which they are listed."""
        return tuple(device.id for device in self._listing.devices)

    def set_devices(self, devices: Iterable[Device]) -> bool:
        """Make these the devices. Returns whether anything changed."""
        with self._changed:
            old, new = self._listing, tuple(devices)
            if new == old.devices:
                return False
            self._listing = Listing(old.version + 1, new)
            self._changed.notify_all()
            return True

    def wait_newer(self, version: int, *, while_: Callable[[], bool]) -> Listing | None:
        """The first state after `version` (0: the present one), or None as soon as `while_` no longer holds.

        Whoever makes `while_` false calls `wake` afterwards.
        """
        with self._changed:
            self._changed.wait_for(lambda: not while_() or self._listing.version > version)
            return self._listing if while_() else None

    def wake(self) -> None:
        """Let every waiting reader look again whether it is still wanted."""
        with self._changed:
            self._changed.notify_all()


def with_health(devices: Iterable[Device], unhealthy: frozenset[str]) -> tuple[Device, ...]:
    """The devices, those of these ids unhealthy, whatever they were; ids that are not theirs mean nothing."""
    return tuple(replace(device, healthy=False) if device.id in unhealthy else device for device in devices)


def read_ids(path: Path | None) -> frozenset[str]:
    """The ids listed in the file, one a line, `#` begins a comment. No file: none. Raises `OSError` otherwise."""
    if path is None:
        return frozenset()
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return frozenset()
    return frozenset(line.split("#")[0].strip() for line in text.splitlines()) - {""}
