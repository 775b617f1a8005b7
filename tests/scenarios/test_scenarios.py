"""Every story of this folder is played, on a node of its own, over real sockets."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kubelet_sim.node.recording.replay import replay
from kubelet_sim.node.root_directory.held_inode import inode_of
from kubelet_sim.scenario.play.player import play
from kubelet_sim.scenario.play.report import wrong_step_text
from kubelet_sim.scenario.story.story import Story
from kubelet_sim.scenario.story.story_reader import read_stories

HERE = Path(__file__).parent
STORIES = [story for path in sorted(HERE.rglob("*.yaml")) for story in read_stories(path.read_text(), str(path))]


def inode_numbers_return() -> bool:
    """Whether a file can get the number of one that is gone, where stories make their nodes: on tmpfs none does."""
    with tempfile.TemporaryDirectory() as directory:
        return any(_returns(Path(directory) / "file") for _ in range(10))  # others may take it first


def _returns(path: Path) -> bool:
    path.touch()
    before = inode_of(path)
    path.unlink()
    path.touch()
    after = inode_of(path)
    path.unlink()
    return before == after


def rights_can_be_dropped() -> bool:
    """Whether a plugin can be started to which the modes of files matter."""
    return os.geteuid() != 0 or shutil.which("setpriv") is not None


NEEDS: dict[str, tuple[Callable[[], bool], str]] = {
    "restart-same-inode-and-a-plugin-that-compares-inodes": (inode_numbers_return, "no inode number returns here"),
    "no-rights": (rights_can_be_dropped, "root has no setpriv here"),
}
"""What stories need of the machine."""

ANOTHER_INODE = "the inode of kubelet.sock is another one"
TRIES = 10
"""How often a story is played again, as long as another program takes the number first: such a play shows nothing."""


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_the_story_goes_as_it_is_told(story: Story, tmp_path: Path) -> None:
    """Each step brings what the story says, and the transcript replays to the same answers. The story names its rules."""
    is_met, why = NEEDS.get(story.name, (lambda: True, ""))
    if not is_met():
        pytest.skip(why)
    transcript = tmp_path / "transcript.jsonl"
    played = asyncio.run(play(story, transcript=transcript))
    for _ in range(TRIES):
        if not any(ANOTHER_INODE in record.text for step in played.steps for record in step.journal):
            break
        played = asyncio.run(play(story, transcript=transcript))
    assert played.wrong is None, wrong_step_text(played)
    with transcript.open() as lines:
        assert replay(lines).differences == ()
