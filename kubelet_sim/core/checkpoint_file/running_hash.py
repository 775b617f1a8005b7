"""FNV-1a, 32 bits, over stretches that stay while what stands around them changes.

The library hashes whole texts only. What it does to a stretch can be had from it all the same: two states with the same lowest
8 bits stay equally far apart when a byte is mixed in (it touches only these bits), and their distance is multiplied by the prime.
So a stretch takes a state `h` to `h * prime^length + c`, where `c` depends on the lowest 8 bits of `h` alone, and hashing the
stretch once behind a byte that leads to such a state tells `c`.

Rules: CP-9, DM-139
"""

from __future__ import annotations

from attrs import define, field
from fnv_hash_fast import fnv1a_32

START, PRIME, MASK = 2166136261, 16777619, 2**32 - 1
_LOWEST = 0xFF


def _entrances() -> dict[int, tuple[bytes, int]]:
    """A byte to begin with, and the state behind it, for each value of the lowest 8 bits."""
    behind = {byte: ((START ^ byte) * PRIME) & MASK for byte in range(_LOWEST + 1)}
    return {state & _LOWEST: (bytes([byte]), state) for byte, state in behind.items()}


_ENTRANCES = _entrances()


def after_byte(state: int, byte: int) -> int:
    """The state of the hash after one more byte."""
    return ((state ^ byte) * PRIME) & MASK


@define(eq=False)
class Stretch:
    """Some bytes of a text that is hashed."""

    data: bytes
    _keeps: int = 1
    """For how many of the 256 kinds of state the answer is kept."""
    _power: int = field(init=False)
    _known: dict[int, int] = field(factory=dict, init=False)

    @_power.default
    def _prime_to_the_length(self) -> int:
        return pow(PRIME, len(self.data), 2**32)

    def after(self, state: int) -> int:
        """The state behind the stretch, from the one before it."""
        kind = state & _LOWEST
        known = self._known.get(kind)
        if known is None:
            if len(self._known) >= self._keeps:
                self._known.clear()
            entrance, behind = _ENTRANCES[kind]
            known = self._known[kind] = (fnv1a_32(entrance + self.data) - self._power * behind) & MASK
        return (self._power * state + known) & MASK
