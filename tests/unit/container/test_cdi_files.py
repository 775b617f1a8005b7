"""Which spec files are good, told from the documentation of CDI: versions, fields, names, edits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from kubelet_sim.container.cdi.decoder import BadSpec, decode
from kubelet_sim.container.cdi.model import CdiSpec
from kubelet_sim.container.cdi.validation import VERSIONS, minimum_version, validate
from tests.unit.container.parts import check_cdi

ENV = {"env": ["A=1"]}


def file(version: str = "1.1.0", kind: str = "vendor.com/device", **more: Any) -> dict[str, Any]:
    """A spec file with one device, changed by what is named."""
    return {"cdiVersion": version, "kind": kind, "devices": [{"name": "dev", "containerEdits": ENV}], **more}


def device(edits: Mapping[str, Any], version: str = "1.1.0", **more: Any) -> dict[str, Any]:
    """A spec file whose only device has these edits."""
    return file(version, devices=[{"name": "dev", "containerEdits": edits, **more}])


def load(document: Mapping[str, Any]) -> CdiSpec:
    """As JSON and as YAML, which come to the same."""
    spec = decode(json.dumps(document))
    assert decode(yaml.safe_dump(dict(document))) == spec
    validate(spec)
    return spec


GOOD = {
    "minimal": file(),
    "v in the version": file("v0.5.0"),
    "the earliest version": file("0.3.0"),
    "dotted vendor": file(kind="a.b.c/device"),
    "dotted class": file("0.6.0", kind="vendor.com/gpu.shared"),
    "digit first": file("0.5.0", devices=[{"name": "0", "containerEdits": ENV}]),
    "colon in a name": file(devices=[{"name": "01:00.0", "containerEdits": ENV}]),
    "annotations": file("0.6.0", annotations={"a": "b"}),
    "annotations of a device": device(ENV, "0.6.0", annotations={"a": "b"}),
    "device node": device(
        {"deviceNodes": [{"path": "/dev/a", "type": "c", "major": 1, "minor": 3, "permissions": "rw"}]}
    ),
    "device node by host path": device({"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/b"}]}, "0.5.0"),
    "owner of a node": device({"deviceNodes": [{"path": "/dev/a", "uid": 1000, "gid": 0}]}),
    "no permissions": device({"deviceNodes": [{"path": "/dev/a", "permissions": "none"}]}),
    "mount": device({"mounts": [{"hostPath": "/a", "containerPath": "/b", "options": ["ro", "bind"]}]}),
    "mount with a type": device({"mounts": [{"hostPath": "/a", "containerPath": "/b", "type": "tmpfs"}]}, "0.4.0"),
    "hook": device({"hooks": [{"hookName": "createContainer", "path": "/bin/x", "args": ["x", "y"], "timeout": 3}]}),
    "hook with env": device({"hooks": [{"hookName": "prestart", "path": "/bin/x", "env": ["A=1"]}]}),
    "net device": device({"netDevices": [{"hostInterfaceName": "eth1", "name": "net0"}]}),
    "intelRdt": device({"intelRdt": {"closID": "gold", "l3CacheSchema": "L3:0=f"}}, "0.7.0"),
    "root class of service": device({"intelRdt": {"closID": "/"}}, "0.7.0"),
    "new intelRdt": device({"intelRdt": {"schemata": ["L3:0=f"], "enableMonitoring": True}}),
    "additional gids": device({"additionalGids": [0, 5]}, "0.7.0"),
}


@pytest.mark.parametrize("name", GOOD)
def test_files_that_the_reference_library_loads_are_loaded(name: str) -> None:
    """Files that the reference library loads; the official schema takes them, too."""
    check_cdi(GOOD[name])
    assert load(GOOD[name]).devices


def test_fields_that_the_schema_forgets_are_read() -> None:
    """`fileMode`, and the edits of the file itself, are part of CDI all the same. In YAML, octal numbers are octal."""
    assert load(file(containerEdits=ENV)).edits.env == ("A=1",)
    assert (
        load(device({"deviceNodes": [{"path": "/dev/a", "fileMode": 432}]})).devices[0].edits.device_nodes[0].file_mode
        == 432
    )
    text = "cdiVersion: 0.5.0\nkind: v/c\ndevices: [{name: 0, containerEdits: {deviceNodes: [{path: /a, fileMode: 0660}]}}]"
    spec = decode(text)
    assert (spec.devices[0].name, spec.devices[0].edits.device_nodes[0].file_mode) == ("0", 0o660)


BAD = {
    "no version": ({"kind": "v/c", "devices": []}, "version"),
    "a version that there is not": (file("0.9.0"), "0.9.0"),
    "a version with a suffix": (file("1.1.0-rc1"), "1.1.0-rc1"),
    "a version before the first release": (file("0.1.0"), r"0\.3\.0"),
    "no kind": (file(kind=""), "kind"),
    "kind without class": (file(kind="vendor.com"), "kind"),
    "kind with three parts": (file(kind="vendor.com/a/b"), "class"),
    "vendor with a digit first": (file(kind="1v/c"), "vendor"),
    "class with a space": (file(kind="v/c c"), "class"),
    "no devices": (file(devices=[]), "no devices"),
    "no device edits": (device({}), "containerEdits"),
    "the same device twice": (file(devices=[{"name": "a", "containerEdits": ENV}] * 2), "twice"),
    "a device without a name": (file(devices=[{"containerEdits": ENV}]), "name"),
    "a name that ends in a dash": (file(devices=[{"name": "a-", "containerEdits": ENV}]), "a-"),
    "an unknown field": (file(extra=1), "extra"),
    "an unknown field in edits": (device({"devices": []}), "devices"),
    "dropped fields of intelRdt": (device({"intelRdt": {"enableCMT": True}}), "enableCMT"),
    "env without =": (device({"env": ["A"]}), "NAME=VALUE"),
    "env without name": (device({"env": ["=1"]}), "NAME=VALUE"),
    "a node without path": (device({"deviceNodes": [{"type": "c"}]}), "path"),
    "a node of another type": (device({"deviceNodes": [{"path": "/a", "type": "x"}]}), "type"),
    "a wildcard": (device({"deviceNodes": [{"path": "/a", "major": -1}]}), "below 0"),
    "unknown permissions": (device({"deviceNodes": [{"path": "/a", "permissions": "rx"}]}), "permissions"),
    "a mount without source": (device({"mounts": [{"containerPath": "/a"}]}), "hostPath"),
    "an unknown hook": (device({"hooks": [{"hookName": "later", "path": "/x"}]}), "later"),
    "a hook without path": (device({"hooks": [{"hookName": "poststop"}]}), "path"),
    "a hook with bad env": (device({"hooks": [{"hookName": "poststop", "path": "/x", "env": ["A"]}]}), "NAME=VALUE"),
    "a class of service that is a path": (device({"intelRdt": {"closID": "a/b"}}), "class of service"),
    "a net device without name": (device({"netDevices": [{"hostInterfaceName": "eth1"}]}), "net device"),
    "a net device twice": (device({"netDevices": [{"hostInterfaceName": "e", "name": n} for n in "ab"]}), "twice"),
    "a list as mapping": (file(devices={}), "expected a list"),
    "text as number": (device({"deviceNodes": [{"path": "/a", "major": "x"}]}), "whole number"),
    "a gid below 0": (device({"additionalGids": [-1]}), "out of range"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_files_that_the_reference_library_refuses_are_refused(name: str) -> None:
    """Files that the reference library refuses to load; the error says what is wrong."""
    document, said = BAD[name]
    with pytest.raises(BadSpec, match=said):
        load(document)


NEEDS = {
    "0.3.0": file(),
    "0.4.0": GOOD["mount with a type"],
    "0.5.0": GOOD["digit first"],
    "0.5.0 host path": GOOD["device node by host path"],
    "0.6.0": GOOD["annotations"],
    "0.6.0 of a device": GOOD["annotations of a device"],
    "0.6.0 class": GOOD["dotted class"],
    "0.7.0": GOOD["intelRdt"],
    "0.7.0 gids": GOOD["additional gids"],
    "1.1.0": GOOD["net device"],
    "1.1.0 rdt": GOOD["new intelRdt"],
    "1.1.0 empty schemata": device({"intelRdt": {"schemata": []}}),
}


@pytest.mark.parametrize("name", NEEDS)
def test_features_need_a_version(name: str) -> None:
    """A file may be of the version that brought its newest feature, or a later one, but of no earlier one."""
    needed = name.partition(" ")[0]
    assert minimum_version(decode(json.dumps(NEEDS[name])))[0] == needed
    for version in VERSIONS:
        document = {**NEEDS[name], "cdiVersion": version}
        if VERSIONS.index(version) < VERSIONS.index(needed):
            with pytest.raises(BadSpec, match=needed):
                load(document)
        else:
            load(document)


@pytest.mark.parametrize("where", ["file", "device"])
def test_features_count_wherever_they_are(where: str) -> None:
    """What the file asks for any device needs its version, too."""
    edits = {"additionalGids": [5]}
    document = file("0.6.0", containerEdits=edits) if where == "file" else device(edits, "0.6.0")
    with pytest.raises(BadSpec, match=r"0\.7\.0"):
        load(document)


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "no document"),
        ("null", "no document"),
        ("{", "line 1"),
        ("[]", "mapping"),
        ("a: 1\na: 2", "unknown|twice"),
        ("kind: a\nkind: b", "twice"),
        ("? [a]\n: b", "keys"),
        ("devices: [null]", "nothing"),
        ("devices: &x [*x]", "mapping|nested|alias"),
        ("[" * 3000, "nested|line"),
        ("kind: \x00", "."),
    ],
)
def test_a_text_that_is_no_spec_is_refused_in_one_line(text: str, said: str) -> None:
    """No YAML, no document, fields twice: one line says so, whatever it is."""
    with pytest.raises(BadSpec, match=said) as caught:
        decode(text)
    assert "\n" not in str(caught.value)


def test_a_field_that_is_null_counts_as_missing() -> None:
    """A field that is null is as good as not there; a file of several documents counts with its first."""
    text = "cdiVersion: 1.0.0\nkind: v/c\nannotations: null\ndevices: [{name: a, containerEdits: {env: [A=1]}}]\n---\nx: 1\n"
    validate(decode(text))
