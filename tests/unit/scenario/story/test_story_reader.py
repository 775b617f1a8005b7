from __future__ import annotations

import json
from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, NumaNode
from kubelet_sim.model.pod import Pod
from kubelet_sim.scenario.steps.registry import STEPS
from kubelet_sim.scenario.steps.step_kind import StepNodes
from kubelet_sim.scenario.story.node_spec import NodeSpec
from kubelet_sim.scenario.story.story import NO_EXPECTATION
from kubelet_sim.scenario.story.story_reader import read_stories, story_from_mapping

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
        ({"do": "fly"}, "step 1 (fly): do: there is no step 'fly'; there are: serve, "),
        ({"do": "fly"}, ", container-spec, "),
        ({"do": "in-us"}, "do: there is no step 'in-us'; did you mean in-use?"),
        ({"do": "wait", "within": 5}, "there is nothing to wait for"),
        ({"do": "trace", "kind": "rumour"}, "kind: expected one of fact"),
        ({"do": "trace", "rule": "XX-1"}, "rule: there is no rule 'XX-1'; rules are called as in DM-90"),
        ({"do": "undo", "fault": "cut-stream"}, "no step before injects a fault 'cut-stream'; there are: none"),
        (
            {"do": "in-use", "expect": {"a": {"contains": {"b": {"between": [1]}}}}},
            "not [1]; write exactly: if that is a name",
        ),
        ({"plugin": "p"}, "step 1: a step has no do"),
        ({"do": "advance", "second": 1}, "a step has no seconds; is 'second' to be that?"),
        (["register"], "step 1: expected a mapping"),
        ({"do": "register"}, "step 1 (register): a step has no plugin"),
        ({"do": "register", "plugin": "q"}, "there is no plugin 'q'; there are: p"),
        ({"do": "register-two", "plugins": ["p", "q"]}, "there is no plugin 'q'"),
        ({"do": "register-two", "plugins": ["p"]}, "plugins: expected the names of two plugins"),
        ({"do": "register", "plugin": "p", "no_wait": True}, "no key 'no_wait'"),
        ({"do": "register", "plugin": "p", "nowait": "yes"}, "nowait: expected true or false, not 'yes'"),
        ({"do": "advance", "seconds": -1}, "seconds: expected seconds, not -1"),
        ({"do": "advance", "seconds": True}, "seconds: expected seconds, not True"),
        (
            {"do": "update", "plugin": "p", "devices": [{"id": 1}]},
            "devices: id: expected text, not 1: put it in quotes",
        ),
        ({"do": "register", "plugin": None}, "plugin: expected text, not None"),
        ({"do": "update", "plugin": "p", "devices": [{"id": []}]}, "devices: id: expected text, not []"),
        ({"do": "restart", "running": [["a"]]}, "running: expected [pod uid, container]"),
        ({"do": "entry", "kind": "door", "name": "d"}, "kind: expected one of file"),
        ({"do": "fail-stream", "plugin": "p", "error": ["NO_CODE", "x"]}, "error: 'NO_CODE' is no gRPC status code"),
        ({"do": "admit", "pod": {"kind": "Service"}}, '(admit): pod: kind: found "Service"'),
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
        ({"node": {"numa": [-1]}}, "node: numa: expected the number of a NUMA node from 0 to 63, not -1"),
        ({"node": {"numa": [64]}}, "from 0 to 63, not 64"),
        ({"node": {"numa": [1, 0, 1]}}, "the NUMA node 1 is there twice"),
        ({"node": {"cpus": 4}}, "node: node has no key 'cpus'"),
        ({"plugins": {"p": {"socket": "p.sock"}}}, "plugins: p: the script has no resource"),
        ({"plugins": []}, "plugins: expected a mapping"),
        ({"rules": "DM-1"}, "rules: expected a list"),
        ({"step": []}, "a story has no key 'step'"),
        ({"steps": {}}, "steps: expected a list"),
    ],
)
def test_a_wrong_story_is_refused_with_file_and_key(change: dict[str, Any], words: str) -> None:
    """The error names file, story and key."""
    error = error_of(story(**change))
    assert error.startswith("f.yaml: s: ")
    assert words in error


STORY = """name: s
rules: [DM-1]
node:
  numa: [0]
  policy: none
plugins:
  p:
    resource: example.com/dev
    socket: p.sock
    devices:
    - id: a
    - id: b
    allocate: {}
steps:
- {do: register, plugin: p}
- do: advance
  seconds: 1
- do: resources
  expect:
    contains:
      example.com/dev:
        healthy: {at-least: 1}
- do: admit
  pod:
    apiVersion: v1
    kind: Pod
    metadata: {name: one}
    spec:
      containers:
      - name: main
        image: x
"""


@pytest.mark.parametrize(
    "old, new, line",
    [
        ("[DM-1]", "[DM-1, DM-0]", 2),
        ("policy: none", "policy: nonee", 5),
        ("policy: none", "polcy: none", 5),
        ("- id: b", "- {id: b, healt: x}", 12),
        ("allocate: {}", "allocate: {error: [NO, x]}", 13),
        ("socket: p.sock", "sockets: p.sock", 9),
        ("plugin: p", "plugin: q", 15),
        ("seconds: 1", "seconds: -1", 17),
        ("seconds: 1", "second: 1", 17),
        ("healthy: {at-least: 1}", "healthy: {at-least: one}", 22),
        ("image: x", "imag: x", 31),
    ],
)
def test_an_error_names_the_line(old: str, new: str, line: int) -> None:
    """Of the key that is wrong, not where the story or the step begins; what is missing has the line of what lacks it."""
    assert old in STORY
    with pytest.raises(UsageError) as caught:
        read_stories(STORY.replace(old, new, 1), "f.yaml")
    assert str(caught.value).startswith(f"f.yaml:{line}: s")


def test_a_fault_whose_name_a_step_saves_may_be_undone_by_any_name() -> None:
    """What is not known before is not called wrong before."""
    text = "name: s\nsteps:\n- {do: ls, save: x}\n- {do: fault, fault: '${x.fault}'}\n- {do: undo, fault: odd}\n"
    assert len(read_stories(text, "f.yaml")[0].steps) == 3


def test_a_story_that_is_none() -> None:
    """Without a name the file is what an error can name."""
    assert error_of([1]).startswith("f.yaml: expected a mapping for a story")


def test_a_rule_that_there_is_not_is_refused() -> None:
    """A story names rules that exist: a typing error would be a claim of nothing."""
    nobody_wrote = f"DM-{10**4}"
    with pytest.raises(UsageError, match=f"there is no rule '{nobody_wrote}'"):
        story_from_mapping({"name": "s", "rules": ["DM-1", nobody_wrote], "steps": []})


@pytest.mark.parametrize(
    "step, instead",
    [
        ({"do": "container", "pod": "a", "container": "c"}, "container-spec"),
        ({"do": "remove", "pod": "a"}, "delete-pod"),
        ({"do": "remove-if-active", "pod": "a"}, "delete-pod"),
        ({"do": "finish", "pod": "a"}, "exit"),
    ],
)
def test_a_step_that_such_a_node_does_not_have(step: dict[str, Any], instead: str) -> None:
    """The one that it has is named."""
    said = error_of(story(node={"runs_containers": True}, steps=[step]))
    assert "the node runs containers itself (runs_containers: true); " in said
    assert f"; {instead} " in said
    assert {kind.nodes for kind in STEPS.values() if kind.instead} == {StepNodes.SIMPLE}
    assert all(kind.instead for kind in STEPS.values() if kind.nodes is StepNodes.SIMPLE)


@pytest.mark.parametrize("verb", ["register", "serve"])
def test_a_command_that_never_is_ready(verb: str) -> None:
    """Said when it is read, not after all that is played before; a step that does not wait needs nothing."""
    plugins = {"p": {"command": ["./p"]}}
    assert "p does not say when it is ready; give it ready: {registered: RESOURCE}" in error_of(
        story(plugins=plugins, steps=[{"do": verb, "plugin": "p"}])
    )
    for step in ({"do": "register", "plugin": "p", "nowait": True}, {"do": "start", "plugin": "p"}):
        assert story_from_mapping(story(plugins=plugins, steps=[step])).steps


def test_the_node_of_a_story_has_a_name() -> None:
    """One that is none is refused where it stands."""
    assert story_from_mapping(story(), source="f.yaml").node.name == "kubelet-sim"
    assert story_from_mapping(story(node={"name": "n1.a"}), source="f.yaml").node.name == "n1.a"
    assert "'N 1' is no node name: expected lower-case letters" in error_of(story(node={"name": "N 1"}))
