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


FAULTS: dict[str, Fault] = {}


def fault(name: str, *checks: str) -> Callable[[Apply], Apply]:
    """Enter the decorated function, which changes a good conduct. Raises `ValueError` for a name that is taken."""

    def enter(apply: Apply) -> Apply:
        if name in FAULTS:
            raise ValueError(f"there are two faults of the name {name}")
        FAULTS[name] = Fault(name, checks, (apply.__doc__ or "").partition("\n")[0], apply)
        return apply

    return enter
