from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubelet_sim.scenario.story.story_reader import story_from_mapping
from kubelet_sim.scenario.story.story_text import stories_text, story_text

VECTORS = Path(__file__).parents[3] / "vectors"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {
        "initContainers": [{"name": "i"}],
        "containers": [{"name": "c", "resources": {"limits": {"example.com/dev": 2}}}],
    },
}


def told(*steps: dict[str, Any], **more: Any) -> list[str]:
    """The lines of a story with these steps."""
    script = {
        "resource": "example.com/dev",
        "socket": "p.sock",
        "devices": [{"id": "x\x1b", "health": "Ill", "numa": [1]}],
    }
    return story_text(story_from_mapping({"name": "s", "plugins": {"p": script}, "steps": steps, **more})).splitlines()


def test_a_story_in_words() -> None:
    """Its node, its plugins, and a line for each step; control characters are written out."""
    lines = told(
        {"do": "register", "plugin": "p", "expect": {"code": "OK", "message": ""}},
        {"do": "admit", "pod": POD, "expect": {"admit": False, "reason": "R", "message": "m"}},
        {"do": "restart", "running": [["a", "c"]], "ready": False, "expect": {}},
        {"do": "in-use", "expect": {}},
        {"do": "in-use"},
        rules=["DM-1"],
        node={"numa": [0, 1], "policy": "restricted"},
    )
    assert lines == [
        "s  [DM-1]",
        "  A fresh node with NUMA nodes 0, 1, topology policy restricted in scope container.",
        r"  Plugin p serves example.com/dev on p.sock and has 1 device: x\x1b (Ill,NUMA 1).",
        "    1. Plugin p registers: accepted",
        "    2. Pod a comes (i (init) wants nothing; c wants 2 example.com/dev): rejected, R: m",
        "    3. The kubelet restarts (the runtime reports c of a running; pod sources are not ready).",
        "    4. Number of devices in use: expected {}",
        "    5. Number of devices in use.",
    ]


@pytest.mark.parametrize("name", ["scenarios.json", "scenarios2.json"])
def test_recorded_stories_can_be_told(name: str) -> None:
    """One line a step, whatever they expect."""
    cases = json.loads((VECTORS / name).read_text(encoding="utf-8"))
    stories = [story_from_mapping(case) for case in cases]
    assert stories_text(stories).count("\n\n") == len(stories) - 1
    for case, story in zip(cases, stories, strict=True):
        lines = story_text(story).splitlines()
        assert all(line.isprintable() for line in lines)
        assert sum(line.lstrip().split(".")[0].isdecimal() for line in lines) == len(case["steps"])


def test_the_release_of_the_node_is_told() -> None:
    """A story about another kubelet says so, and which gates are turned."""
    assert told(node={"version": "1.28", "gates": {"SidecarContainers": True}})[1] == (
        '  A fresh node with one NUMA node, kubelet 1.28 with {"SidecarContainers": true}.'
    )


def test_what_is_waited_for_is_told_whole() -> None:
    """A step that waits tells how many devices it waits for."""
    waits = {"do": "wait", "resource": "example.com/dev"}
    assert told({**waits, "healthy": 4}, waits)[-2:] == [
        "    1. Time passes until example.com/dev has a plugin and 4 healthy devices.",
        "    2. Time passes until example.com/dev has a plugin and a healthy device.",
    ]
