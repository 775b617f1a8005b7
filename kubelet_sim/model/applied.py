"""What became of a pod's manifest that was applied to a node."""

from __future__ import annotations

from attrs import frozen


@frozen
class AppliedPod:
    """What became of one pod of an `apply`."""

    name: str
    namespace: str
    created: bool
    """False: a pod of that name was there already."""
    is_resized: bool = False
    """Whether that one is to have other amounts of cpu and memory; otherwise nothing was done about it."""

    @property
    def word(self) -> str:
        """What became of it, as kubectl says it."""
        if self.created:
            return "created"
        return "configured" if self.is_resized else "unchanged"
