"""The annotations by which CDI names travel where there is no field for them: `cdi.k8s.io/...`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from kubelet_sim.container.cdi.names import BadName, parse_name

PREFIX = "cdi.k8s.io/"
LONGEST_KEY_NAME = 63
"""Characters behind the prefix."""
_KEY_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")


def annotation_key(plugin: str, allocation: str) -> str:
    """The key for the devices of one allocation by one plugin.

    Raises:
        BadName: an empty part, a name that is too long or has other characters than a label.

    Rules: DM-133
    """
    if not plugin or not allocation:
        raise BadName("the plugin and the allocation of a CDI annotation must have a name")
    name = f"{plugin}_{allocation.replace('/', '_')}"
    if len(name) > LONGEST_KEY_NAME:
        raise BadName(f"the key name {name!r} has {len(name)} characters, {LONGEST_KEY_NAME} are allowed")
    if not _KEY_NAME.fullmatch(name):
        raise BadName(f"the key name {name!r} has other characters than letters, digits, _, - and .")
    return PREFIX + name


def annotation_value(names: Sequence[str]) -> str:
    """The names, joined, as the kubelet of 1.28–1.31 checks them: no dots in the class. Raises `BadName`. Rules: DM-133"""
    for name in names:
        parse_name(name, dotted_class=False)
    return ",".join(names)


def names_in(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """The names in all CDI annotations, in order. Raises `BadName` for the first that is malformed: no device then."""
    found: list[str] = []
    for key, value in annotations.items():
        if key.startswith(PREFIX):
            for name in value.split(","):
                parse_name(name)
                found.append(name)
    return tuple(found)


def all_names(field: Iterable[str], annotations: Mapping[str, str]) -> tuple[str, ...]:
    """What a runtime injects: the names of the CRI field, then those of annotations that are not there yet, each once."""
    return tuple(dict.fromkeys((*field, *names_in(annotations))))
