"""Recording a node and replaying the file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.node.recording.replay import replay
from kubelet_sim.scenario.play.player import play
from tests.unit.node.recording.test_replay import STORY, lines_of


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The transcript of a story that has a bit of everything."""
    path = tmp_path_factory.mktemp("recorded") / "transcript.jsonl"
    played = asyncio.run(play(STORY, transcript=path))
    assert played.wrong is None
    return path


def test_a_recorded_node_replays_to_the_same_answers(file: Path) -> None:
    """Both kubelet processes, all facts and all walks are fed in again, and nothing differs."""
    with file.open() as lines:
        came = replay(lines)
    assert came.differences == ()
    assert (came.processes, came.walks) == (2, 4)
    assert came.facts == sum(each.get("kind") == "fact" for each in lines_of(file))


def test_a_file_that_cannot_be_opened_is_a_misuse(tmp_path: Path) -> None:
    """The node does not start without the transcript that was asked for."""
    with pytest.raises(UsageError, match="cannot be written"):
        asyncio.run(play(STORY, transcript=tmp_path / "missing" / "file"))


def test_a_disk_that_is_full_at_the_start_is_a_misuse() -> None:
    """Not even the header fits."""
    with pytest.raises(UsageError, match="No space left"):
        asyncio.run(play(STORY, transcript=Path("/dev/full")))
