"""The recorded stories, played over real sockets: each has to be right, and its transcript to replay as it was."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from kubelet_sim.node.recording.replay import replay
from kubelet_sim.scenario.play.player import play
from kubelet_sim.scenario.play.report import wrong_step_text
from kubelet_sim.scenario.story.story_reader import story_from_mapping
from tests.patience import PATIENCE_S

VECTOR_FILES = {
    "story": "scenarios.json",
    "further_story": "scenarios2.json",
    "random_story": "random.json",
    "differential_story": "differential.json",
}


def wrong(case: dict[str, Any], source: str) -> str:
    """What was wrong, in the story or in the replay of its transcript; empty if nothing was."""

    async def run(transcript: Path) -> str:
        async with asyncio.timeout(PATIENCE_S):
            return wrong_step_text(await play(story_from_mapping(case, source=source), transcript=transcript))

    with tempfile.NamedTemporaryFile(prefix="ks-", suffix=".jsonl") as file:
        found = asyncio.run(run(Path(file.name)))
        with Path(file.name).open() as lines:
            return found or "\n".join(map(str, replay(lines).differences))


def test_stories_told_by_hand(story: dict[str, Any]) -> None:
    """A node answers as the kubelet did, in every step of a story told by hand."""
    assert not (found := wrong(story, VECTOR_FILES["story"])), f"\n{found}"


def test_further_stories_told_by_hand(further_story: dict[str, Any]) -> None:
    """The same for stories about files, sockets, checkpoints and calls that overlap."""
    assert not (found := wrong(further_story, VECTOR_FILES["further_story"])), f"\n{found}"


def test_generated_stories_come_as_recorded(random_story: dict[str, Any]) -> None:
    """The same for generated stories."""
    assert not (found := wrong(random_story, VECTOR_FILES["random_story"])), f"\n{found}"


def test_stories_of_differential_runs(differential_story: dict[str, Any]) -> None:
    """The same for stories that were played side by side with the kubelet's device manager: the node follows its choices."""
    assert not (found := wrong(differential_story, VECTOR_FILES["differential_story"])), f"\n{found}"
