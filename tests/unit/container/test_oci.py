from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from kubelet_sim.container import KubeletContext, RuntimeOptions, container_config, oci, read_registry
from kubelet_sim.container.config import ContainerConfig
from kubelet_sim.container.oci import derive, effective_env, merged_env
from kubelet_sim.container.oci_defaults import ALL_CAPABILITIES, CAPABILITIES
from kubelet_sim.errors import ContainerRefused
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.profiles import Cdi, Profile
from tests.unit.container.parts import FIFO, FUSE, HOST, LOOP, NULL, FakeHost, check_oci, pod, share


def config(container: dict[str, Any] | None = None, of: ContainerSpec | None = None, **spec: Any) -> ContainerConfig:
    """The container of a pod that says this, and a plugin that grants that."""
    return container_config(pod(container, **spec), "main", of or share())


def derived(*arguments: Any, host: FakeHost = HOST, **spec: Any) -> dict[str, Any]:
    """Its `config.json`, which is always one that the schema allows."""
    found = oci(config(*arguments, **spec), host)
    check_oci(found)
    return found


def test_a_plain_container_gets_what_containerd_gives_all() -> None:
    """What containerd gives everybody: its mounts, capabilities, no device, and no rule but that nothing is allowed."""
    found = derived()
    assert found["process"]["env"] == [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME=p",
    ]  # fmt: skip
    assert found["process"]["capabilities"]["bounding"] == list(CAPABILITIES)
    assert [each["destination"] for each in found["mounts"]][:7] == [
        "/proc", "/dev", "/dev/pts", "/dev/shm", "/dev/mqueue", "/sys", "/sys/fs/cgroup",
    ]  # fmt: skip
    assert found["linux"]["devices"] == []
    assert found["linux"]["resources"]["devices"] == [{"allow": False, "access": "rwm"}]
    assert found["root"] == {"path": "rootfs", "readonly": False}
    assert found["process"]["args"] == ["sh"]
    assert {each["type"] for each in found["linux"]["namespaces"]} == {
        "ipc",
        "uts",
        "mount",
        "network",
        "pid",
        "cgroup",
    }


def test_the_schema_refuses_an_unknown_device_type() -> None:
    """A device of another type is refused by it, so that the checks here mean something."""
    found = derived(None, share(devices=[("/dev/a", "/dev/null", "rw")]))
    found["linux"]["devices"][0]["type"] = "x"
    with pytest.raises(jsonschema.ValidationError):
        check_oci(found)


def test_a_device_is_read_from_the_host() -> None:
    """Type, numbers, mode and owner of the host's node, at the container's path; the rule has the letters. Rules: DM-126"""
    found = derived(None, share(devices=[("/dev/a", "/dev/fuse", "rw"), ("/dev/b", "/dev/loop0", "r")]))
    assert found["linux"]["devices"] == [
        {"path": "/dev/a", "type": "c", "major": 10, "minor": 229, "fileMode": 0o600, "uid": 7, "gid": 8},
        {"path": "/dev/b", "type": "b", "major": 7, "minor": 0, "fileMode": 0o660, "uid": 0, "gid": 6},
    ]
    assert found["linux"]["resources"]["devices"][1:] == [
        {"allow": True, "type": "c", "major": 10, "minor": 229, "access": "rw"},
        {"allow": True, "type": "b", "major": 7, "minor": 0, "access": "r"},
    ]


def test_a_link_is_followed() -> None:
    """The container gets what it leads to, under the name that was asked for."""
    host = FakeHost({"/dev/serial/by-id/x": "->/dev/ttyUSB0", "/dev/ttyUSB0": FUSE})
    found = derived(None, share(devices=[("/dev/modem", "/dev/serial/by-id/x", "rw")]), host=host)
    assert (found["linux"]["devices"][0]["path"], found["linux"]["devices"][0]["minor"]) == ("/dev/modem", 229)


def test_a_directory_is_all_the_devices_in_it() -> None:
    """At any depth, without links, pipes and what belongs to the container's own /dev. Rules: DM-125"""
    host = FakeHost({
        "/dev/x/a": NULL, "/dev/x/below/b": LOOP, "/dev/x/link": "->/dev/x/a", "/dev/x/pipe": FIFO, "/dev/x/pts/0": FUSE,
    })  # fmt: skip
    found = derived(None, share(devices=[("/dev/y", "/dev/x", "rw")]), host=host)
    assert [each["path"] for each in found["linux"]["devices"]] == ["/dev/y/a", "/dev/y/below/b"]


@pytest.mark.parametrize(
    "host_path, said",
    [
        ("/dev/none", "no such file"),
        ("", "no such file"),
        ("/etc/hosts", "not a device node"),
        ("relative", "no such file"),
    ],
)
def test_a_missing_device_or_one_that_is_none_is_refused(host_path: str, said: str) -> None:
    """A missing path, and one that is no device: the kubelet passed it on. Rules: DM-125"""
    with pytest.raises(ContainerRefused, match=said):
        oci(config(None, share(devices=[("/dev/a", host_path, "rw")])), HOST)


def test_a_host_that_cannot_be_looked_at() -> None:
    """Its word is the runtime's."""

    class Closed(FakeHost):
        def resolved(self, path: str) -> str | None:
            raise PermissionError(13, "Permission denied", path)

    with pytest.raises(ContainerRefused, match="Permission denied"):
        oci(config(None, share(devices=[("/dev/a", "/dev/a", "rw")])), Closed())
    with pytest.raises(ContainerRefused, match="Permission denied"):
        oci(config(None, share(mounts=[("/a", "/a")])), Closed())


def test_variables_twice_stay_twice() -> None:
    """Containerd replaces what it has set itself and appends the rest; the process sees the last one. Rules: DM-128"""
    found = derived(
        {"env": [{"name": "A", "value": "pod"}, {"name": "PATH", "value": "/bin"}]}, share(envs={"A": "plugin"})
    )
    assert found["process"]["env"] == ["PATH=/bin", "HOSTNAME=p", "A=plugin", "A=pod"]
    assert effective_env(found["process"]["env"])["A"] == "pod"


def test_a_name_with_an_equals_sign() -> None:
    """The process sees another variable. Rules: DM-125"""
    assert effective_env(merged_env(["A=1"], ["A=B=2"])) == {"A": "B=2"}


def test_own_mounts_over_the_default_ones() -> None:
    """A path of ours takes the default one away; a mount over /dev takes all below it; outer ones come first. Rules: DM-130"""
    found = derived(None, share(mounts=[("/dev/shm/", "/srv"), ("/a/b", "/srv"), ("/a", "/srv", True)]))
    paths = [each["destination"] for each in found["mounts"]]
    assert "/dev/shm" not in paths
    assert [each for each in paths if each.startswith("/a")] == ["/a", "/a/b"]
    over = [each["destination"] for each in derived(None, share(mounts=[("/dev", "/srv")]))["mounts"]]
    assert [each for each in over if each.startswith("/dev")] == ["/dev", "/dev/termination-log"]


def test_relative_host_paths_lead_from_the_root_directory() -> None:
    """They lead from the root directory, where containerd stands, not from wherever somebody asks. Rules: DM-125"""
    found = derived(None, share(mounts=[("/m", "srv"), ("/n", "none")], devices=[("/dev/a", "dev/null", "rw")]))
    sources = {each["destination"]: each["source"] for each in found["mounts"]}
    assert (sources["/m"], sources["/n"]) == ("/srv", "/none")
    assert found["linux"]["devices"][0]["major"] == 1


def test_two_slashes_in_a_mount_path_count_as_one() -> None:
    """As for Go, and unlike in POSIX: the outer mount comes first, and takes the default ones away. Rules: DM-130"""
    found = derived(None, share(mounts=[("/a/b", "/srv"), ("//a", "/srv"), ("//dev", "/srv")]))
    paths = [each["destination"] for each in found["mounts"]]
    assert paths.index("//a") < paths.index("/a/b")
    assert [each for each in paths if "dev" in each] == ["//dev", "/dev/termination-log"]


def test_mounts_are_recursive_and_private_unless_asked_otherwise() -> None:
    """Recursive, private unless asked otherwise, and read-only as sent. Rules: DM-126"""
    volumes = [{"name": "v", "hostPath": {"path": "/srv"}}]
    mount = {
        "name": "v",
        "mountPath": "/v",
        "mountPropagation": "Bidirectional",
        "readOnly": True,
        "recursiveReadOnly": "Enabled",
    }
    found = derived({"volumeMounts": [mount]}, share(mounts=[("/m", "/srv", True)]), volumes=volumes)
    options = {each["destination"]: each["options"] for each in found["mounts"]}
    assert options["/m"] == ["rbind", "rprivate", "ro"]
    assert options["/v"] == ["rbind", "rshared", "rro"]
    assert found["linux"]["rootfsPropagation"] == "shared"


def test_a_missing_mount_source_is_no_error() -> None:
    """Containerd makes a directory there. Rules: DM-125"""
    found = derived(None, share(mounts=[("/m", "/nowhere")]))
    assert {"destination": "/m", "type": "bind", "source": "/nowhere", "options": ["rbind", "rprivate", "rw"]} in found[
        "mounts"
    ]


def test_annotations_stay_with_containerd() -> None:
    """Unless it is set up to pass them on; its own are always there. Rules: DM-131"""
    of = share(annotations={"vendor.com/a": "1", "other": "2"})
    assert derived(None, of)["annotations"]["io.kubernetes.cri.container-name"] == "main"
    assert "other" not in derived(None, of)["annotations"]
    passed = oci(config(None, of), HOST, options=RuntimeOptions(passed_annotations=("vendor.com/*",)))
    assert passed["annotations"]["vendor.com/a"] == "1"
    assert "other" not in passed["annotations"]


@pytest.mark.parametrize(
    "context, expected",
    [
        ({"capabilities": {"drop": ["ALL"]}}, []),
        ({"capabilities": {"drop": ["ALL"], "add": ["net_admin"]}}, ["CAP_NET_ADMIN"]),
        ({"capabilities": {"add": ["ALL"]}}, list(ALL_CAPABILITIES)),
        ({"capabilities": {"drop": ["KILL"]}}, [each for each in CAPABILITIES if each != "CAP_KILL"]),
    ],
)
def test_all_capabilities_come_before_single_ones(context: dict[str, Any], expected: list[str]) -> None:
    """`ALL` comes first, then single ones."""
    assert derived({"securityContext": context})["process"]["capabilities"]["effective"] == expected


def test_a_privileged_container_gets_every_device_of_the_host() -> None:
    """Every device of the host, and the right to each."""
    found = derived({"securityContext": {"privileged": True}})
    assert [each["path"] for each in found["linux"]["devices"]] == ["/dev/fuse", "/dev/loop0", "/dev/null"]
    assert found["linux"]["resources"]["devices"][-1] == {"allow": True, "access": "rwm"}
    assert found["linux"]["maskedPaths"] == []
    options = {each["destination"]: each["options"] for each in found["mounts"]}
    assert {"rw"} == {"ro", "rw"} & {*options["/sys"], *options["/sys/fs/cgroup"]}


def test_what_a_pod_shares_with_the_host_has_no_namespace() -> None:
    """What the pod shares with the host has no namespace of its own."""
    found = derived(hostNetwork=True, hostPID=True, hostIPC=True)
    assert {each["type"] for each in found["linux"]["namespaces"]} == {"uts", "mount", "cgroup"}


def test_cpu_and_memory_are_as_the_kubelet_computed_them() -> None:
    """As the kubelet computed them; a terminal brings its variable."""
    found = derived({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}, "tty": True})
    assert found["linux"]["resources"]["cpu"] == {"period": 100_000, "quota": 100_000, "shares": 1024}
    assert found["linux"]["resources"]["memory"] == {"limit": 2**30, "swap": 2**30}
    assert "TERM=xterm" in found["process"]["env"]


CDI = {
    "/etc/cdi/v.json": json.dumps(
        {
            "cdiVersion": "1.1.0",
            "kind": "v/c",
            "containerEdits": {"env": ["ALL=1"]},
            "devices": [
                {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/n", "hostPath": "/dev/null"}]}},
                {
                    "name": "full",
                    "containerEdits": {
                        "env": ["A=cdi"],
                        "deviceNodes": [
                            {
                                "path": "/dev/f",
                                "type": "c",
                                "major": 5,
                                "minor": 6,
                                "uid": 1,
                                "gid": 2,
                                "permissions": "r",
                            }
                        ],
                        "mounts": [
                            {"hostPath": "/x", "containerPath": "/y", "options": ["ro", "bind"], "type": "none"}
                        ],
                        "hooks": [{"hookName": "createContainer", "path": "/bin/h", "args": ["h"], "timeout": 5}],
                        "netDevices": [{"hostInterfaceName": "eth9", "name": "net0"}],
                        "intelRdt": {"closID": "gold", "schemata": ["L3:0=f"], "enableMonitoring": True},
                        "additionalGids": [44],
                    },
                },
            ],
        }
    )
}


def test_cdi_devices_are_injected() -> None:
    """All kinds of edits, into a file that the schema still allows. Rules: DM-132"""
    found = derive(config(None, share(cdi=["v/c=full", "v/c=0"])), HOST, read_registry(FakeHost(CDI)))
    check_oci(found.spec)
    assert found.cdi_names == ("v/c=full", "v/c=0")
    assert found.spec["process"]["env"][-2:] == ["ALL=1", "A=cdi"]
    assert [each["path"] for each in found.spec["linux"]["devices"]] == ["/dev/f", "/dev/n"]
    assert found.spec["process"]["user"]["additionalGids"] == [0, 44]
    assert found.spec["linux"]["netDevices"] == {"eth9": {"name": "net0"}}
    assert found.spec["hooks"]["createContainer"] == [{"path": "/bin/h", "args": ["h"], "timeout": 5}]


def test_both_cdi_channels_are_one() -> None:
    """The field and the annotation of an older kubelet name the same devices: they are injected once. Rules: DM-133"""
    around = KubeletContext(profile=Profile(cdi=Cdi.FIELD_AND_ANNOTATION))
    both = container_config(pod(), "main", share(cdi=["v/c=0"]), around)
    assert derive(both, HOST, read_registry(FakeHost(CDI))).cdi_names == ("v/c=0",)
    only = container_config(pod(), "main", share(annotations={"cdi.k8s.io/x": "v/c=0"}))
    assert derive(only, HOST, read_registry(FakeHost(CDI))).cdi_names == ("v/c=0",)


@pytest.mark.parametrize("names, said", [(["v/c=1"], "unresolvable CDI devices v/c=1"), (["nonsense"], "unresolvable")])
def test_a_cdi_name_that_nobody_defines_refuses_the_container(names: list[str], said: str) -> None:
    """A container with a CDI name that no file defines is not created."""
    with pytest.raises(ContainerRefused, match=said):
        oci(config(None, share(cdi=names)), HOST, read_registry(FakeHost(CDI)))


def test_a_malformed_cdi_annotation_refuses_the_container() -> None:
    """A malformed CDI annotation spoils the container, even without any CDI device."""
    with pytest.raises(ContainerRefused, match="annotations"):
        oci(config(None, share(annotations={"cdi.k8s.io/x": "nonsense"})), HOST)


def test_a_pod_with_users_of_its_own() -> None:
    """A user namespace with id mappings, which all mounts have, CDI's bind mounts by an option. Rules: DM-130"""
    mapped = container_config(pod(hostUsers=False), "main", share(mounts=[("/m", "/srv")], cdi=["v/c=full"]))
    found = oci(mapped, HOST, read_registry(FakeHost(CDI)))
    check_oci(found)
    ids = [{"containerID": 0, "hostID": 65_536, "size": 65_536}]
    mounts = {each["destination"]: each for each in found["mounts"]}
    assert found["linux"]["uidMappings"] == mounts["/m"]["uidMappings"] == mounts["/etc/hosts"]["gidMappings"] == ids
    assert {"type": "user"} in found["linux"]["namespaces"]
    assert mounts["/y"]["options"] == ["ro", "bind", "idmap"]
    assert "uidMappings" not in derived()["linux"]
