"""The table of faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plugins_examples.faulty.conduct import Conduct

Apply = Callable[[Conduct], None]


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong."""

    name: str
    checks: tuple[str, ...]
    """The conformance checks that are to fail on it; the first one is what it was made for."""
    text: str
    apply: Apply
    also: tuple[str, ...] = ()
    """Checks that fail on it, too, or may: what they look at cannot be told apart."""
    is_slow: bool = False
    """Whether it takes a check more than ten seconds to see it."""


FAULTS: dict[str, Fault] = {}


def fault(name: str, *checks: str, also: str = "", is_slow: bool = False) -> Callable[[Apply], Apply]:
    """Enter the decorated function, which changes a good conduct; ids in `also` are parted by spaces.

    Raises `ValueError` for a name that is taken.
    """

    def enter(apply: Apply) -> Apply:
        if name in FAULTS:
            raise ValueError(f"there are two faults of the name {name}")
        text = (apply.__doc__ or "").partition("\n")[0]
        FAULTS[name] = Fault(name, checks, text, apply, tuple(also.split()), is_slow)
        return apply

    return enter
