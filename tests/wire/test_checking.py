"""Checking and recording stories, over real sockets."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kubelet_sim.scenario.play import parallel_play as checking
from kubelet_sim.scenario.play.parallel_play import StoryOutcome, check
from kubelet_sim.scenario.play.player import NotPlayable
from kubelet_sim.scenario.record.recorder import NotRecorded, record
from kubelet_sim.scenario.story.story import Story
from kubelet_sim.scenario.story.story_reader import story_from_mapping
from tests.patience import PATIENCE_S

OK = {"code": "OK", "message": ""}


def story(name: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A story with a plugin `p` of two devices."""
    script = {"resource": "example.com/dev", "socket": "p.sock", "devices": [{"id": "a"}, {"id": "b"}]}
    return {"name": name, "plugins": {"p": script}, "steps": list(steps), **more}


GOOD = story("good", {"do": "register", "plugin": "p", "expect": OK}, {"do": "in-use", "expect": {}})
WRONG = story("wrong", {"do": "in-use", "expect": {"x": 1}}, {"do": "in-use", "expect": {}})
IMPOSSIBLE = story("impossible", {"do": "unlink", "name": "nothing"})
BEYOND = story("beyond", {"do": "pause"})


def checked(*stories: dict[str, Any], **how: Any) -> list[StoryOutcome]:
    """What became of each."""

    async def run() -> list[StoryOutcome]:
        return [outcome async for outcome in check(map(story_from_mapping, stories), **how)]

    return asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_outcomes_come_in_order() -> None:
    """Right, wrong and impossible ones, whatever they do to each other's time."""
    good, wrong, impossible = checked(GOOD, WRONG, IMPOSSIBLE, at_once=2)
    assert (good.is_passed, good.text()) == (True, "")
    assert not wrong.is_passed
    assert "wrong, step 1: in-use" in wrong.text()
    assert not impossible.is_passed
    assert "cannot remove nothing" in impossible.text()


def test_a_story_may_go_on_after_a_wrong_step() -> None:
    """All of it is played then."""
    (short,), (whole,) = checked(WRONG), checked(WRONG, to_the_end=True)
    assert short.played is not None
    assert whole.played is not None
    assert (len(short.played.steps), len(whole.played.steps)) == (1, 2)


def test_what_cannot_be_played_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A story that needs what is not built, one with a bug of ours, and one without an end."""

    async def play(story: Story, **_: object) -> Any:
        match story.name:
            case "beyond":
                raise NotPlayable("beyond: not built yet")
            case "wrong":
                raise ZeroDivisionError("boom")
        await asyncio.sleep(PATIENCE_S)

    monkeypatch.setattr(checking, "play", play)
    beyond, bug, endless = checked(BEYOND, WRONG, GOOD, patience_s=0.05)
    assert (beyond.is_playable, beyond.is_passed, beyond.text()) == (False, False, "beyond: not built yet")
    assert "ZeroDivisionError: boom" in bug.text()
    assert bug.is_playable
    assert "within 0.05 s" in endless.text()


def test_recording_a_file() -> None:
    """What came stands there afterwards, and passes."""
    text = json.dumps([story("s", {"do": "register", "plugin": "p"}, {"do": "state", "expect": "old"})])
    written, stories = asyncio.run(asyncio.wait_for(record(text, "f"), PATIENCE_S))
    assert [step.expect for step in stories[0].steps] == [
        OK,
        {"healthy": {"example.com/dev": ["a", "b"]}, "unhealthy": {"example.com/dev": []}},
    ]
    assert [outcome.is_passed for outcome in checked(*json.loads(written))] == [True]


def test_a_step_that_cannot_be_played_is_not_recorded() -> None:
    """It says which, and why."""
    with pytest.raises(NotRecorded, match=r"impossible, step 1 \(unlink\) could not be played: cannot remove"):
        asyncio.run(asyncio.wait_for(record(json.dumps(IMPOSSIBLE), "f"), PATIENCE_S))


GPU = "example.com/gpu"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one", "uid": "one"},
    "spec": {"containers": [{"name": "main", "resources": {"limits": {GPU: 1}}}]},
}


def slow(*steps: dict[str, Any]) -> str:
    """A story on a whole node, whose plugin is a command that takes its time before it registers."""
    words = [
        "sh",
        "-c",
        'sleep 2; exec "$0" "$@"',
        "{python}",
        "-m",
        "plugins_examples.env_gpu",
        "--socket-dir",
        "{dir}",
    ]
    plugin = {"command": words, "ready": {"registered": GPU, "within": "20s"}}
    start = {"do": "start", "plugin": "mine"}
    node = {"runs_containers": True}
    return json.dumps({"name": "slow", "node": node, "plugins": {"mine": plugin}, "steps": [start, *steps]})


def test_what_comes_by_itself_is_recorded_when_it_has_come() -> None:
    """A plugin is still on its way when the look at it comes; the recorded story waits for it, too."""
    looks: list[dict[str, Any]] = [
        {"do": "resources", "resource": GPU},
        {"do": "apply", "pods": [POD]},
        {"do": "pods", "pod": "one"},
    ]
    written, _ = asyncio.run(record(slow(*looks, {"do": "plugins"}), "f"))
    devices, _, pods, plugins = (step["expect"] for step in json.loads(written)["steps"][1:])
    assert (devices["within"], devices["endpoint"], devices["healthy"]) == ("30s", "live", 4)
    assert (pods["within"], pods["phase"]) == ("30s", "Running")
    assert plugins["plugins"][0]["socket_name"].keys() == {"matches"}  # drawn anew by each process
    assert [outcome.is_passed for outcome in checked(json.loads(written))] == [True]


def test_a_race_is_not_recorded() -> None:
    """A pod that comes while the plugin is on its way back is admitted or not, as it happens."""
    away = [{"do": do, "plugin": "mine"} for do in ("register", "kill", "start")]
    with pytest.raises(NotRecorded, match=r"slow, step 5 \(admit\) told .*true.* at first and .*false.* played again"):
        asyncio.run(record(slow(*away, {"do": "admit", "pod": POD}), "f"))


def test_a_wait_that_fails_says_what_is_there() -> None:
    """How many devices, and what became of the pod."""
    device = {"do": "wait", "resource": "example.com/dev", "healthy": 4, "within": 0}
    pod = {"do": "wait", "pod": "one", "within": 0}
    (outcome,) = checked(story("s", device, {"do": "register", "plugin": "p"}, device, pod), to_the_end=True)
    assert outcome.played is not None
    assert [wrong.failure for wrong in outcome.played.all_wrong] == [
        "there was no example.com/dev with 4 healthy devices within 0 s: the node does not know example.com/dev; there are: none",
        "there was no example.com/dev with 4 healthy devices within 0 s: 2 healthy and 0 unhealthy devices, endpoint live",
        "there was no pod one in phase Running within 0 s: there is no such pod",
    ]
