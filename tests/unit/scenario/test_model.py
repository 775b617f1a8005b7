from __future__ import annotations

import json
from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, NumaNode
from kubelet_sim.model.pod import Pod
from kubelet_sim.scenario.model import NO_EXPECTATION, NodeSpec, read_stories, story_from_mapping

PLUGIN = {"resource": "example.com/dev", "socket": "p.sock"}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "uid": "a"},
    "spec": {"containers": [{"name": "c", "image": "x", "resources": {"limits": {"example.com/dev": "1500m"}}}]},
}


def story(**changes: Any) -> dict[str, Any]:
    """A story with one plugin and no steps."""
    return {"name": "s", "plugins": {"p": PLUGIN}, "steps": [], **changes}


def error_of(document: Any) -> str:
    """What is wrong with a story."""
    with pytest.raises(UsageError) as caught:
        story_from_mapping(document, source="f.yaml")
    return str(caught.value)


def test_a_story_of_a_file_of_json() -> None:
    """All of it is read: node, plugins, steps, and what is expected."""
    (read,) = read_stories(
        json.dumps(
            [
                story(
                    rules=["DM-1"],
                    node={"numa": [0, 1], "policy": "restricted", "scope": "pod", "options": {"x": "y"}},
                    steps=[
                        {"do": "register", "plugin": "p", "nowait": True, "expect": {"code": "OK", "message": ""}},
                        {"do": "update", "plugin": "p", "devices": [{"id": "a", "numa": [1]}]},
                        {"do": "admit", "pod": POD, "expect": None},
                    ],
                )
            ]
        ),
        "f.json",
    )
    assert (read.name, read.rules, read.source) == ("s", ("DM-1",), "f.json")
    assert read.node == NodeSpec((0, 1), "restricted", "pod", {"x": "y"})
    assert read.scripts["p"].socket == "p.sock"
    register, update, admit = read.steps
    assert (register.number, register.do, dict(register.arguments)) == (1, "register", {"plugin": "p", "nowait": True})
    assert register.expect == {"code": "OK", "message": ""}
    assert update.arguments["devices"] == (Device(DeviceID("a"), topology=(NumaNode(1),)),)
    assert update.expect is NO_EXPECTATION
    assert isinstance(admit.arguments["pod"], Pod)
    assert admit.expect is None


@pytest.mark.parametrize(
    "text, names",
    [
        ("name: one\nsteps: [{do: capacity}]\n", ["one"]),
        ("- name: one\n- name: two\n", ["one", "two"]),
        ("name: one\n---\nname: two\n", ["one", "two"]),
        ("[{name: one}, {name: two}]", ["one", "two"]),
        ('{"name": "one"}', ["one"]),
        ("- steps: []\n- steps: []\n", ["story 1", "story 2"]),
        ("", []),
    ],
)
def test_the_forms_of_a_file(text: str, names: list[str]) -> None:
    """YAML or JSON; a list, one story, or a document for each; a story without name is numbered."""
    assert [each.name for each in read_stories(text, "f.yaml")] == names


def test_two_stories_of_one_name() -> None:
    """A report could not say which of them it is about."""
    with pytest.raises(UsageError, match="two stories of the name 'one'"):
        read_stories("- name: one\n- name: one\n", "f.yaml")


@pytest.mark.parametrize(
    "step, words",
    [
        ({"do": "fly"}, "step 1 (fly): do: expected one of"),
        ({"plugin": "p"}, "step 1: a step has no do"),
        (["register"], "step 1: expected a mapping"),
        ({"do": "register"}, "step 1 (register): a step has no plugin"),
        ({"do": "register", "plugin": "q"}, "there is no plugin 'q'; there are: p"),
        ({"do": "register-two", "plugins": ["p", "q"]}, "there is no plugin 'q'"),
        ({"do": "register-two", "plugins": ["p"]}, "plugins: expected the names of two plugins"),
        ({"do": "register", "plugin": "p", "no_wait": True}, "no key 'no_wait'"),
        ({"do": "register", "plugin": "p", "nowait": "yes"}, "nowait: expected true or false, not 'yes'"),
        ({"do": "advance", "seconds": -1}, "seconds: expected seconds, not -1"),
        ({"do": "advance", "seconds": True}, "seconds: expected seconds, not True"),
        ({"do": "update", "plugin": "p", "devices": [{"id": 1}]}, "devices: id: expected text, not 1"),
        ({"do": "restart", "running": [["a"]]}, "running: expected [pod uid, container]"),
        ({"do": "entry", "kind": "door", "name": "d"}, "kind: expected one of file"),
        ({"do": "fail-stream", "plugin": "p", "error": ["NO_CODE", "x"]}, "error: 'NO_CODE' is no gRPC status code"),
        ({"do": "admit", "pod": {"kind": "Service"}}, "(admit): pod: "),
        ({"do": "update-many", "plugin": "p", "count": 1.5, "length": 2}, "count: expected an integer, not 1.5"),
    ],
)
def test_a_wrong_step(step: Any, words: str) -> None:
    """The error names file, story, step, and the key."""
    error = error_of(story(steps=[step]))
    assert error.startswith("f.yaml: s, step 1")
    assert words in error


@pytest.mark.parametrize(
    "change, words",
    [
        ({"node": {"policy": "best"}}, "node: policy: expected one of none, best-effort"),
        ({"node": {"numa": ["0"]}}, "node: numa: expected an integer"),
        ({"node": {"cpus": 4}}, "node: node has no key 'cpus'"),
        ({"plugins": {"p": {"socket": "p.sock"}}}, "plugins: p: the script has no resource"),
        ({"plugins": []}, "plugins: expected a mapping"),
        ({"rules": "DM-1"}, "rules: expected a list"),
        ({"step": []}, "a story has no key 'step'"),
        ({"steps": {}}, "steps: expected a list"),
    ],
)
def test_a_wrong_story(change: dict[str, Any], words: str) -> None:
    """The error names file, story and key."""
    error = error_of(story(**change))
    assert error.startswith("f.yaml: s: ")
    assert words in error


def test_a_story_that_is_none() -> None:
    """Without a name the file is what an error can name."""
    assert error_of([1]).startswith("f.yaml: expected a mapping for a story")


def test_a_rule_that_there_is_not_is_refused() -> None:
    """A story names rules that exist: a typing error would be a claim of nothing."""
    nobody_wrote = f"DM-{10**4}"
    with pytest.raises(UsageError, match=f"there is no rule '{nobody_wrote}'"):
        story_from_mapping({"name": "s", "rules": ["DM-1", nobody_wrote], "steps": []})
