from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from kubelet_sim.scenario.play.parallel_play import StoryOutcome
from kubelet_sim.scenario.play.player import Played, PlayedStep
from kubelet_sim.scenario.record.recorder import NotRecorded, StoryFile
from kubelet_sim.scenario.story.story_reader import read_stories

ODD = [
    "y",
    "no",
    "1e3",
    "0o17",
    "",
    " x ",
    "a: b",
    "# c",
    "\x1b[1m",
    "ü",
    "null",
    "1_000",
    "2024-01-01",
    "-",
    "plain text",
]


def played(text: str, *came: Any, failure: str = "") -> list[StoryOutcome]:
    """The stories of a file as if this had come in every step, one after the other."""
    answers = iter(came)
    outcomes = []
    for story in read_stories(text, "f"):
        steps = tuple(PlayedStep(step, next(answers), (), failure) for step in story.steps)
        outcomes.append(StoryOutcome(story, Played(story, steps)))
    return outcomes


def recorded(text: str, *came: Any) -> str:
    """Returns the file of a story with what came in its steps."""
    return StoryFile.read(text, "f").recorded(played(text, *came)).text()


def test_json_stays_json() -> None:
    """With its indentation, and one story stays one."""
    story = {"name": "s", "steps": [{"do": "in-use"}, {"do": "state", "expect": {"old": 1}}]}
    text = recorded(json.dumps(story, indent=3), {"a": 1}, {"b": ("c",)})
    assert json.loads(text)["steps"] == [
        {"do": "in-use", "expect": {"a": 1}},
        {"do": "state", "expect": {"b": ["c"]}},
    ]
    assert text.splitlines()[1] == '   "name": "s",'
    assert recorded(json.dumps([story]), {}, {}).count("\n") == 1


def test_yaml_stays_yaml() -> None:
    """Several documents stay several; comments go."""
    text = "# a comment\nname: one\nsteps: [{do: in-use}]\n---\n- name: two\n  steps: [{do: in-use}]\n"
    written = recorded(text, {"a": 1}, {})
    assert list(yaml.safe_load_all(written)) == [
        {"name": "one", "steps": [{"do": "in-use", "expect": {"a": 1}}]},
        [{"name": "two", "steps": [{"do": "in-use", "expect": {}}]}],
    ]
    assert "comment" not in written


@pytest.mark.parametrize("begin", ["name: s\nsteps: [{do: in-use}]\n", '{"name": "s", "steps": [{"do": "in-use"}]}'])
def test_every_text_reads_as_it_was(begin: str) -> None:
    """Also those that a reader of YAML takes for something else; a file of ASCII stays one."""
    written = recorded(begin, {text: text for text in ODD})
    (story,) = read_stories(written, "f")
    assert story.steps[0].expect == {text: text for text in ODD}
    assert written.isascii()


def test_what_fits_stays_as_it_is_written() -> None:
    """A text may depend on the machine: `...` was put there by somebody who knew."""
    text = json.dumps({"name": "s", "steps": [{"do": "in-use", "expect": {"message": "a ..."}}] * 2})
    steps = json.loads(recorded(text, {"message": "a b"}, {"message": "other"}))["steps"]
    assert [step["expect"] for step in steps] == [{"message": "a ..."}, {"message": "other"}]


def test_a_step_that_could_not_be_played_is_not_recorded() -> None:
    """Nor is a story that could not."""
    text = json.dumps({"name": "s", "steps": [{"do": "in-use"}]})
    with pytest.raises(NotRecorded, match=r"s, step 1 \(in-use\) could not be played: no kubelet"):
        StoryFile.read(text, "f").recorded(played(text, None, failure="no kubelet"))
    (story,) = read_stories(text, "f")
    with pytest.raises(NotRecorded, match="why"):
        StoryFile.read(text, "f").recorded([StoryOutcome(story, problem="why")])


BY_ITSELF = {"name": "s", "node": {"runs_containers": True}}


def recorded_twice(steps: list[dict[str, Any]], first: Any, then: Any) -> Any:
    """The expectation of the last step in a story in which pods run, if this came in the two plays of it."""
    text = json.dumps({**BY_ITSELF, "steps": steps})
    again = {"s": played(text, *[{}] * (len(steps) - 1), then)[0]}
    written = StoryFile.read(text, "f").recorded(played(text, *[{}] * (len(steps) - 1), first), again).text()
    return json.loads(written)["steps"][-1]["expect"]


def test_a_look_may_take_its_time() -> None:
    """What is looked at comes by itself; what was waited for stays as it was said, and what a step answers comes at once."""
    assert recorded_twice([{"do": "in-use"}], {"a": 1}, {"a": 1}) == {"within": "30s", "a": 1}
    waiting = {"within": "5m", "clock": "node", "a": 2}
    assert recorded_twice([{"do": "in-use", "expect": waiting}], {"a": 1}, {"a": 1}) == {**waiting, "a": 1}
    assert recorded_twice([{"do": "reclaim"}], {}, {}) == {}


def test_names_that_are_words_stay_names() -> None:
    """A container may be called as a matcher, or as what says how long to wait."""
    (story,) = read_stories(recorded(json.dumps({"name": "s", "steps": [{"do": "in-use"}]}), {"not": 1}), "f")
    assert story.steps[0].expect == {"exactly": {"not": 1}}
    came = {"one": {"contains": {"a": 1}}}
    assert recorded_twice([{"do": "in-use"}], came, came)["one"] == {"exactly": {"contains": {"a": 1}}}
    assert recorded_twice([{"do": "in-use"}], {"within": 1}, {"within": 1}) == {
        "within": "30s",
        "exactly": {"within": 1},
    }


def test_what_two_plays_share_is_recorded() -> None:
    """Of texts that differ, as a part of what came."""
    first, then = {"a": [{"name": "gpu-12a.sock", "n": 1}]}, {"a": [{"name": "gpu-b.sock", "n": 1}]}
    expected = recorded_twice([{"do": "in-use"}], first, then)
    assert expected == {"within": "30s", "a": [{"name": {"matches": r"^gpu-.*\.sock$"}, "n": 1}]}
    for one, other, matching in [
        ("pid 12", "pid 13", "^pid .*$"),
        ("a-0f3-b", "a-0c3-b", "^a-.*-b$"),  # a draw may begin and end alike
        ("x 1\n2 y", "x 3 y", "^x (?s:.*) y$"),
    ]:
        assert recorded_twice([{"do": "in-use"}], {"a": one}, {"a": other})["a"] == {"matches": matching}


@pytest.mark.parametrize("then", [{"a": 2}, {"a": "1"}, {}, {"a": None}, {"a": 1, "b": 1}])
def test_what_depends_on_time_is_not_recorded(then: Any) -> None:
    """It says which step, both answers, and what to do."""
    with pytest.raises(NotRecorded, match=r"s, step 2 \(in-use\) told .* at first and .* wait"):
        recorded_twice([{"do": "reclaim"}, {"do": "in-use"}], {"a": 1}, then)


def test_texts_that_share_nothing_are_not_recorded() -> None:
    """One of them would be as good as any."""
    with pytest.raises(NotRecorded, match='told "live" at first and "stopped"'):
        recorded_twice([{"do": "in-use"}], {"a": "live"}, {"a": "stopped"})


def test_what_a_program_says_keeps_no_time() -> None:
    """Both plays may fall into one second; a text of the kubelet stays as it is, and so does a date alone."""
    command = {"command": ["./p"], "ready": {"registered": "example.com/a"}}
    line = "2026/11/30 01:27:48 ready"
    text = json.dumps({"name": "s", "plugins": {"mine": command}, "steps": [{"do": "output", "plugin": "mine"}]})
    came = {"lines": [line, "hello", "built 2024-01-02"]}
    written = StoryFile.read(text, "f").recorded(played(text, came), {"s": played(text, came)[0]}).text()
    assert json.loads(written)["steps"][0]["expect"] == {
        "within": "30s",
        "lines": [{"matches": "^.* ready$"}, "hello", "built 2024-01-02"],
    }
    assert recorded_twice([{"do": "in-use"}], {"a": line}, {"a": line})["a"] == line
