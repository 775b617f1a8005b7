"""Whatever plugins grant and a pod says: what holds of the merge, and of the container in its two forms."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from kubelet_sim.container import container_config, cri, explain, oci
from kubelet_sim.container.config import ContainerConfig
from kubelet_sim.container.host import FileKind, HostFile
from kubelet_sim.container.oci import effective_env
from kubelet_sim.core.devices.response_merge import merged
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.response import ContainerResponse, ContainerSpec, DeviceNode, Mount
from tests.unit.container import cri_messages
from tests.unit.container.parts import FakeHost, check_oci, pod
from tests.unit.core.bench import Bench, Reversed

names = st.sampled_from("ABC")
values = st.sampled_from("12")
paths = st.sampled_from(["/a", "/a/b", "/dev/x", "/etc/hosts", "/a/"])
responses = st.builds(
    ContainerResponse,
    envs=st.dictionaries(names, values, max_size=3),
    mounts=st.lists(st.builds(Mount, paths, st.sampled_from(["/h", "/i"]), st.booleans()), max_size=3).map(tuple),
    devices=st.lists(
        st.builds(DeviceNode, paths, st.sampled_from(["/dev/1", "/dev/2"]), st.just("rw")), max_size=3
    ).map(tuple),
    annotations=st.dictionaries(names, values, max_size=2),
    cdi_devices=st.lists(st.sampled_from(["v/c=1", "v/c=2"]), max_size=3).map(tuple),
)
granted = st.lists(responses, max_size=3)
own = st.fixed_dictionaries({
    "env": st.lists(st.fixed_dictionaries({"name": names, "value": values}), max_size=3),
    "volumeMounts": st.lists(st.fixed_dictionaries({"name": st.just("v"), "mountPath": paths, "readOnly": st.booleans()}), max_size=2),
    "command": st.lists(st.sampled_from(["run", "$(A)", "$$(A)"]), max_size=2),
})  # fmt: skip
HOST = FakeHost({"/dev/1": HostFile(FileKind.CHARACTER, 1, 1), "/dev/2": HostFile(FileKind.BLOCK, 2, 2)})


def _merge(answers: list[ContainerResponse], bench: Bench) -> ContainerSpec:
    resources = (ResourceName(f"{letter}.io/x") for letter in "abc")
    return merged(bench.manager.context, "p", dict(zip(resources, answers, strict=False)))


def _contents(spec: ContainerSpec) -> tuple[frozenset[object], ...]:
    """What is in the spec, whatever the order; of doubled paths only what the kubelet compares."""
    return (
        frozenset(spec.envs),
        frozenset((each.container_path, each.host_path) for each in spec.mounts),
        frozenset((each.container_path, each.host_path) for each in spec.devices),
        frozenset(spec.annotations),
        frozenset(spec.cdi_devices),
    )


@given(granted)
def test_only_conflicts_depend_on_the_order(answers: list[ContainerResponse]) -> None:
    """Merged in another order, a container gets the same, but for the conflicts that the merge reports. Rules: DM-123, DM-124"""
    one, other = _merge(answers, Bench()), _merge(answers, Bench(order=Reversed()))
    conflicts = [each for spec in (one, other) for each in spec.provenance.dropped if each.is_conflict]
    if not conflicts:
        assert _contents(one) == _contents(other)
    keys = {each.key for each in conflicts}
    for first, second in zip(_contents(one), _contents(other), strict=True):
        for entry in first ^ second:
            assert isinstance(entry, tuple)
            assert entry[0] in keys


@given(granted)
def test_nothing_gets_lost_without_a_word(answers: list[ContainerResponse]) -> None:
    """Each entry of an answer is in the merge with its resource, or among what was dropped. Rules: DM-124"""
    spec = _merge(answers, Bench())
    for part in ("envs", "mounts", "devices", "annotations", "cdi_devices"):
        entries = getattr(spec, part)
        assert len(getattr(spec.provenance, part)) == len(entries)
        dropped = [each for each in spec.provenance.dropped if each.part == part]
        assert len(entries) + len(dropped) == sum(len(getattr(answer, part)) for answer in answers)


def _config(answers: list[ContainerResponse], container: dict[str, object]) -> ContainerConfig:
    volumes = [{"name": "v", "emptyDir": {}}]
    return container_config(pod(container, volumes=volumes), "main", _merge(answers, Bench()))


@given(granted, own)
def test_cri_and_oci_agree(answers: list[ContainerResponse], container: dict[str, object]) -> None:
    """One container in two forms: the same variables, mounts, devices. Rules: DM-126, DM-127, DM-128, DM-130"""
    config = _config([ContainerResponse(a.envs, a.mounts, a.devices, a.annotations) for a in answers], container)
    first, second = cri(config), oci(config, HOST)
    cri_messages.read(json.loads(json.dumps(first)))
    check_oci(second)
    sent = {each["key"]: each.get("value", "") for each in first.get("envs", ())}
    seen = effective_env(second["process"]["env"])
    assert {name: seen[name] for name in sent} == sent
    assert set(seen) == {*sent, "PATH", "HOSTNAME"}
    binds = [each for each in second["mounts"] if each["type"] == "bind"]
    assert sorted((each["destination"], "ro" in each["options"]) for each in binds) == sorted(
        (each["container_path"], each.get("readonly", False)) for each in first["mounts"]
    )
    assert [each["path"] for each in second["linux"]["devices"]] == [
        each["container_path"] for each in first.get("devices", ())
    ]
    assert second["process"]["args"] == (first.get("command") or ["sh"])


@given(granted, own)
def test_everything_is_explained(answers: list[ContainerResponse], container: dict[str, object]) -> None:
    """Every entry of the message has an origin with a rule; an explanation never fails, CDI names or not."""
    config = _config(answers, container)
    told = explain(config, HOST)
    document = cri(config)
    for part, field in (("env", "envs"), ("mount", "mounts"), ("device", "devices"), ("CDI device", "CDI_devices")):
        assert len([each for each in told.entries if each.part == part]) == len(document.get(field, ()))
    assert all(each.origin.rules for each in told.entries)
    assert bool(config.cdi_devices) == bool(told.refused)
