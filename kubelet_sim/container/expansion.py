"""`$(NAME)` in commands, arguments, values of variables and sub-paths, as the kubelet expands it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_REFERENCE = re.compile(r"\$(?:\((?P<name>[^)]*)\)|\$)")
"""A reference, or a dollar that is doubled to stand for itself. Any other dollar is an ordinary character."""


def expand(text: str, value_of: Callable[[str], str]) -> str:
    """The text with every reference replaced; `$$(NAME)` ends as `$(NAME)`, and what is no reference stays.

    Rules: DM-129
    Follows: expansion.Expand
    """
    return _REFERENCE.sub(lambda match: "$" if match["name"] is None else value_of(match["name"]), text)


def known(values: Mapping[str, str]) -> Callable[[str], str]:
    """Replaces by these values; a name that is not there stays as it is written. Rules: DM-129"""

    def value_of(name: str) -> str:
        return values.get(name, f"$({name})")

    return value_of
