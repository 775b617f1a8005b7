from __future__ import annotations

import json

import pytest
import yaml
from attrs import evolve

from kubelet_sim.present.documents import events_about, json_line, machine_text, node_document, spec_document
from kubelet_sim.transcript import Record, RecordLevel
from tests.unit.present.snapshots import NASTY, NODE, SNAPSHOT
from tests.unit.present.test_container_text import SPEC


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_machine_output_is_ascii_and_whole(form: str) -> None:
    """Foreign text comes back as it was, and no byte of the output is one that a terminal would obey."""
    text = machine_text({"id": NASTY, "long": "x " * 500, "none": None, "list": []}, form)
    assert text.isascii()
    assert not set(text) & {chr(code) for code in (*range(9), *range(11, 32), 127)}
    assert yaml.safe_load(text) == {"id": NASTY, "long": "x " * 500, "none": None, "list": []}
    if form == "json":
        assert json.loads(text)["id"] == NASTY


@pytest.mark.parametrize("value, text", [([], "[]"), ("x", "x"), (None, "null")])
def test_yaml_of_a_single_value_has_no_end_mark(value: object, text: str) -> None:
    """PyYAML closes a scalar with `...`, which nobody wants to see."""
    assert machine_text(value, "yaml") == text


def test_the_node_document_is_about_the_node() -> None:
    """It is a Node as kubectl shows one; what only an emulated node has stands in annotations."""
    document = node_document(NODE, SNAPSHOT)
    assert (document["apiVersion"], document["kind"], document["metadata"]["name"]) == ("v1", "Node", "kubelet-sim")
    status = document["status"]
    assert status["capacity"] == {"cpu": "64", "example.com/gpu": "3"}
    assert status["allocatable"] == {"cpu": "64", "example.com/gpu": "2"}
    assert [(each["type"], each["status"]) for each in status["conditions"]] == [("Ready", "True")]
    assert status["nodeInfo"] == {"kubeletVersion": "v1.36.2"}
    assert document["metadata"]["annotations"].items() >= {"a": "b", "kubelet-sim/kubelet-process": "2"}.items()


def test_a_node_without_a_kubelet_is_of_unknown_readiness() -> None:
    """The API server's Node stays as the kubelet left it; its conditions are nobody's."""
    document = node_document(NODE, evolve(SNAPSHOT, has_kubelet=False))
    (ready,) = document["status"]["conditions"]
    assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusUnknown")
    assert NODE["status"]["conditions"][0]["status"] == "True"


def test_events_are_picked_by_their_pod() -> None:
    """Namespace and name have to be the pod's; without a name there are all of them."""
    abouts = [("Pod", "default", "a"), ("Pod", "other", "a"), ("Node", "default", "a"), ("Pod", "default", "b")]
    events = [{"involvedObject": {"kind": kind, "namespace": there, "name": name}} for kind, there, name in abouts]
    assert events_about(events, None, "default") == events
    assert events_about(events, "a", "default") == events[:1]
    assert events_about(events, "other/a", "default") == events[1:2]


def test_a_spec_for_programs() -> None:
    """The keys are those of the spec, with variables and annotations as mappings."""
    assert spec_document(SPEC) == {
        "envs": {"IDS": NASTY, "N": "2"},
        "mounts": [
            {"container_path": "/c", "host_path": "/h", "read_only": True},
            {"container_path": "/d", "host_path": "/e", "read_only": False},
        ],
        "devices": [
            {"container_path": "/dev/a", "host_path": "/dev/b", "permissions": "rw"},
            {"container_path": "/dev/x", "host_path": "/dev/y", "permissions": ""},
        ],
        "annotations": {"k": "v"},
        "cdi_devices": ["example.com/gpu=0"],
    }


def test_a_record_is_one_json_object() -> None:
    """On one line, whatever the text holds, with the level as a word."""
    record = Record(1, 0.5, "fact", "s", "a\nb", ("DM-1",), RecordLevel.WARNING, walk=3, details={"n": [1]})
    line = json_line(record)
    assert "\n" not in line
    assert json.loads(line) == {
        "number": 1,
        "at_s": 0.5,
        "kind": "fact",
        "subject": "s",
        "text": "a\nb",
        "rules": ["DM-1"],
        "level": "warning",
        "walk": 3,
        "incarnation": 1,
        "details": {"n": [1]},
    }
