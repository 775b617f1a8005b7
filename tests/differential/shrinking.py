"""Makes a story smaller while it still shows what it shows."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

Plain = dict[str, Any]
Persists = Callable[[Plain], Awaitable[bool]]
MOST_TRIES = 400


async def shrunk(story: Plain, persists: Persists, most_tries: int = MOST_TRIES) -> Plain:
    """The smallest story found: steps are dropped first, in ever smaller runs, then plugins, containers, devices, keys."""
    tries = 0
    best = story
    improved = True
    while improved:
        improved = False
        for candidate in _smaller(best):
            tries += 1
            if tries > most_tries:
                return best
            if await persists(candidate):
                best, improved = candidate, True
                break
    return best


def _smaller(story: Plain) -> Iterator[Plain]:
    steps = story["steps"]
    length = len(steps)
    while length:
        for start in range(len(steps) - length, -1, -length):
            yield {**story, "steps": steps[:start] + steps[start + length :]}
        length //= 2
    named = {name for step in steps for name in (step.get("plugin"), *step.get("plugins", ()))}
    for name in story["plugins"]:
        if name not in named:
            yield {**story, "plugins": {key: part for key, part in story["plugins"].items() if key != name}}
    for container_list in _lists(story):
        for at in range(len(container_list(story))):
            smaller = copy.deepcopy(story)
            del container_list(smaller)[at]
            yield smaller
    for name, script in story["plugins"].items():
        for key in set(script) - {"resource", "socket", "devices"}:
            smaller = copy.deepcopy(story)
            del smaller["plugins"][name][key]
            yield smaller


def _lists(story: Plain) -> Iterator[Callable[[Plain], list[Any]]]:
    """Where lists of devices and of containers stand, as paths into a copy."""
    for name, script in story["plugins"].items():
        if script.get("devices"):
            yield lambda of, name=name: of["plugins"][name]["devices"]  # type: ignore[misc]
    for at, step in enumerate(story["steps"]):
        if step.get("devices"):
            yield lambda of, at=at: of["steps"][at]["devices"]  # type: ignore[misc]
        if step["do"] == "admit":
            for kind in ("initContainers", "containers"):
                if len(step["pod"]["spec"].get(kind, ())) > (kind == "containers"):
                    yield lambda of, at=at, kind=kind: of["steps"][at]["pod"]["spec"][kind]  # type: ignore[misc]
