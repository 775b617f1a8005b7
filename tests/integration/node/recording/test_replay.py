"""Recording a node and replaying the file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.node.recording.reader import read_header, read_lines
from kubelet_sim.node.recording.replay import replay
from kubelet_sim.node.recording.writer import line
from kubelet_sim.scenario.play.player import play
from kubelet_sim.scenario.story.story_reader import story_from_mapping

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "uid": "p"},
    "spec": {"containers": [{"name": "main", "resources": {"limits": {"example.com/dev": "2"}}}]},
}
STORY = story_from_mapping(
    {
        "name": "a life",
        "plugins": {
            "a": {
                "resource": "example.com/dev",
                "socket": "a.sock",
                "options": {"preferred": True, "preStart": True},
                "devices": [{"id": name, "health": "Healthy"} for name in "abc"],
                "allocate": {"envs": {"IDS": "{ids}"}},
                "preferred": {"ids": ["c", "b"]},
            }
        },
        "steps": [
            {"do": "register", "plugin": "a"},
            {"do": "capacity"},
            {"do": "admit", "pod": POD},
            {"do": "container", "pod": "p", "container": "main"},
            {"do": "set", "plugin": "a", "spec": {"prestart": {"error": ["INTERNAL", "no"]}}},
            {"do": "container", "pod": "p", "container": "main"},
            {"do": "stop", "plugin": "a"},
            {"do": "restart", "running": [["p", "main"]], "ready": False},
            {"do": "advance", "seconds": 400},
            {"do": "capacity"},
        ],
    }
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The transcript of a story that has a bit of everything."""
    path = tmp_path_factory.mktemp("recorded") / "transcript.jsonl"
    played = asyncio.run(play(STORY, transcript=path))
    assert played.wrong is None
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The file as JSON."""
    return [json.loads(text) for text in path.read_text("ascii").splitlines()]


def replayed(lines: list[dict[str, Any]]) -> Any:
    """The lines, replayed."""
    return replay(line(each).decode() for each in lines)


def first(lines: list[dict[str, Any]], kind: str, type_: str | None = None) -> dict[str, Any]:
    """The first line of a kind, with a value of a type."""
    for each in lines:
        value = each.get("value")
        if each.get("kind") == kind and (type_ is None or (isinstance(value, dict) and value.get("type") == type_)):
            return each
    raise AssertionError(f"there is no {kind} {type_}")


CHANGES: dict[str, Callable[[list[dict[str, Any]]], object]] = {
    "another effect": lambda lines: first(lines, "effect", "CallAllocate")["value"].update(device_ids=["a"]),
    "another verdict": lambda lines: first(lines, "end", "Admitted")["value"].update(type="Rejected"),
    "another decision": lambda lines: first(lines, "decision").update(text="something else"),
    "another rule": lambda lines: first(lines, "decision").update(rules=["DM-1"]),
    "a decision less": lambda lines: lines.remove(first(lines, "decision")),
    "another answer to a fact": lambda lines: first(lines, "applied")["value"].update(answer=7),
    "another list": lambda lines: first(lines, "fact", "DevicesListed")["value"].update(devices=[]),
    "another answer of the plugin": lambda lines: first(lines, "answer", "AllocateAnswer")["value"].update(
        responses=[]
    ),
    "a failure that was none": lambda lines: next(each for each in lines if "error" in str(each.get("value"))).update(
        value=None
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_core_that_answers_otherwise_is_noticed(file: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Whatever was recorded and is not what today's core does is a difference, with its line."""
    lines = lines_of(file)
    change(lines)
    came = replayed(lines)
    assert came.differences
    assert 1 < came.differences[0].line <= len(lines) + 1


def test_a_file_that_was_cut_off_is_read_to_its_last_whole_line(file: Path) -> None:
    """A node that was killed leaves half a line; what was before it counts."""
    text = file.read_text("ascii")
    cut = text[: text.rindex("\n", 0, -1) + 20]
    lines = cut.splitlines(keepends=True)
    whole = iter(lines)
    read_header(whole)
    assert [each.number for each in read_lines(whole)] == list(range(2, len(lines)))
    assert replay(lines).differences == ()


@pytest.mark.parametrize(
    "lines, text",
    [
        ([], "empty"),
        (["{}\n"], "first line"),
        (['{"transcript": 99}\n'], "version 99"),
        (['{"transcript": 1, "machine": 7}\n'], "header"),
        (["no\n"], "line 1 is no JSON"),
        (["HEADER", "[]\n"], "line 2 is no JSON object"),
        (["HEADER", '{"at_s": 1}\n'], "line 2"),
        (["HEADER", '{"at_s": 1, "kind": "fact", "level": "loud"}\n'], "loud"),
        (["HEADER", '{"at_s": 1, "kind": "fact", "rules": "DM-1"}\n'], "rules"),
    ],
)
def test_what_is_no_transcript_is_refused(file: Path, lines: list[str], text: str) -> None:
    """The line and what is wrong with it."""
    header = file.read_text("ascii").splitlines(keepends=True)[0]
    with pytest.raises(UsageError, match=text):
        replay(header if each == "HEADER" else each for each in lines)


def test_a_record_before_any_process_is_a_difference(file: Path) -> None:
    """A recording that began on a running node cannot be replayed, and that is said."""
    lines = [each for each in lines_of(file) if each.get("kind") != "process"]
    assert "before any kubelet process" in replayed(lines).differences[0].what


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
