"""A plugin that was recorded, served again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from kubelet_sim.errors import RpcFailed, UsageError
from kubelet_sim.model.ids import DeviceID, ResourceName
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.scenario.play.player import play
from kubelet_sim.scenario.plugins.recorded_plugin import RecordedPlugin, recordings
from kubelet_sim.scenario.plugins.standin import StandIn
from kubelet_sim.scenario.story.story_reader import story_from_mapping
from tests.patience import PATIENCE_S

DEVICE = ResourceName("example.com/dev")


def _pod(name: str, count: int) -> dict[str, object]:
    container = {"name": "main", "resources": {"limits": {DEVICE: str(count)}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "uid": name},
        "spec": {"containers": [container]},
    }


@pytest.fixture(scope="module")
def transcript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two devices, one of them allocated; a second list 60 s after the first."""
    path = tmp_path_factory.mktemp("recorded") / "story.jsonl"
    plugin = {
        "resource": DEVICE,
        "socket": "p.sock",
        "devices": [{"id": "a"}],
        "options": {"preStart": True},
        "allocate": {"envs": {"IDS": "{ids}"}},
        "prestart": {"error": ["INTERNAL", "no"]},
    }
    steps = [
        {"do": "register", "plugin": "a"},
        {"do": "admit", "pod": _pod("one", 1)},
        {"do": "container", "pod": "one", "container": "main"},
        {"do": "advance", "seconds": 60},
        {"do": "update", "plugin": "a", "devices": [{"id": "a"}, {"id": "b"}]},
    ]
    story = story_from_mapping({"name": "s", "plugins": {"a": plugin}, "steps": steps})
    played = asyncio.run(play(story, to_the_end=True, transcript=path))
    assert not [step.failure for step in played.steps if step.failure]
    return path


def test_what_a_plugin_did_is_found(transcript: Path) -> None:
    """Its registration, options, lists with their times, and the answer to each call."""
    with transcript.open() as lines:
        recording = recordings(lines)[DEVICE]
    assert (recording.registration.socket_name, recording.options.pre_start_required) == ("p.sock", True)
    assert [(round(at), [device.id for device in devices]) for at, devices in recording.lists] == [
        (0, ["a"]),
        (60, ["a", "b"]),
    ]
    assert [each.call for each in recording.answers] == ["CallAllocate", "CallPreStartContainer"]


def test_it_answers_as_it_did(transcript: Path, tmp_path: Path) -> None:
    """The same for the same ids; for others as for the most similar, which is said; a failure stays one. Rules: DM-98"""
    with transcript.open() as lines:
        recording = recordings(lines)[DEVICE]
    said: list[str] = []
    plugin = RecordedPlugin(recording, tmp_path, lambda _: None, said.append)

    async def ask() -> None:
        same = await plugin.allocate([(DeviceID("a"),)])
        assert dict(same.responses[0].envs) == {"IDS": "a"}
        assert said == []
        other = await plugin.allocate([(DeviceID("b"), DeviceID("a"))])
        assert dict(other.responses[0].envs) == {"IDS": "a"}
        assert said == ["Allocate was not recorded for these ids: answered as for a"]
        with pytest.raises(RpcFailed, match="code = Internal desc = no"):
            await plugin.pre_start((DeviceID("a"),))
        assert await plugin.preferred([]) == []

    asyncio.run(ask())


def test_a_node_gets_the_devices(transcript: Path, short_root: Path) -> None:
    """It registers, and lists without the pauses if they are not wanted."""
    with transcript.open() as lines:
        recording = recordings(lines)[DEVICE]

    async def run() -> None:
        async with Node(NodeConfig(root=short_root / "r"), clock=ManualClock()) as node:
            directory = node.root.layout.device_plugins
            plugin = RecordedPlugin(recording, directory, lambda _: None, lambda _: None, at_once=True)
            serving = asyncio.create_task(StandIn(plugin.script, directory, lambda _: None, plugin=plugin).run())
            try:
                await node.wait_for(lambda now: any(each.healthy == 2 for each in now.resources), PATIENCE_S)
            finally:
                serving.cancel()
                await asyncio.wait([serving])

    asyncio.run(run())


def test_a_transcript_without_plugins_is_said(transcript: Path) -> None:
    """A transcript in which no plugin registers gives nothing to serve, and is refused."""
    header = json.loads(transcript.read_text().splitlines()[0])
    with pytest.raises(UsageError, match="no plugin registers"):
        recordings([json.dumps(header)])
