"""How a pod is deleted: the choices that `kubectl delete` has."""

from __future__ import annotations

from attrs import frozen


@frozen
class Deletion:
    """By default gracefully, and until the pod is gone."""

    grace_s: float | None = None
    """How long its containers may take to stop, on the node's clock; `None`: as the pod says."""
    is_forced: bool = False
    """Whether the API server forgets it at once, while its containers are still stopping. Rules: DM-116"""
    waits: bool = True
    """Whether to wait until it is gone."""


GRACEFUL = Deletion()
