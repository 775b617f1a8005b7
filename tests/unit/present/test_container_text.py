from __future__ import annotations

import json
from pathlib import Path

from kubelet_sim.container import container_config, explain
from kubelet_sim.container.observed_container import Comparison, ObservedContainer
from kubelet_sim.model.response import ContainerSpec, DeviceNode, Dropped, Mount, Provenance
from kubelet_sim.node.oci.oci_runtime import ContainerRun
from kubelet_sim.present.container_text import (
    explanation_document,
    explanation_text,
    seen_document,
    seen_text,
    spec_text,
)
from kubelet_sim.present.documents import machine_text
from tests.unit.container.parts import HOST, pod
from tests.unit.present.snapshots import NASTY, NASTY_SHOWN

SHARE = ContainerSpec(
    (("A", NASTY),),
    annotations=(("a b", "1"),),
    cdi_devices=(NASTY,),
    provenance=Provenance(
        ("example.com/gpu",), (), (), ("example.com/gpu",), ("example.com/gpu",),
        (Dropped("envs", "A", "example.com/nic", "2", NASTY, "example.com/gpu"),),
    ),
)  # fmt: skip
TOLD = explain(container_config(pod({"env": [{"name": "A", "value": "1"}]}), "main", SHARE), HOST)


SPEC = ContainerSpec(
    envs=(("IDS", NASTY), ("N", "2")),
    mounts=(Mount("/c", "/h", read_only=True), Mount("/d", "/e")),
    devices=(DeviceNode("/dev/a", "/dev/b", "rw"), DeviceNode("/dev/x", "/dev/y", "")),
    annotations=(("k", "v"),),
    cdi_devices=("example.com/gpu=0",),
)


def test_a_spec_for_eyes() -> None:
    """A section for each part that is there, host path first, foreign text escaped."""
    assert spec_text(SPEC).splitlines() == [
        "Environment:",
        f"  IDS={NASTY_SHOWN}",
        "  N=2",
        "Mounts:",
        "  /h -> /c (ro)",
        "  /e -> /d (rw)",
        "Devices:",
        "  /dev/b -> /dev/a (rw)",
        "  /dev/y -> /dev/x (no permissions)",
        "Annotations:",
        "  k: v",
        "CDI devices:",
        "  example.com/gpu=0",
    ]
    assert "no device plugin" in spec_text(ContainerSpec())


def test_an_explanation_for_eyes() -> None:
    """Entries with their origin, then sections; foreign text is shown, not obeyed."""
    text = explanation_text(TOLD)
    assert NASTY not in text
    assert NASTY_SHOWN in text
    lines = text.splitlines()
    assert lines[0].split() == ["PART", "KEY", "VALUE", "FROM", "RULES"]
    assert "plugin example.com/gpu" in lines[1]
    for title in ("Dropped:", "Notes:", "Not simulated:", "What a runtime would say:"):
        assert title in lines
    assert any(line.startswith("  error: unresolvable CDI devices") for line in lines)
    assert any(line.startswith("  warning: env A: sent twice") and line.endswith("[DM-128]") for line in lines)


def test_nothing_to_say() -> None:
    """A container without anything odd says so."""
    plain = explain(container_config(pod(enableServiceLinks=False), "main", ContainerSpec()), HOST)
    assert explanation_text(plain).endswith("What a runtime would say:\n  nothing")
    assert explanation_document(plain)["remarks"] == []


def test_an_explanation_for_programs() -> None:
    """The same in JSON, whole."""
    document = json.loads(machine_text(explanation_document(TOLD), "json"))
    assert document["entries"][0] == {
        "part": "env", "key": "A", "value": NASTY, "from": "plugin", "name": "example.com/gpu", "rules": ["DM-126", "DM-127"],
    }  # fmt: skip
    assert document["dropped"][0]["conflict"] is True
    assert document["refused"].startswith("unresolvable")
    assert {each["severity"] for each in document["remarks"]} == {"error", "warning", "note"}
    assert document["notSimulated"][0]["what"] == "service variables"


SEEN = ObservedContainer.of(b"A=1", b"character special file|1|3|666|0|0|/dev/null\n", b"1 0 0:1 / /m ro - ext4 x rw\n")
FOUND = (Comparison("env", "A", "1", "1"), Comparison("mount", NASTY, "rw", ""))
OUTCOME = ContainerRun("/usr/bin/crun", 0, f"hello {NASTY}\n", SEEN)


def test_what_was_seen_for_eyes() -> None:
    """What was granted beside what is there, and what the command wrote."""
    text = seen_text(OUTCOME, FOUND, ["made in place"])
    assert text.startswith("Started by crun.")
    assert NASTY not in text
    assert f"Output:\n  hello {NASTY_SHOWN}" in text
    assert "note: made in place" in text
    assert [line.split()[0] for line in text.splitlines() if " env " in line or " mount " in line] == ["yes", "NO"]
    assert "Output" not in seen_text(ContainerRun("crun", 0, "", SEEN), FOUND, ())


def test_what_was_seen_for_programs() -> None:
    """Every device node and mount, too."""
    document = json.loads(machine_text(seen_document(OUTCOME, FOUND, ()), "json"))
    assert [each["there"] for each in document["compared"]] == [True, False]
    assert document["deviceNodes"][0]["path"] == "/dev/null"
    assert document["mounts"][0] == {"path": "/m", "kind": "ext4", "root": "/", "read_only": True}
    assert document["runtime"] == str(Path("/usr/bin/crun"))
    assert seen_document(ContainerRun("crun", 1, "", None), (), ())["env"] == {}
