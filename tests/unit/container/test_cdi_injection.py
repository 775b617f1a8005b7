"""What the edits of CDI devices do to a runtime configuration."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubelet_sim.container.cdi.injection import AppliedEdit, inject
from kubelet_sim.container.cdi.registry import read_registry
from kubelet_sim.container.host import HostFiles
from kubelet_sim.errors import ContainerRefused
from tests.unit.container.parts import FIFO, FUSE, LOOP, NULL, FakeHost

HOST = FakeHost({"/dev/null": NULL, "/dev/fuse": FUSE, "/dev/loop0": LOOP, "/run/pipe": FIFO, "/etc/x": "text"})


def edited(
    *devices: dict[str, Any], spec: dict[str, Any] | None = None, host: HostFiles = HOST, **config: Any
) -> tuple[dict[str, Any], tuple[AppliedEdit, ...]]:
    """A configuration after the injection of devices with these edits, all of one file."""
    listed = [{"name": f"d{number}", "containerEdits": edits} for number, edits in enumerate(devices)]
    document = {"cdiVersion": "1.1.0", "kind": "v/c", "devices": listed, **({"containerEdits": spec} if spec else {})}
    found = read_registry(FakeHost({"/etc/cdi/a.json": json.dumps(document)}))
    changed: dict[str, Any] = {
        "process": {"user": {"uid": 0, "gid": 0}, "env": []},
        "mounts": [],
        "linux": {},
        **config,
    }
    applied = inject(changed, found.find([f"v/c=d{number}" for number in range(len(devices))]), host)
    return changed, applied


def test_variables_are_appended_and_replaced_in_their_place() -> None:
    """A variable that is there already gets the new value where it stands; the last one, if it is there twice."""
    config, applied = edited({"env": ["A=cdi", "C=3"]}, process={"user": {}, "env": ["A=1", "B=2", "A=pod"]})
    assert config["process"]["env"] == ["A=1", "B=2", "A=cdi", "C=3"]
    assert [(each.key, each.replaced) for each in applied] == [("A", "pod"), ("C", None)]


def test_edits_of_the_file_come_once_and_first() -> None:
    """Whoever asks for any device gets them, before the first device's own."""
    config, applied = edited({"env": ["A=1"]}, {"env": ["B=2"]}, spec={"env": ["A=file", "F=1"]})
    assert config["process"]["env"] == ["A=1", "F=1", "B=2"]
    assert [each.source for each in applied][:2] == ["v/c (/etc/cdi/a.json)"] * 2
    assert applied[-1].source == "v/c=d1 (/etc/cdi/a.json)"


def test_a_node_is_looked_up_on_the_host() -> None:
    """Type, numbers and mode come from there; the cgroup lets the container do everything unless told otherwise."""
    config, applied = edited({"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/fuse"}, {"path": "/dev/loop0"}]})
    assert config["linux"]["devices"] == [
        {"path": "/dev/a", "type": "c", "major": 10, "minor": 229, "fileMode": 0o600},
        {"path": "/dev/loop0", "type": "b", "major": 7, "minor": 0, "fileMode": 0o660},
    ]
    assert config["linux"]["resources"]["devices"] == [
        {"allow": True, "type": "c", "major": 10, "minor": 229, "access": "rwm"},
        {"allow": True, "type": "b", "major": 7, "minor": 0, "access": "rwm"},
    ]
    assert [each.host_path for each in applied] == ["/dev/fuse", "/dev/loop0"]


@pytest.mark.parametrize("permissions, access", [("", "rwm"), ("r", "r"), ("rw", "rw"), ("none", "")])
def test_permissions_become_a_rule(permissions: str, access: str) -> None:
    """Empty stands for all, `none` for none."""
    config, _ = edited({"deviceNodes": [{"path": "/dev/null", "permissions": permissions}]})
    assert config["linux"]["resources"]["devices"][0]["access"] == access


def test_a_node_that_says_everything_needs_no_host() -> None:
    """With type and major it may be missing; only the mode is taken from the host if it is there."""
    node = {"path": "/dev/x", "type": "c", "major": 240, "minor": 1}
    assert edited({"deviceNodes": [node]})[0]["linux"]["devices"] == [node]
    there, _ = edited({"deviceNodes": [{**node, "hostPath": "/dev/null"}]})
    assert there["linux"]["devices"][0] == {**node, "fileMode": 0o666}


def test_mode_and_owner_of_the_file_win() -> None:
    """What the file says is not asked of the host; else the owner is the container's user, unless that is root."""
    node = {"path": "/dev/null", "fileMode": 0o600, "uid": 5, "gid": 0}
    assert edited({"deviceNodes": [node]})[0]["linux"]["devices"][0] == {
        "path": "/dev/null", "type": "c", "major": 1, "minor": 3, "fileMode": 0o600, "uid": 5, "gid": 0,
    }  # fmt: skip
    config, _ = edited(
        {"deviceNodes": [{"path": "/dev/null"}]}, process={"user": {"uid": 1000, "gid": 1001}, "env": []}
    )
    assert (config["linux"]["devices"][0]["uid"], config["linux"]["devices"][0]["gid"]) == (1000, 1001)


def test_a_pipe_has_no_numbers_and_no_rule() -> None:
    """A fifo is a node, too."""
    config, _ = edited({"deviceNodes": [{"path": "/run/pipe"}]})
    assert config["linux"]["devices"] == [{"path": "/run/pipe", "type": "p", "fileMode": 0o644}]
    assert "resources" not in config["linux"]


@pytest.mark.parametrize(
    "node, said",
    [
        ({"path": "/dev/none"}, "no such file"),
        ({"path": "/etc/x"}, "not a device node"),
        ({"path": "/dev/null", "type": "b"}, "mismatch"),
        ({"path": "/dev/none", "type": "c"}, "no such file"),
    ],
)
def test_a_node_that_is_not_on_the_host_keeps_the_container_from_being_made(node: dict[str, Any], said: str) -> None:
    """A runtime does not create a container with a node that cannot be completed."""
    with pytest.raises(ContainerRefused, match=said):
        edited({"deviceNodes": [node]})


def test_a_host_that_refuses_to_be_looked_at() -> None:
    """Its word is in the error."""

    class Closed(FakeHost):
        def look(self, path: str) -> Any:
            raise PermissionError(13, "Permission denied", path)

    with pytest.raises(ContainerRefused, match="Permission denied"):
        edited({"deviceNodes": [{"path": "/dev/null"}]}, host=Closed())


def test_a_node_takes_the_place_of_another() -> None:
    """The one that a plugin sent for the same path is gone, and that is known."""
    before = {"path": "/dev/a", "type": "c", "major": 1, "minor": 3}
    config, applied = edited(
        {"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/fuse"}]}, linux={"devices": [before]}
    )
    assert [each["major"] for each in config["linux"]["devices"]] == [10]
    assert applied[0].replaced == "c 1:3"


def test_mounts_replace_and_are_sorted() -> None:
    """One destination, one mount; outer mounts come before inner ones."""
    mounts = [{"destination": "/a/b/c", "source": "/x"}, {"destination": "/a", "source": "/old"}]
    edits = {"mounts": [{"hostPath": "/new", "containerPath": "/a", "options": ["ro"]}]}
    config, applied = edited(edits, mounts=mounts)
    assert config["mounts"] == [
        {"destination": "/a", "source": "/new", "options": ["ro"]},
        {"destination": "/a/b/c", "source": "/x"},
    ]
    assert applied[0].replaced == "/old"


def test_a_mount_keeps_its_type() -> None:
    """As it is in the file."""
    config, _ = edited({"mounts": [{"hostPath": "tmpfs", "containerPath": "/t", "type": "tmpfs"}]})
    assert config["mounts"] == [{"destination": "/t", "source": "tmpfs", "type": "tmpfs"}]


@pytest.mark.parametrize(
    "name", ["prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"]
)
def test_hooks_add_up(name: str) -> None:
    """In order, by the name of OCI."""
    hook = {"hookName": name, "path": "/bin/x", "args": ["x", "y"], "env": ["A=1"], "timeout": 3}
    config, applied = edited({"hooks": [hook]}, {"hooks": [{"hookName": name, "path": "/bin/z"}]})
    assert config["hooks"] == {
        name: [{"path": "/bin/x", "args": ["x", "y"], "env": ["A=1"], "timeout": 3}, {"path": "/bin/z"}]
    }
    assert applied[0].value == "/bin/x y"


def test_net_devices_move_by_their_name_on_the_host() -> None:
    """A net device of the host is named by its name there."""
    config, _ = edited({"netDevices": [{"hostInterfaceName": "eth1", "name": "net0"}]})
    assert config["linux"]["netDevices"] == {"eth1": {"name": "net0"}}


def test_two_devices_cannot_move_one_interface() -> None:
    """What is good in each device may be wrong together."""
    move = {"netDevices": [{"hostInterfaceName": "eth1", "name": "net0"}]}
    with pytest.raises(ContainerRefused, match="twice"):
        edited(move, move)


def test_the_last_class_of_service_counts() -> None:
    """A container has one."""
    first = {"intelRdt": {"closID": "gold", "l3CacheSchema": "a", "memBwSchema": "b"}}
    config, applied = edited(first, {"intelRdt": {"schemata": ["L3:0=f"], "enableMonitoring": True}})
    assert config["linux"]["intelRdt"] == {"schemata": ["L3:0=f"], "enableMonitoring": True}
    assert applied[1].replaced is not None


def test_groups_join_once() -> None:
    """0 is ignored, doubles are, too."""
    config, applied = edited({"additionalGids": [0, 5, 6, 5]}, process={"user": {"additionalGids": [6]}, "env": []})
    assert config["process"]["user"]["additionalGids"] == [6, 5]
    assert [each.key for each in applied] == ["5"]


def test_without_a_device_nothing_is_changed() -> None:
    """No device leaves the configuration as it is."""
    assert edited() == ({"process": {"user": {"uid": 0, "gid": 0}, "env": []}, "mounts": [], "linux": {}}, ())
