"""What became of a manifest that was applied."""

from __future__ import annotations

from attrs import frozen


@frozen
class AppliedPod:
    """One pod of an `apply`."""

    name: str
    namespace: str
    created: bool
    """False: a pod with the same manifest was there already, and nothing was done."""
