from __future__ import annotations

import json

import pytest
from google.protobuf import json_format

from kubelet_sim.container import KubeletContext, container_config, cri
from kubelet_sim.profiles import Cdi, Profile
from tests.unit.container import cri_messages
from tests.unit.container.parts import pod, share

FULL = container_config(
    pod(
        {
            "command": ["a"],
            "args": ["b"],
            "workingDir": "/w",
            "tty": True,
            "stdin": True,
            "env": [{"name": "A", "value": "pod"}],
            "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True, "mountPropagation": "HostToContainer"}],
            "securityContext": {
                "runAsUser": 0,
                "readOnlyRootFilesystem": True,
                "privileged": True,
                "capabilities": {"add": ["A"], "drop": ["ALL"]},
            },
            "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
        },
        volumes=[{"name": "v", "hostPath": {"path": "/h"}}],
        hostNetwork=True,
        hostIPC=True,
        shareProcessNamespace=True,
    ),
    "main",
    share(
        envs={"A": "plugin"},
        mounts=[("/m", "/hm", True)],
        devices=[("/dev/a", "/dev/b", "rw"), ("/dev/c", "/dev/d", "")],
        annotations={"k": "v"},
        cdi=["v/c=1", "v/c=0"],
    ),
    KubeletContext(profile=Profile(cdi=Cdi.FIELD_AND_ANNOTATION), attempt=3),
)


def test_it_is_a_message_of_cri() -> None:
    """Every field is one of the API, of the right kind. Rules: DM-126, DM-127, DM-128, DM-131, DM-132"""
    message = cri_messages.read(json.loads(json.dumps(cri(FULL))))
    assert [(each.key, each.value) for each in message.envs] == [("A", "plugin"), ("A", "pod")]
    assert [(each.container_path, each.host_path, each.readonly) for each in message.mounts][:2] == [
        ("/m", "/hm", True),
        ("/v", "/h", True),
    ]
    assert message.mounts[1].propagation == 1
    assert [(each.container_path, each.permissions) for each in message.devices] == [("/dev/a", "rw"), ("/dev/c", "")]
    assert [each.name for each in message.CDI_devices] == ["v/c=1", "v/c=0"]
    assert message.annotations["k"] == "v"
    assert (message.metadata.name, message.metadata.attempt, message.log_path) == ("main", 3, "main/3.log")
    security = message.linux.security_context
    assert security.HasField("run_as_user")
    assert (security.namespace_options.network, security.namespace_options.pid, security.namespace_options.ipc) == (
        2,
        0,
        2,
    )
    assert message.linux.resources.cpu_quota == 200_000


def test_what_is_not_set_is_not_written() -> None:
    """A plain container has neither devices nor security that nobody asked for."""
    document = cri(container_config(pod(), "main", share()))
    assert not {"devices", "envs", "CDI_devices", "command", "tty", "working_dir"} & set(document)
    assert "run_as_user" not in document["linux"]["security_context"]
    cri_messages.read(document)


def test_the_reader_of_cri_refuses_an_unknown_field() -> None:
    """A field that CRI has not is an error, so that the test above means something."""
    with pytest.raises(json_format.ParseError):
        cri_messages.read({**cri(FULL), "cdi": []})


def test_a_pod_with_users_of_its_own() -> None:
    """The plugin's mounts have the same id mappings as all others. Rules: DM-130"""
    config = container_config(pod(hostUsers=False), "main", share(mounts=[("/m", "/hm")]))
    message = cri_messages.read(cri(config))
    mappings = {(each.uidMappings[0].host_id, each.gidMappings[0].length) for each in message.mounts}
    assert mappings == {(65_536, 65_536)}
    options = message.linux.security_context.namespace_options.userns_options
    assert (options.mode, options.uids[0].host_id) == (0, 65_536)
    assert "range of user ids" in [each.what for each in config.not_simulated]
