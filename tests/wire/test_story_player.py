"""The player on stories of our own, for steps that no recorded story has, and for what it says when a story is wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubelet_sim.scenario.play.parallel_play import check
from kubelet_sim.scenario.play.player import NotPlayable, Played, play
from kubelet_sim.scenario.play.report import wrong_step_text
from kubelet_sim.scenario.story.story_reader import story_from_mapping
from tests.patience import PATIENCE_S

OK = {"code": "OK", "message": ""}
TWO = [{"id": "a"}, {"id": "b"}]


def plugin(**script: Any) -> dict[str, Any]:
    """A plugin of two devices, unless it says otherwise."""
    return {"resource": "example.com/dev", "socket": "p.sock", "devices": TWO, **script}


def played(steps: list[dict[str, Any]], **plugins: dict[str, Any]) -> Played:
    """The steps, played with these plugins, or with one named `p`."""
    story = story_from_mapping({"name": "s", "plugins": plugins or {"p": plugin()}, "steps": steps})
    return asyncio.run(asyncio.wait_for(play(story), PATIENCE_S))


def step(do: str, expect: Any = None, **arguments: Any) -> dict[str, Any]:
    """A step; one that expects nothing in particular expects an empty answer."""
    return {"do": do, **arguments, "expect": {} if expect is None else expect}


def test_the_end_of_the_oldest_stream_cuts_the_newer_one_off() -> None:
    """A plugin that registered twice on one socket has no stream left after it ended its first (DM-33)."""
    right = played(
        [
            step("register", OK, plugin="p"),
            step("register", OK, plugin="p"),
            step("streams", {"open": 2}, plugin="p"),
            step("end-first-stream", plugin="p"),
            step("state", {"healthy": {"example.com/dev": []}, "unhealthy": {"example.com/dev": ["a", "b"]}}),
            step("streams", {"open": 0}, plugin="p"),
        ]
    )
    assert wrong_step_text(right) == ""


def test_many_devices_are_sent_in_one_list() -> None:
    """`update-many` numbers its devices with as many digits as it says."""
    right = played(
        [
            step("register", OK, plugin="p"),
            step("update-many", plugin="p", count=3, length=4),
            step(
                "state",
                {"healthy": {"example.com/dev": ["0000", "0001", "0002"]}, "unhealthy": {"example.com/dev": []}},
            ),
        ]
    )
    assert wrong_step_text(right) == ""


def test_a_list_that_is_too_large_ends_the_stream() -> None:
    """A list of more than 4 MiB is the plugin's end, and the player does not wait for it to be applied (DM-42)."""
    right = played(
        [
            step("register", OK, plugin="p"),
            step("update-many", plugin="p", count=50_000, length=100),
            step("streams", {"open": 0}, plugin="p"),
            step("state", {"healthy": {"example.com/dev": []}, "unhealthy": {"example.com/dev": ["a", "b"]}}),
        ]
    )
    assert wrong_step_text(right) == ""


def test_a_caller_may_give_up() -> None:
    """A Register call whose caller gives up is over for the node as well (DM-30)."""
    right = played(
        [
            step("register-as", {"ok": False}, plugin="p", timeout=0.2),
            step("state", {"healthy": {}, "unhealthy": {}}),
            step("set", plugin="p", spec={"options_during": {}}),
            step("register-as", {"ok": True}, plugin="p", timeout=20),
            step("seen", {"GetDevicePluginOptions": 2, "ListAndWatch": 1}, plugin="p"),
        ],
        p=plugin(options_during={"sleep": 30}),
    )
    assert wrong_step_text(right) == ""


def test_a_dial_to_nobody_does_not_take_ten_seconds() -> None:
    """The clock moves on when nobody listens: the call fails as after the whole deadline (DM-40)."""
    message = "failed to dial device plugin: context deadline exceeded"
    right = played(
        [
            step("register-as", {"code": "UNKNOWN", "message": message}, plugin="p", over={"endpoint": "no.sock"}),
            step("register", OK, plugin="p"),
        ]
    )
    assert wrong_step_text(right) == ""


def test_entries_of_every_kind() -> None:
    """What a story puts into the directory is what `ls` finds there; a start takes links to sockets away (DM-8)."""
    right = played(
        [
            step("kill"),
            step("entry", kind="file", name="f"),
            step("entry", kind="directory", name="d"),
            step("entry", kind="fifo", name="p"),
            step("entry", kind="link", name="dangling", target="nowhere"),
            step("entry", kind="outside-socket", name="o.sock"),
            step("entry", kind="link", name="o", outside="o.sock"),
            step("unlink", name="kubelet.sock"),
            step("ls", {"entries": {"f": "file", "d": "directory", "p": "fifo", "dangling": "link", "o": "link"}}),
            step("start", {"started": True}),
            step(
                "ls",
                {
                    "entries": {
                        "f": "file",
                        "d": "directory",
                        "p": "fifo",
                        "dangling": "link",
                        "kubelet.sock": "socket",
                    }
                },
            ),
        ]
    )
    assert wrong_step_text(right) == ""


def test_a_new_server_has_the_list_of_the_script() -> None:
    """An update is forgotten when the plugin stops: what serves next begins with the script's list."""
    right = played(
        [
            step("register", OK, plugin="p"),
            step("update", plugin="p", devices=[]),
            step("stop", plugin="p"),
            step("register", OK, plugin="p"),
            step("state", {"healthy": {"example.com/dev": ["a", "b"]}, "unhealthy": {"example.com/dev": []}}),
        ]
    )
    assert wrong_step_text(right) == ""


def test_a_wrong_step_ends_the_story_and_is_told() -> None:
    """The first step that is wrong is the last one played; the report has its place, both answers and the journal."""
    wrong = played([step("register", OK, plugin="p"), step("in-use", {"example.com/dev": 1}), step("reclaim")])
    assert [each.is_right for each in wrong.steps] == [True, False]
    text = wrong_step_text(wrong)
    assert "s, step 2: in-use" in text
    assert 'expected: {"example.com/dev": 1}' in text
    assert "came:     {}" in text


def test_the_journal_of_a_wrong_step_is_what_happened_since_the_one_before() -> None:
    """Records of earlier steps are left out."""
    wrong = played([step("register", OK, plugin="p"), step("update", "nonsense", plugin="p", devices=[])])
    journal = " ".join(record.text for record in wrong.steps[-1].journal)
    assert "sent a list of 0" in journal
    assert "dials" not in journal


def test_a_step_that_cannot_be_done_is_wrong_and_says_why() -> None:
    """No exception reaches whoever plays several stories."""
    wrong = played([step("kill"), step("capacity")])
    assert wrong.wrong is not None
    assert "no kubelet runs" in wrong.wrong.failure


def test_a_node_that_cannot_be_is_said_before_anything_is_played() -> None:
    """Topology settings that a kubelet refuses make a story not playable, with its words."""
    story = story_from_mapping({"name": "s", "node": {"policy": "restricted", "numa": [*range(9)]}, "steps": []})
    with pytest.raises(NotPlayable, match="unsupported on machines with more than 8 NUMA Nodes"):
        asyncio.run(play(story))


def test_several_stories_are_played_and_come_in_their_order() -> None:
    """A story that is not playable does not stop the others."""
    stories = [
        story_from_mapping({"name": "one", "steps": [step("in-use")]}),
        story_from_mapping({"name": "two", "node": {"policy": "restricted", "numa": [*range(9)]}}),
        story_from_mapping({"name": "three", "steps": [step("in-use")]}),
    ]

    async def all_of_them() -> list[str]:
        return [each.story.name if each.is_playable else "NotPlayable" async for each in check(stories, at_once=2)]

    assert asyncio.run(all_of_them()) == ["one", "NotPlayable", "three"]


@pytest.mark.parametrize("where", [{"pod": "nobody", "container": "c"}, {"pod": "u", "container": "nobody"}])
def test_the_affinity_of_nobody_is_no_answer(where: dict[str, str]) -> None:
    """A pod or container that there is not is a failed step, not a container without affinity."""
    container = {"name": "c", "image": "x"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "u", "uid": "u"},
        "spec": {"containers": [container]},
    }
    admitted = {"admit": True, "reason": "", "message": ""}
    wrong = played([step("admit", admitted, pod=pod), step("affinity", **where)])
    assert wrong.wrong is not None
    assert "nobody" in wrong.wrong.failure
