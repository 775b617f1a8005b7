from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from kubelet_sim.container import KubeletContext, container_config
from kubelet_sim.container.config import ContainerConfig, Giver, MadeByKubelet, Propagation
from kubelet_sim.container.environment import ClusterData
from kubelet_sim.core.devices.response_merge import merged, without_cdi
from kubelet_sim.errors import UsageError
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.response import ContainerResponse, ContainerSpec, Dropped, Provenance
from kubelet_sim.profiles import Cdi, Profile
from tests.unit.container.parts import GPU, NIC, UID, pod, share
from tests.unit.core.bench import Bench

OLD = Profile(version="1.29", cdi=Cdi.FIELD_AND_ANNOTATION)
ROOT = "/var/lib/kubelet"
POD_DIRECTORY = f"{ROOT}/pods/{UID}"


def built(
    container: dict[str, Any] | None = None,
    of: ContainerSpec | None = None,
    profile: Profile | None = None,
    **spec: Any,
) -> ContainerConfig:
    """The container of a pod that says this, and plugins that grant that."""
    around = KubeletContext(profile=profile) if profile else KubeletContext()
    return container_config(pod(container, **spec), "main", of or ContainerSpec(), around)


def values(config: ContainerConfig) -> list[tuple[str, str]]:
    """Names and values, in order."""
    return [(each.name, each.value) for each in config.envs]


def test_a_plain_container_gets_what_the_kubelet_adds_to_all() -> None:
    """A pod without anything gets what the kubelet adds to every container. Rules: DM-127, DM-131"""
    config = built()
    assert (config.envs, config.devices, config.cdi_devices) == ((), (), ())
    assert [each.container_path for each in config.mounts] == ["/etc/hosts", "/dev/termination-log"]
    assert [each.made for each in config.mounts] == [MadeByKubelet.FILE, MadeByKubelet.FILE]
    assert config.mounts[0].host_path == f"{POD_DIRECTORY}/etc-hosts"
    assert {each.origin.giver for each in config.mounts} == {Giver.KUBELET}
    assert dict(config.labels)["io.kubernetes.pod.uid"] == UID
    assert [each.key for each in config.annotations] == [
        "io.kubernetes.container.hash",
        "io.kubernetes.container.restartCount",
        "io.kubernetes.container.terminationMessagePath",
        "io.kubernetes.container.terminationMessagePolicy",
        "io.kubernetes.pod.terminationGracePeriod",
    ]


def test_entries_of_plugins_come_before_those_of_pod_and_kubelet() -> None:
    """Plugins first, then the pod, then the kubelet; volume mounts in the order of the pod. Rules: DM-126, DM-127"""
    config = built(
        {
            "env": [{"name": "P", "value": "1"}],
            "volumeMounts": [{"name": "b", "mountPath": "/b"}, {"name": "a", "mountPath": "/a"}],
        },
        share(
            envs={"G": "2"}, mounts=[("/g", "/host/g", True)], devices=[("/dev/g", "/dev/host", "rw")], cdi=["v/c=1"]
        ),
        volumes=[{"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": {"path": "/host/b"}}],
    )
    assert values(config) == [("G", "2"), ("P", "1")]
    assert [(each.container_path, str(each.origin)) for each in config.mounts] == [
        ("/g", f"plugin {GPU}"),
        ("/b", "pod volume b (hostPath)"),
        ("/a", "pod volume a (emptyDir)"),
        ("/etc/hosts", "kubelet hosts file"),
        ("/dev/termination-log", "kubelet termination message"),
    ]
    assert [str(config.devices[0].origin), str(config.cdi_devices[0].origin)] == [f"plugin {GPU}"] * 2


def test_a_variable_of_both_is_sent_twice() -> None:
    """The plugin's first; the kubelet itself reads the pod's. Rules: DM-128"""
    config = built({"env": [{"name": "A", "value": "pod"}], "args": ["$(A)"]}, share(envs={"A": "plugin"}))
    assert values(config) == [("A", "plugin"), ("A", "pod")]
    assert config.env_values() == {"A": "pod"}
    assert config.args == ("pod",)


def test_where_a_plugins_variable_can_be_used() -> None:
    """In command, arguments and sub-path expressions, but not in the value of another variable. Rules: DM-129"""
    config = built(
        {
            "command": ["run", "$(ID)", "$$(ID)", "$(NONE)"],
            "args": ["--id=$(ID)"],
            "env": [{"name": "COPY", "value": "is $(ID)"}, {"name": "OWN", "value": "$(COPY)!"}],
            "volumeMounts": [{"name": "v", "mountPath": "/v", "subPathExpr": "by/$(ID)"}],
        },
        share(envs={"ID": "gpu0"}),
        volumes=[{"name": "v", "hostPath": {"path": "/srv"}}],
    )
    assert config.command == ("run", "gpu0", "$(ID)", "$(NONE)")
    assert config.args == ("--id=gpu0",)
    assert config.env_values()["COPY"] == "is $(ID)"
    assert config.env_values()["OWN"] == "is $(ID)!"
    assert config.mounts[0].volume_path == "/srv/by/gpu0"
    assert config.mounts[0].host_path == f"{POD_DIRECTORY}/volume-subpaths/v/main/0"


def test_later_variables_of_the_pod_win() -> None:
    """A name counts once among the pod's own, env over envFrom. Rules: DM-127"""
    source = {
        "env": [{"name": "A", "value": "2"}, {"name": "A", "value": "3"}],
        "envFrom": [{"configMapRef": {"name": "m"}}],
    }
    world = ClusterData(objects={("ConfigMap", "m"): {"A": "1", "B": "4"}})
    config = container_config(pod(source), "main", ContainerSpec(), KubeletContext(world=world))
    assert values(config) == [("A", "3"), ("B", "4")]


def test_the_downward_api_knows_the_pod_and_not_the_plugins() -> None:
    """The downward API knows the pod and its limits, not what plugins set; what lies outside is named. Rules: DM-129"""
    env = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in (
            ("NAME", "metadata.name"),
            ("UID", "metadata.uid"),
            ("LABEL", "metadata.labels['a']"),
            ("NODE", "spec.nodeName"),
            ("IP", "status.podIP"),
        )
    ]
    env += [
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "MILLI", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
        {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]
    limits = {"resources": {"limits": {"cpu": "1500m"}}}
    config = container_config(
        pod({"env": env, "envFrom": [{"secretRef": {"name": "s"}}], **limits}, {"labels": {"a": "b"}}), "main", share()
    )
    assert dict(values(config)) == {
        "NAME": "p", "UID": UID, "LABEL": "b", "NODE": "kubelet-sim", "CPU": "2", "MILLI": "1500",
    }  # fmt: skip
    assert [each.what for each in config.not_simulated] == [
        "envFrom Secret s", "env IP", "env MEMORY", "env KEY", "service variables",
    ]  # fmt: skip


def test_a_pod_that_is_bound_knows_its_node() -> None:
    """What the pod says counts before the name that nodes have if nobody chose one. Rules: DM-129"""
    env = [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    bound = pod({"env": env})
    manifest = {**bound.manifest, "spec": {**bound.manifest["spec"], "nodeName": "n1"}}
    config = container_config(evolve(bound, manifest=manifest), "main", ContainerSpec())
    assert values(config) == [("NODE", "n1")]


def test_a_key_that_is_not_there() -> None:
    """Of a ConfigMap that is known, a missing key is the kubelet's error, unless it is optional."""
    world = ClusterData(objects={("ConfigMap", "m"): {"A": "1"}})
    ref = {"name": "m", "key": "B"}
    with pytest.raises(UsageError, match="couldn't find key B in ConfigMap default/m"):
        container_config(
            pod({"env": [{"name": "X", "valueFrom": {"configMapKeyRef": ref}}]}),
            "main",
            share(),
            KubeletContext(world=world),
        )
    optional = {"env": [{"name": "X", "valueFrom": {"configMapKeyRef": {**ref, "optional": True}}}]}
    assert container_config(pod(optional), "main", share(), KubeletContext(world=world)).envs == ()


def test_a_mount_point_of_both_is_sent_twice() -> None:
    """The plugin's first. Rules: DM-130"""
    config = built(
        {"volumeMounts": [{"name": "v", "mountPath": "/m", "readOnly": True}]},
        share(mounts=[("/m", "/plugin")]),
        volumes=[{"name": "v", "hostPath": {"path": "/pod"}}],
    )
    assert [(each.host_path, each.read_only) for each in config.mounts][:2] == [("/plugin", False), ("/pod", True)]


def test_only_the_pods_own_mount_keeps_etc_hosts_away() -> None:
    """The plugin's does not. Rules: DM-130"""
    of_plugin = built(of=share(mounts=[("/etc/hosts", "/x")]))
    assert [each.container_path for each in of_plugin.mounts].count("/etc/hosts") == 2
    volumes = [{"name": "v", "hostPath": {"path": "/x"}}]
    of_pod = built({"volumeMounts": [{"name": "v", "mountPath": "/etc/hosts"}]}, volumes=volumes)
    assert [each.host_path for each in of_pod.mounts if each.container_path == "/etc/hosts"] == ["/x"]


def test_volumes_that_the_kubelet_makes_lie_in_the_pods_directory() -> None:
    """Those it makes itself lie in the pod's directory, the ones of objects read-only; others are named."""
    kinds = ["emptyDir", "configMap", "secret", "projected", "downwardAPI", "persistentVolumeClaim"]
    config = built(
        {"volumeMounts": [{"name": kind.lower(), "mountPath": f"/{kind}"} for kind in kinds]},
        volumes=[{"name": kind.lower(), kind: {} if kind != "emptyDir" else None} for kind in kinds],
    )
    made = config.mounts[:5]
    assert made[0].host_path == f"{POD_DIRECTORY}/volumes/kubernetes.io~empty-dir/emptydir"
    assert [each.read_only for each in made] == [False, True, True, True, True]
    assert config.not_simulated[0].what == "mount /persistentVolumeClaim"
    assert "persistentVolumeClaim" in config.not_simulated[0].why
    files = [each.what for each in config.not_simulated if each.what.startswith("files of")]
    assert files == [f"files of volume {kind.lower()}" for kind in kinds[1:5]]


def test_a_resource_of_a_container_that_is_missing_is_refused() -> None:
    """One that is named has to be there; a limit that is missing or 0 stands for what the node has, a request for 0."""

    def variable(name: str, **source: str) -> dict[str, Any]:
        return {"name": name, "valueFrom": {"resourceFieldRef": source}}

    limits = {"resources": {"limits": {"cpu": "0"}}}
    env = [variable("LIMIT", resource="limits.cpu"), variable("REQUEST", resource="requests.memory")]
    config = built({"env": [*env, variable("MAIN", resource="requests.cpu", containerName="main")], **limits})
    assert config.env_values() == {"REQUEST": "0", "MAIN": "0"}
    assert config.not_simulated[0].what == "env LIMIT"
    with pytest.raises(UsageError, match="container other not found"):
        built({"env": [variable("A", resource="limits.cpu", containerName="other")]})
    requests = {"resources": {"requests": {"cpu": "1"}}}
    with pytest.raises(UsageError, match=r"env\[0\].*divisor: 'much' is no quantity"):
        built({"env": [variable("A", resource="requests.cpu", divisor="much")], **requests})


@pytest.mark.parametrize(
    "mount, said",
    [
        ({"name": "none"}, "cannot find volume 'none'"),
        ({"name": "v", "mountPath": ""}, r"volumeMounts\[0\].mountPath: there is none"),
        ({"name": "../v"}, "no name of a volume"),
        ({"name": "h"}, r"volumes\[1\].hostPath.path: there is none"),
        ({"name": "v", "subPath": "/abs"}, "absolute"),
        ({"name": "v", "subPath": "a/../../b"}, "out of its volume"),
        ({"name": "v", "subPathExpr": "$(NONE)"}, "missing value for NONE"),
        ({"name": "v", "mountPropagation": "Sideways"}, "Sideways"),
    ],
)
def test_a_container_is_refused_with_the_kubelets_reason(mount: dict[str, Any], said: str) -> None:
    """The container is not created, with the kubelet's reason."""
    volumes = [{"name": "v", "emptyDir": {}}, {"name": "h", "hostPath": {}}]
    with pytest.raises(UsageError, match=said):
        built({"volumeMounts": [{"mountPath": "/m", **mount}]}, volumes=volumes)


@pytest.mark.parametrize("uid", ["../../x", "a/b", "..", "a\0b"])
def test_a_uid_that_names_no_directory(uid: str) -> None:
    """The kubelet's directory of a pod has its name: nothing may be made elsewhere."""
    with pytest.raises(UsageError, match="which names no directory"):
        container_config(pod(None, {"uid": uid}), "main", share())


def test_a_relative_mount_path_gets_its_slash() -> None:
    """A relative path in the container gets its slash; propagation is CRI's number."""
    mount = {"name": "v", "mountPath": "m", "mountPropagation": "Bidirectional"}
    config = built({"volumeMounts": [mount]}, volumes=[{"name": "v", "emptyDir": {}}])
    assert (config.mounts[0].container_path, config.mounts[0].propagation) == ("/m", Propagation.BIDIRECTIONAL)


def test_the_kubelets_annotations_win() -> None:
    """Silently over the plugin's; the pod's own are not copied. Rules: DM-131"""
    key = "io.kubernetes.container.restartCount"
    config = container_config(
        pod(None, {"annotations": {"of": "pod", "cdi.k8s.io/x": "v/c=1"}}),
        "main",
        share(annotations={key: "77", "mine": "1"}),
        KubeletContext(attempt=2),
    )
    found = {each.key: each.value for each in config.annotations}
    assert found[key] == "2"
    assert found["mine"] == "1"
    assert "of" not in found
    assert [(each.key, each.value, each.is_conflict) for each in config.lost] == [(key, "77", True)]
    assert config.not_simulated[0].what == "pod annotation cdi.k8s.io/x"


def test_annotations_that_come_only_when_they_apply() -> None:
    """Grace periods, the preStop handler, ports. Rules: DM-131"""
    config = container_config(
        pod(
            {"ports": [{"containerPort": 80}], "lifecycle": {"preStop": {"exec": {"command": ["x"]}}}},
            {"deletionGracePeriodSeconds": 5},
            terminationGracePeriodSeconds=7,
        ),
        "main",
        share(),
    )
    found = {each.key: each.value for each in config.annotations}
    assert found["io.kubernetes.pod.deletionGracePeriod"] == "5"
    assert found["io.kubernetes.pod.terminationGracePeriod"] == "7"
    assert found["io.kubernetes.container.preStopHandler"] == '{"exec":{"command":["x"]}}'
    assert found["io.kubernetes.container.ports"] == '[{"protocol":"TCP","containerPort":80}]'


def test_cdi_devices_travel_as_the_release_has_it() -> None:
    """Nothing before 1.28, field and annotation up to 1.31, the field alone since 1.32. Rules: DM-132, DM-133, DM-171, DM-175"""
    of = share(cdi=["v/c=b", "v/c=a"])
    now, then = built(of=of), built(of=of, profile=OLD)
    before = built(of=of, profile=Profile(version="1.27", cdi=Cdi.NEVER))
    assert [each.name for each in now.cdi_devices] == [each.name for each in then.cdi_devices] == ["v/c=b", "v/c=a"]
    assert not [each for each in now.annotations if each.key.startswith("cdi.")]
    assert then.annotations[-1].key == f"cdi.k8s.io/devicemanager_{UID}-main"
    assert then.annotations[-1].value == "v/c=a,v/c=b"
    assert before.cdi_devices == ()
    assert [each.key for each in before.lost] == ["v/c=b", "v/c=a"]


def test_cdi_devices_that_the_node_left_out() -> None:
    """A node of an old release hands none on, and says whose they were: the reason is the same. Rules: DM-171, DM-181"""
    answers = {ResourceName(GPU): ContainerResponse(cdi_devices=("v/c=b",))}
    of = without_cdi(merged(Bench().manager.context, "p", answers))
    config = built(of=of, profile=Profile(version="1.27", cdi=Cdi.NEVER))
    [lost] = config.lost
    assert (lost.part, lost.key, str(lost.origin)) == ("CDI device", "v/c=b", f"plugin {GPU}")
    assert "1.27 does not know cdi_devices" in lost.why


@pytest.mark.parametrize("length, is_there", [(12, True), (13, False)])
def test_a_long_container_name_leaves_no_room_for_a_cdi_annotation(length: int, is_there: bool) -> None:
    """A longer name leaves no room in the annotation's key; the field is sent all the same. Rules: DM-133"""
    name = "c" * length
    config = container_config(pod({"name": name}), name, share(cdi=["v/c=a"]), KubeletContext(profile=OLD))
    assert any(each.key.startswith("cdi.") for each in config.annotations) is is_there
    assert [each.name for each in config.cdi_devices] == ["v/c=a"]
    assert bool([each for each in config.lost if "Failed to create CDI annotations" in each.why]) is not is_there


def test_one_malformed_name_and_there_is_no_annotation() -> None:
    """The field carries it on; a class with a dot was malformed then. Rules: DM-133"""
    config = built(of=share(cdi=["v/c=a", "v/c.d=b"]), profile=OLD)
    assert not [each for each in config.annotations if each.key.startswith("cdi.")]
    assert len(config.cdi_devices) == 2


def test_a_plugins_annotation_with_the_kubelets_key() -> None:
    """It stays, and the kubelet adds none. Rules: DM-133"""
    key = f"cdi.k8s.io/devicemanager_{UID}-main"
    config = built(of=share(cdi=["v/c=a"], annotations={key: "v/c=z"}), profile=OLD)
    assert [each.value for each in config.annotations if each.key == key] == ["v/c=z"]
    assert [each.key for each in config.lost] == [key]


def test_what_the_merge_dropped_is_told() -> None:
    """Whose it was, who has it, and that a kubelet picks at random; inside one answer it does not. Rules: DM-124"""
    dropped = (Dropped("envs", "A", NIC, "2", "1", GPU), Dropped("mounts", "/m", GPU, "/2", "/1", GPU))
    config = built(of=ContainerSpec((("A", "1"),), provenance=Provenance(envs=(GPU,), dropped=dropped)))
    first, second = config.lost
    assert (first.part, str(first.origin), first.is_conflict) == ("env", f"plugin {NIC}", True)
    assert "random" in first.why
    assert GPU in first.why
    assert "random" not in second.why


def test_init_containers_get_their_own_and_unknown_names_are_refused() -> None:
    """Init containers get theirs, too; a name that there is not is an error that says which there are."""
    both = pod(initContainers=[{"name": "first", "env": [{"name": "I", "value": "1"}]}])
    assert values(container_config(both, "first", share())) == [("I", "1")]
    with pytest.raises(UsageError, match="no container 'none'; there are: first, main"):
        container_config(both, "none", share())


def test_the_security_context_of_the_container_goes_over_the_pods() -> None:
    """The container's own over the pod's; shares and quota as the kubelet computes them."""
    config = built(
        {
            "securityContext": {
                "runAsUser": 5,
                "capabilities": {"add": ["NET_ADMIN"]},
                "allowPrivilegeEscalation": False,
            },
            "resources": {"limits": {"cpu": "500m", "memory": "1Mi"}},
        },
        securityContext={"runAsUser": 1, "runAsGroup": 2, "fsGroup": 3, "supplementalGroups": [4]},
        hostPID=True,
    )
    security = config.security
    assert (security.run_as_user, security.run_as_group, security.supplemental_groups) == (5, 2, (3, 4))
    assert (security.no_new_privileges, security.host_pid, security.add_capabilities) == (True, True, ("NET_ADMIN",))
    limits = config.limits
    assert (limits.cpu_quota, limits.cpu_shares, limits.memory_bytes) == (50_000, 512, 2**20)
    assert limits.oom_score_adjust == -997
    assert built().limits.oom_score_adjust == 1000
    assert built({"resources": {"requests": {"cpu": "1"}}}).limits.oom_score_adjust is None


@pytest.mark.parametrize(
    "container, path",
    [
        ({"env": "A=1"}, "env"),
        ({"env": ["A=1"]}, "env[0]"),
        ({"env": [{"name": "A", "value": 1}]}, "env[0].value"),
        ({"command": "run"}, "command"),
        ({"command": [1]}, "command"),
        ({"tty": "yes"}, "tty"),
        ({"securityContext": {"runAsUser": "root"}}, "runAsUser"),
        ({"securityContext": []}, "securityContext"),
    ],
)
def test_a_field_of_another_kind_is_refused_with_its_place(container: dict[str, Any], path: str) -> None:
    """One line says where the field is, and what was expected."""
    with pytest.raises(UsageError) as caught:
        built(container)
    assert path in str(caught.value)
    assert "expected" in str(caught.value)
