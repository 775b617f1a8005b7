"""What this plugin has to offer: pretended GPUs with stable ids, and their health.

Nothing here knows gRPC. Readers wait for a newer state; whoever changes the state wakes them all.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Gpu:
    """One device as it is listed."""

    id: str
    healthy: bool


@dataclass(frozen=True)
class Listing:
    """All devices at one moment. `version` grows with every change, so that a reader never misses or repeats one."""

    version: int
    gpus: tuple[Gpu, ...]


def gpu_ids(resource: str, count: int) -> tuple[str, ...]:
    """The ids of a resource's GPUs: the same after every restart, others for another resource."""
    return tuple(f"GPU-{uuid.uuid5(uuid.NAMESPACE_URL, f'{resource}/{number}')}" for number in range(count))


class Inventory:
    """The devices of one resource, safe to use from any thread."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._changed = threading.Condition()
        self._listing = Listing(version=1, gpus=tuple(Gpu(gpu_id, healthy=True) for gpu_id in ids))

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids, in the order in which they are listed."""
        return tuple(gpu.id for gpu in self._listing.gpus)

    def set_unhealthy(self, unhealthy: frozenset[str]) -> bool:
        """Make exactly these ids unhealthy; ids that are not ours mean nothing. Returns whether anything changed."""
        with self._changed:
            old = self._listing
            gpus = tuple(Gpu(gpu.id, healthy=gpu.id not in unhealthy) for gpu in old.gpus)
            if gpus == old.gpus:
                return False
            self._listing = Listing(old.version + 1, gpus)
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


def read_unhealthy(path: Path) -> frozenset[str]:
    """The ids listed in the file, one a line, `#` begins a comment. No file: none. Raises `OSError` otherwise."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return frozenset()
    return frozenset(line.split("#")[0].strip() for line in text.splitlines()) - {""}
