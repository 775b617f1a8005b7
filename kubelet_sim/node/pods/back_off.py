"""How long a kubelet waits before it tries again what failed: 10 s, doubled each time up to 5 minutes. Pure.

It is the memory of one kubelet process: a restart of the kubelet forgets it.
"""

from __future__ import annotations

from attrs import define, field

FIRST_S = 10.0
LONGEST_S = 300.0
FORGIVEN_AFTER_S = 2 * LONGEST_S
"""What has run longer than this since its last try begins anew."""


@define
class _Delay:
    delay_s: float
    tried_at_s: float


@define
class BackOff:
    """The delays that hold now, by what failed: a container, or the pull of its image."""

    _entries: dict[tuple[str, ...], _Delay] = field(factory=dict)

    def delay_s(self, key: tuple[str, ...]) -> float:
        """The delay that holds for the key now; 0 if nothing is known of it."""
        entry = self._entries.get(key)
        return 0.0 if entry is None else entry.delay_s

    def remaining_s(self, key: tuple[str, ...], failed_at_s: float, now_s: float) -> float:
        """How long to wait still, after a failure at that time; 0 for the first one, and after a long time without."""
        entry = self._entries.get(key)
        if entry is None or failed_at_s - entry.tried_at_s > FORGIVEN_AFTER_S:
            return 0.0
        return max(0.0, failed_at_s + entry.delay_s - now_s)

    def tried(self, key: tuple[str, ...], failed_at_s: float, now_s: float) -> None:
        """It is tried again now, after a failure at that time: the next failure waits longer."""
        entry = self._entries.get(key)
        if entry is None or failed_at_s - entry.tried_at_s > FORGIVEN_AFTER_S:
            self._entries[key] = _Delay(FIRST_S, now_s)
        else:
            entry.delay_s, entry.tried_at_s = min(2 * entry.delay_s, LONGEST_S), now_s

    def forget(self, first: str) -> None:
        """Forget all keys that begin so."""
        for key in [key for key in self._entries if key[0] == first]:
            del self._entries[key]
