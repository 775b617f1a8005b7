"""The example that grants by CDI names: the file, and that it means the names which Allocate gives."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from plugins_examples.cdi.spec_file import SpecFile, specification
from plugins_examples.pb import api_pb2
from tests.examples.fleet import ROOT, Example, Fleet
from tests.patience import PATIENCE_S

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")


def test_the_file_means_the_names(run_example: Callable[[str], tuple[Fleet, Example]]) -> None:
    """Every name that Allocate gives is in the file by then; at the end the file is gone."""
    fleet, example = run_example("cdi")
    directory = fleet.place(example) / "cdi"
    (file,) = directory.iterdir()
    assert file.suffix == ".json"
    document = json.loads(file.read_text())
    meant = {f"{document['kind']}={device['name']}" for device in document["devices"]}
    ((resource, ids),) = fleet.devices(example).items()
    request = api_pb2.AllocateRequest(container_requests=[api_pb2.ContainerAllocateRequest(devices_ids=ids)])
    with fleet.call(resource) as plugin:
        (answer,) = plugin.Allocate(request, timeout=PATIENCE_S).container_responses
    assert {device.name for device in answer.cdi_devices} == meant
    assert len(meant) == len(ids)
    assert fleet.terminate() == {"cdi": 0}
    assert list(directory.iterdir()) == []


def test_the_document_has_the_form_of_the_specification() -> None:
    """A version, a kind, and for each device a name by the grammar, a node and a variable of its own."""
    document = specification("vendor.com/net-card", ["0", "card-1"], "/dev/null")
    assert set(document) == {"cdiVersion", "kind", "devices"}
    assert (document["cdiVersion"], document["kind"]) == ("0.6.0", "vendor.com/net-card")
    variables = []
    for device in document["devices"]:
        assert set(device) == {"name", "containerEdits"}
        assert NAME.fullmatch(device["name"])
        edits = device["containerEdits"]
        path = f"/dev/net-card/{device['name']}"
        assert edits["deviceNodes"] == [{"path": path, "hostPath": "/dev/null", "type": "c", "permissions": "rw"}]
        variables += edits["env"]
    assert variables == ["NET_CARD_0=/dev/net-card/0", "NET_CARD_CARD_1=/dev/net-card/card-1"]


def test_is_written_in_one_step(tmp_path: Path) -> None:
    """The file is readable by everybody, replaces an older one, and nothing else is left in the directory."""
    directory = tmp_path / "run" / "cdi"
    file = SpecFile(directory, "vendor.com/card")
    file.write({"kind": "old"})
    file.write({"kind": "new"})
    assert [path.name for path in directory.iterdir()] == ["vendor.com-card.json"]
    assert json.loads(file.path.read_text()) == {"kind": "new"}
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o644
    with pytest.raises(TypeError):
        file.write({"kind": object()})
    assert [path.name for path in directory.iterdir()] == ["vendor.com-card.json"]
    file.remove()
    assert list(directory.iterdir()) == []


def test_the_file_of_a_newer_copy_stays(tmp_path: Path) -> None:
    """During an update the new plugin writes before the old one ends: the old one leaves the new one's file alone."""
    old, new = SpecFile(tmp_path, "vendor.com/card"), SpecFile(tmp_path, "vendor.com/card")
    old.write({})
    new.write({})
    old.remove()
    assert new.path.exists()
    new.remove()
    assert not new.path.exists()


def test_a_directory_that_cannot_be(short_root: Path) -> None:
    """Without its file the plugin must not serve: it ends with 1 and one line."""
    command = [
        sys.executable,
        "-m",
        "plugins_examples.cdi",
        "--socket-dir",
        str(short_root),
        "--cdi-dir",
        "/dev/null/x",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "example.com/fpga has ended: " in line
