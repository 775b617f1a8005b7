"""Which GPUs there are: pretended ones, with stable ids."""

from __future__ import annotations

import uuid


def gpu_ids(resource: str, count: int) -> tuple[str, ...]:
    """The ids of a resource's GPUs: the same after every restart, others for another resource."""
    return tuple(f"GPU-{uuid.uuid5(uuid.NAMESPACE_URL, f'{resource}/{number}')}" for number in range(count))
