"""The choices of a fuzzing run: what is tried, on which kubelet, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import field, frozen

_NOTHING: Mapping[str, str] = MappingProxyType({})


@frozen
class FuzzConfig:
    """The choices. Times are real ones."""

    command: tuple[str, ...]
    """Starts the plugin; the placeholders are those of stories."""
    env: Mapping[str, str] = field(default=_NOTHING, hash=False)
    cwd: str | None = None
    isolate: str = "auto"
    resources: tuple[str, ...] = ()
    """Those with which it registers; none: whatever it registers within the patience."""
    time_s: float = 120.0
    """How long new plans are tried; one that is being played then is ended."""
    shrink_s: float = 120.0
    """How long one that went wrong is made short afterwards; 0: it stays as it was found."""
    seed: int = 0
    longest_plan: int = 10
    """How many things happen in one run, at most."""
    most_runs: int = 1_000_000
    patience_s: float = 20.0
    """How long the plugin may take to be back after anything, and a pod that was admitted to run."""
