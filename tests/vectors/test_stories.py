"""The recorded stories, played against our node over real sockets; `not_yet.toml` names those that cannot be right yet."""

from __future__ import annotations

import asyncio
import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kubelet_sim.scenario.model import story_from_mapping
from kubelet_sim.scenario.player import NotPlayable, play
from kubelet_sim.scenario.report import wrong_step_text

VECTOR_FILES = {
    "story": "scenarios.json",
    "further_story": "scenarios2.json",
    "random_story": "random.json",
}
PATIENCE_S = 45.0


def waiting() -> dict[str, str]:
    """What each story of the list waits for."""
    groups: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("not_yet.toml").read_text(encoding="utf-8"))
    return {name: reason for reason, names in groups.items() for name in names}


def outcome(case: dict[str, Any], source: str) -> str:
    """What was wrong, empty if nothing was."""

    async def run() -> str:
        try:
            async with asyncio.timeout(PATIENCE_S):
                return wrong_step_text(await play(story_from_mapping(case, source=source)))
        except NotPlayable as reason:
            return str(reason)

    return asyncio.run(run())


def check(case: dict[str, Any], source: str) -> None:
    """A story is right, or it is on the list and is not."""
    reason = waiting().get(case["name"])
    wrong = outcome(case, source)
    if reason is None:
        assert not wrong, f"\n{wrong}"
    else:
        assert wrong, f"the story passes, though not_yet.toml says that it waits for {reason}: take it from the list"


def test_stories_told_by_hand(story: dict[str, Any]) -> None:
    """A node answers as the kubelet did, in every step of a story told by hand."""
    check(story, VECTOR_FILES["story"])


def test_further_stories_told_by_hand(further_story: dict[str, Any]) -> None:
    """The same for stories about files, sockets, checkpoints and calls that overlap."""
    check(further_story, VECTOR_FILES["further_story"])


def test_random_stories(random_story: dict[str, Any]) -> None:
    """The same for generated stories."""
    check(random_story, VECTOR_FILES["random_story"])


@pytest.mark.skipif("KUBELET_SIM_VECTORS" in os.environ, reason="the list is about the stories that lie here")
def test_the_list_names_stories_that_exist() -> None:
    """Every name on the list is that of one of the stories."""
    files = [Path(__file__).with_name(name) for name in VECTOR_FILES.values()]
    names = {case["name"] for file in files for case in json.loads(file.read_text(encoding="utf-8"))}
    assert waiting().keys() <= names
