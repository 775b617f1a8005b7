"""Transcripts of stories that were played, for tests of what is shown of them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from kubelet_sim.scenario.play.player import play
from kubelet_sim.scenario.story.story_reader import story_from_mapping

EVIL = '</script><script>alert(1)</script>;#35;"\n\x1b[31m end \u202e<b>&amp;'
DEVICE = "example.com/dev"


def pod(name: str, count: int) -> dict[str, Any]:
    """A pod that asks for so many devices."""
    container = {"name": "main", "resources": {"limits": {DEVICE: str(count)}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "uid": name},
        "spec": {"containers": [container]},
    }


def recorded_story(path: Path, *, device: str = "a") -> Path:
    """A plugin with two devices; one pod gets one, another gets none; the plugin goes."""
    plugin = {
        "resource": DEVICE,
        "socket": "p.sock",
        "devices": [{"id": device}, {"id": "b", "health": "Unhealthy"}],
        "allocate": {"envs": {"IDS": "{ids}"}},
    }
    steps: list[dict[str, Any]] = [
        {"do": "register", "plugin": "a"},
        {"do": "capacity"},
        {"do": "admit", "pod": pod("one", 1)},
        {"do": "container", "pod": "one", "container": "main"},
        {"do": "admit", "pod": pod("two", 7)},
        {"do": "stop", "plugin": "a"},
    ]
    story = story_from_mapping({"name": "a life", "plugins": {"a": plugin}, "steps": steps})
    played = asyncio.run(play(story, to_the_end=True, transcript=path))
    assert not [step.failure for step in played.steps if step.failure]
    return path


def many(path: Path, source: Path, count: int) -> Path:
    """The same with so many records: notes of the node, one a second, behind those of the story."""
    lines = source.read_text("ascii").splitlines()
    first = len(lines)
    lines += [
        json.dumps({"n": first + n, "at_s": float(n), "kind": "node", "subject": "kubelet", "text": f"note {n}"})
        for n in range(count)
    ]
    path.write_text("\n".join(lines) + "\n", "ascii")
    return path
