from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from kubelet_sim.container import KubeletContext, container_config, read_registry
from kubelet_sim.errors import ContainerRefused, UsageError
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.node.oci import runtime_limits as fitting
from kubelet_sim.node.oci.bundle import Bundle, kubelet_root, new_directory, write_bundle
from kubelet_sim.node.oci.host_files import LocalFiles
from tests.unit.container.parts import check_oci, pod, share


def written(directory: Path, of: ContainerSpec, container: dict[str, Any] | None = None, **more: Any) -> Bundle:
    """A bundle in a new directory."""
    place = new_directory(directory / "bundle")
    volumes = [{"name": "v", "emptyDir": {}}, {"name": "h", "hostPath": {"path": str(directory)}}]
    config = container_config(
        pod(container, volumes=volumes), "main", of, KubeletContext(kubelet_root=kubelet_root(place))
    )
    registry = read_registry(LocalFiles(), [str(directory / "cdi")])
    found = write_bundle(config, place, LocalFiles(), registry, **more)
    check_oci(json.loads((place / "config.json").read_text()))
    return found


def test_a_bundle_is_ready_to_run(short_root: Path) -> None:
    """Configuration, an empty root, and what the kubelet makes: volumes, sub-paths, the hosts file."""
    mounts = [
        {"name": "v", "mountPath": "/v"},
        {"name": "v", "mountPath": "/s", "subPath": "a/b"},
        {"name": "h", "mountPath": "/h", "subPath": "c"},
    ]
    bundle = written(short_root, share(devices=[("/dev/a", "/dev/null", "rw")]), {"volumeMounts": mounts})
    sources = {each["destination"]: Path(each["source"]) for each in bundle.spec["mounts"] if each["type"] == "bind"}
    assert sources["/v"].is_dir()
    assert sources["/s"] == sources["/v"] / "a/b"
    assert sources["/h"] == short_root / "c"
    assert sources["/etc/hosts"].read_text() == "127.0.0.1\tlocalhost\n"
    assert sources["/dev/termination-log"].read_text() == ""
    modes = {path: stat.S_IMODE(sources[path].stat().st_mode) for path in ("/v", "/s", "/dev/termination-log")}
    assert modes == {"/v": 0o777, "/s": 0o777, "/dev/termination-log": 0o666}
    assert list((bundle.path / "rootfs").iterdir()) == []
    assert bundle.spec["root"]["path"] == "rootfs"


def test_a_root_file_system_of_the_users_is_used_where_it_is(short_root: Path) -> None:
    """It is used where it is, and the command may be another one than the pod's."""
    (short_root / "mine").mkdir()
    bundle = written(short_root, share(), rootfs=short_root / "mine", args=["ls", "/"])
    assert bundle.spec["root"]["path"] == str(short_root / "mine")
    assert bundle.spec["process"]["args"] == ["ls", "/"]


def test_missing_sources_are_made_in_the_bundle(short_root: Path) -> None:
    """The host is left alone, and it is told. Rules: DM-125"""
    bundle = written(short_root, share(mounts=[("/m", str(short_root / "none")), ("/n", "a\0b")]))
    sources = {each["destination"]: Path(each["source"]) for each in bundle.spec["mounts"] if each["type"] == "bind"}
    assert sources["/m"].is_relative_to(bundle.path)
    assert sources["/m"].is_dir()
    assert not (short_root / "none").exists()
    assert "none is missing" in bundle.notes[0]


def test_a_bundle_is_made_in_an_empty_directory_only(short_root: Path) -> None:
    """A bundle does not mix with other files; what cannot be made is an error, too."""
    (short_root / "full").mkdir()
    (short_root / "full" / "x").touch()
    with pytest.raises(UsageError, match="not empty"):
        new_directory(short_root / "full")
    with pytest.raises(UsageError, match="cannot make"):
        new_directory(short_root / "full" / "x")


def test_what_a_runtime_refuses_is_not_written(short_root: Path) -> None:
    """A device that is missing. Rules: DM-125"""
    with pytest.raises(ContainerRefused):
        written(short_root, share(devices=[("/dev/a", "/dev/none", "rw")]))


def test_a_path_that_cannot_be(short_root: Path) -> None:
    """A sub-path with a NUL in it is told as what cannot be written."""
    with pytest.raises(UsageError, match="cannot write the bundle"):
        written(short_root, share(), {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "a\0b"}]})


def test_without_root_devices_are_bound(short_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody but root makes device nodes: they come from where the host has them, in a user namespace."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (short_root / "cdi").mkdir()
    edits = {"deviceNodes": [{"path": "/dev/c", "hostPath": "/dev/zero"}]}
    document = {"cdiVersion": "1.0.0", "kind": "v/c", "devices": [{"name": "0", "containerEdits": edits}]}
    (short_root / "cdi" / "a.json").write_text(json.dumps(document))
    bundle = written(short_root, share(devices=[("/dev/a", "dev/null", "rw")], cdi=["v/c=0"]))
    binds = {each["destination"]: each["source"] for each in bundle.spec["mounts"] if each["type"] == "bind"}
    assert (binds["/dev/a"], binds["/dev/c"]) == ("/dev/null", "/dev/zero")
    assert {"type": "user"} in bundle.spec["linux"]["namespaces"]
    assert "devices" not in bundle.spec["linux"]
    assert [each["path"] for each in bundle.wanted["linux"]["devices"]] == ["/dev/a", "/dev/c"]


def test_without_root_a_directory_of_devices(short_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is bound from where it lies in the directory that was granted, wherever that is in the container."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    bundle = written(short_root, share(devices=[("/dev/all/", "/dev", "rw")]))
    binds = {each["destination"]: each["source"] for each in bundle.spec["mounts"] if each["type"] == "bind"}
    assert binds["/dev/all/null"] == "/dev/null"


def test_without_root_a_node_that_the_host_lacks(short_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CDI file may say all of a node, so that nobody looks at the host; without root it is left out, and told."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    cdi_file(short_root, deviceNodes=[{"path": "/dev/made", "type": "c", "major": 240, "minor": 1}])
    bundle = written(short_root, share(cdi=["v/c=0"]))
    assert [each["path"] for each in bundle.wanted["linux"]["devices"]] == ["/dev/made"]
    assert "/dev/made" not in {each["destination"] for each in bundle.spec["mounts"]}
    assert ["/dev/made is missing" in each for each in bundle.notes] == [True]


@pytest.mark.parametrize("unified", [True, False])
def test_a_cgroup_namespace_by_machine(short_root: Path, monkeypatch: pytest.MonkeyPatch, unified: bool) -> None:
    """On cgroup v2 only, as containerd has it."""
    marker = short_root / "cgroup.controllers"
    if unified:
        marker.touch()
    monkeypatch.setattr(fitting, "_CGROUP_V2", marker)
    types = [each["type"] for each in written(short_root, share()).spec["linux"]["namespaces"]]
    assert ("cgroup" in types) is unified


def cdi_file(directory: Path, **edits: Any) -> None:
    """A spec file for `v/c=0`."""
    (directory / "cdi").mkdir()
    document = {"cdiVersion": "1.1.0", "kind": "v/c", "devices": [{"name": "0", "containerEdits": edits}]}
    (directory / "cdi" / "a.json").write_text(json.dumps(document))


def test_older_runtimes_take_it(short_root: Path) -> None:
    """The version is one that old runtimes know, too, crun of Debian 12 for one, which look at nothing else."""
    assert written(short_root, share()).spec["ociVersion"] == "1.0.2"


@pytest.mark.parametrize(
    "edits",
    [
        {"netDevices": [{"hostInterfaceName": "eth9", "name": "data"}]},
        {"intelRdt": {"closID": "c", "schemata": ["L3:0=f"]}},
    ],
)
def test_what_is_new_says_so(short_root: Path, edits: dict[str, Any]) -> None:
    """A runtime that does not know a part of it had better refuse it."""
    cdi_file(short_root, **edits)
    bundle = written(short_root, share(cdi=["v/c=0"]))
    assert bundle.spec["ociVersion"] == bundle.wanted["ociVersion"] == "1.3.0"


def test_rights_that_root_lacks(short_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container, say, even root cannot hand on all capabilities, nor lower a score: it is left out, and told."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (short_root / "status").write_text("Name:\tx\nCapBnd:\t000001fffeffffff\n")  # all but number 24
    monkeypatch.setattr(fitting, "_STATUS", short_root / "status")
    monkeypatch.setattr(fitting, "_may_have_score", lambda score: score > -997)
    limits = {"limits": {"cpu": "1", "memory": "1Gi"}}
    bundle = written(short_root, share(), {"securityContext": {"privileged": True}, "resources": limits})
    assert bundle.notes == (
        "this machine does not allow oom_score_adj -997: it is left as it is",
        "this machine does not give CAP_SYS_RESOURCE: the container is without",
    )
    assert bundle.wanted["process"]["oomScoreAdj"] == -997
    assert "oomScoreAdj" not in bundle.spec["process"]
    for kind, held in bundle.spec["process"]["capabilities"].items():
        assert set(bundle.wanted["process"]["capabilities"][kind]) - set(held) == {"CAP_SYS_RESOURCE"}


def test_rights_that_root_has(short_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left out, and nothing told."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (short_root / "status").write_text("CapBnd:\t000001ffffffffff\n")
    monkeypatch.setattr(fitting, "_STATUS", short_root / "status")
    bundle = written(short_root, share(), {"securityContext": {"privileged": True}})
    assert bundle.notes == ()
    assert bundle.spec["process"] == bundle.wanted["process"]


def test_a_score_is_tried_by_somebody_else() -> None:
    """Ours stays what it is."""
    before = Path("/proc/self/oom_score_adj").read_text()
    assert fitting._may_have_score(1000)
    assert Path("/proc/self/oom_score_adj").read_text() == before
