"""The schema of transcript files that is promised, against files of every kind."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import jsonschema
import pytest

from kubelet_sim.manifests.documents import read_documents
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.recording.codec import ASKED, EFFECTS, FACTS
from kubelet_sim.node.recording.schema import FILE_NAME, schema
from kubelet_sim.node.recording.writer import recorded
from kubelet_sim.scenario.play.player import play
from kubelet_sim.scenario.story.story import Story
from kubelet_sim.scenario.story.story_reader import read_stories
from kubelet_sim.wire.pod_resources_client import PodResourcesClient
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[4]
VALIDATOR = jsonschema.Draft202012Validator(schema())
T = TypeVar("T")


class _Shuffled:
    """Picks at random, repeatably."""

    def __init__(self) -> None:
        self._random = random.Random(7)  # noqa: S311 - no secret

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        whole: list[Any] = sorted(items)
        self._random.shuffle(whole)
        return whole


def stories() -> Iterator[Story]:
    """Those told by hand, those of the plugin watcher, and one of a resize."""
    for name in ("scenarios.json", "scenarios2.json"):
        yield from read_stories((ROOT / "tests" / "vectors" / name).read_text("utf-8"), name)
    for name in ("watcher/plugin-watcher.yaml", "versions/resize.yaml"):
        text = (ROOT / "tests" / "scenarios" / name).read_text("utf-8")
        assert list(read_documents(text, name))
        yield from read_stories(text, name)


async def a_node_with_agents(path: Path, root: Path) -> None:
    """Pod resources are looked at, in vain too; orders are picked."""
    node = Node(NodeConfig(root=root / "r"), clock=ManualClock(), order=_Shuffled())
    with recorded(node, path):
        async with node, PodResourcesClient(node.root.layout.pod_resources_socket) as agent:
            await agent.list()
            with pytest.raises(Exception, match="not found"):
                await agent.get("none")


def problems(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """What the schema has against a file, and the records of it."""
    lines = [json.loads(line) for line in path.read_text("ascii").splitlines()]
    found = [
        f"{path.name}:{number}: {error.message[:300]}"
        for number, line in enumerate(lines, 1)
        for error in VALIDATOR.iter_errors(line)
    ]
    return found, lines[1:]


def test_a_recorded_file_of_every_kind_fits_the_schema(tmp_path: Path, short_root: Path) -> None:
    """Whatever stories and agents bring into a file is what the schema says; every kind, fact and question is there."""

    async def run() -> None:
        turn = asyncio.Semaphore(8)

        async def one(number: int, story: Story) -> None:
            async with turn:
                await play(story, to_the_end=True, transcript=tmp_path / f"{number}.jsonl")

        await asyncio.gather(*(one(number, story) for number, story in enumerate(stories())))
        await a_node_with_agents(tmp_path / "agents.jsonl", short_root)

    asyncio.run(run())
    read = [problems(path) for path in tmp_path.glob("*.jsonl")]
    assert [problem for found, _ in read for problem in found] == []
    records = [record for _, each in read for record in each]
    assert {record["kind"] for record in records} | {"pick", "fault"} == set(
        schema()["else"]["properties"]["kind"]["enum"]
    )
    seen = {
        record["value"]["type"]
        for record in records
        if record["kind"] in {"fact", "effect", "walk"} and "value" in record
    }
    assert seen >= (set(FACTS) | set(ASKED)) - {"ContainersRemoved"}
    assert seen >= set(EFFECTS) - {"AnswerCaller", "TakeAdmissionTurn", "NotifyPodHealth", "CloseConnection"}
    calls = [record for record in records if record["kind"] == "rpc"]
    assert {record["value"]["method"].rpartition("/")[2] for record in calls} >= {
        "GetInfo",
        "NotifyRegistrationStatus",
        "List",
        "Get",
    }
    assert all("status" in record and "took_s" in record for record in calls)


def test_every_call_has_a_status_and_a_duration(tmp_path: Path) -> None:
    """Calls to plugins in their answers, Register in the end of its walk, verdicts in the end of theirs. Rules: DM-29"""
    wanted = [story for story in stories() if story.plugins][:6]
    for number, story in enumerate(wanted):
        asyncio.run(play(story, to_the_end=True, transcript=tmp_path / f"{number}.jsonl"))
    records = [record for path in tmp_path.glob("*.jsonl") for record in problems(path)[1]]
    ends = [record for record in records if record["kind"] in {"end", "answer"}]
    assert ends
    assert all("took_s" in record for record in ends)
    asked: dict[str, Any] = {}
    for record in records:
        if record["kind"] in {"walk", "effect"} and "value" in record and "walk" in record:
            asked[f"{record['kind']} {record['walk']}"] = record["value"]["type"]
        elif record["kind"] == "end" and asked.get(f"walk {record['walk']}") == "RegisterAsked":
            assert record["status"] == ("Unknown" if isinstance(record["value"], dict) else "OK")
        elif record["kind"] == "answer" and asked.get(f"effect {record['walk']}", "").startswith("Call"):
            assert record["status"]


@pytest.mark.parametrize(
    "line",
    [
        {"at_s": 1.0, "kind": "fact", "value": {"type": "StatusRoundDue"}},
        {"at_s": 1.0, "kind": "decision", "value": 1},
        {"at_s": 1.0, "kind": "gossip"},
        {"kind": "node"},
        {"at_s": 1.0, "kind": "node", "level": "error"},
        {"at_s": 1.0, "kind": "node", "rules": ["no rule"]},
        {"transcript": 1},
        [],
    ],
)
def test_what_is_no_line_is_refused(line: object) -> None:
    """The schema says something: a fact without its time, a kind or a level that there is not."""
    assert not VALIDATOR.is_valid(line)


def test_the_schema_is_valid_and_both_copies_are_fresh() -> None:
    """Package and documentation hold what the types say now."""
    jsonschema.Draft202012Validator.check_schema(schema())
    script = ROOT / "tools" / "generate_transcript_schema.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (ROOT / "docs" / "reference" / FILE_NAME).exists()
