"""Every story of this folder is played, on a node of its own, over real sockets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubelet_sim.node.recording.replaying import replay
from kubelet_sim.scenario.model import Story, read_stories
from kubelet_sim.scenario.player import play
from kubelet_sim.scenario.report import wrong_step_text

HERE = Path(__file__).parent
STORIES = [story for path in sorted(HERE.rglob("*.yaml")) for story in read_stories(path.read_text(), str(path))]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_the_story_goes_as_it_is_told(story: Story, tmp_path: Path) -> None:
    """Each step brings what the story says, and the transcript replays to the same answers. The story names its rules."""
    transcript = tmp_path / "transcript.jsonl"
    played = asyncio.run(play(story, transcript=transcript))
    assert played.wrong is None, wrong_step_text(played)
    with transcript.open() as lines:
        assert replay(lines).differences == ()
