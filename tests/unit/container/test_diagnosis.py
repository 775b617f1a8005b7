from __future__ import annotations

import json
from typing import Any

import pytest

from kubelet_sim.container import Severity, container_config, diagnose, explain, read_registry
from kubelet_sim.container.diagnosis import Remark
from kubelet_sim.model.response import ContainerSpec, Dropped, Provenance
from tests.unit.container.parts import FUSE, GPU, HOST, NIC, FakeHost, pod, share


def remarks(
    of: ContainerSpec, container: dict[str, Any] | None = None, host: FakeHost = HOST, **spec: Any
) -> tuple[Remark, ...]:
    """What there is to say of a container."""
    return diagnose(container_config(pod(container, **spec), "main", of), host)


def test_a_proper_grant_has_no_remarks() -> None:
    """A grant that is as it should be gives nothing to say."""
    good = share(envs={"A": "1"}, mounts=[("/m", "/srv")], devices=[("/dev/a", "/dev/null", "rw")], cdi=["v/c=1"])
    assert remarks(good) == ()


ODD: dict[str, tuple[dict[str, Any], Severity, str]] = {
    "an empty name": ({"envs": {"": "x"}}, Severity.ERROR, "can't be empty"),
    "a name with =": ({"envs": {"A=B": "x"}}, Severity.WARNING, "'A' with the value 'B=x'"),
    "a NUL": ({"envs": {"A": "\0"}}, Severity.ERROR, "NUL"),
    "an odd name": ({"envs": {"my-var": "x"}}, Severity.WARNING, "shells"),
    "a huge value": ({"envs": {"A": "x" * 131_072}}, Severity.ERROR, "argument list too long"),
    "a large value": ({"envs": {"A": "x" * 40_000}}, Severity.WARNING, "131072"),
    "a list with doubles": ({"envs": {"A": "x,y,x"}}, Severity.WARNING, "twice"),
    "half a character": ({"envs": {"A": "\ud800" * 20_000}}, Severity.WARNING, "131072"),
    "a relative mount": ({"mounts": [("m", "/srv")]}, Severity.WARNING, "relative"),
    "a mount without path": ({"mounts": [("", "/srv")]}, Severity.ERROR, "empty"),
    "a relative source": ({"mounts": [("/m", "srv")]}, Severity.WARNING, "relative"),
    "an unclean path": ({"mounts": [("/m/../n", "/srv")]}, Severity.WARNING, "the same as /n"),
    "a missing source": ({"mounts": [("/m", "/none")]}, Severity.WARNING, "empty directory"),
    "a mount over /dev": ({"mounts": [("/dev", "/srv")]}, Severity.WARNING, "none of the usual device nodes is made"),
    "the host's /dev": ({"mounts": [("/dev", "/dev")]}, Severity.WARNING, "all device nodes of the host"),
    "a mount over /proc": ({"mounts": [("/proc/", "/srv")]}, Severity.WARNING, "runc refuses all but the host's"),
    "a mount below /proc": ({"mounts": [("/proc/driver/x", "/srv")]}, Severity.WARNING, "a mount below /proc"),
    "two slashes": ({"mounts": [("//m", "/srv")]}, Severity.WARNING, "the same as /m"),
    "/dev with two slashes": ({"mounts": [("//dev", "/srv")]}, Severity.WARNING, "a mount over /dev"),
    "a mount over the root": ({"mounts": [("/", "/srv")]}, Severity.WARNING, "a mount over /"),
    "a relative device": ({"devices": [("dev/a", "/dev/null", "rw")]}, Severity.WARNING, "relative"),
    "a relative host device": ({"devices": [("/dev/a", "null", "rw")]}, Severity.WARNING, "relative"),
    "no permissions": ({"devices": [("/dev/a", "/dev/null", "")]}, Severity.ERROR, "no permissions"),
    "unknown letters": ({"devices": [("/dev/a", "/dev/null", "rx")]}, Severity.WARNING, "x is none of"),
    "a letter twice": ({"devices": [("/dev/a", "/dev/null", "rr")]}, Severity.WARNING, "twice"),
    "a missing device": ({"devices": [("/dev/a", "/dev/none", "rw")]}, Severity.ERROR, "no such file"),
    "a file as device": ({"devices": [("/dev/a", "/etc/hosts", "rw")]}, Severity.ERROR, "not a device node"),
    "a directory as device": ({"devices": [("/dev/a", "/srv", "rw")]}, Severity.WARNING, "every device in it"),
    "an odd annotation": ({"annotations": {"a b": "1"}}, Severity.WARNING, "qualified name"),
    "an annotation": ({"annotations": {"a": "1"}}, Severity.NOTE, "container_annotations"),
    "a CDI annotation": ({"annotations": {"cdi.k8s.io/x": "nonsense"}}, Severity.ERROR, "no CDI name"),
    "a CDI name": ({"cdi": ["gpu0"]}, Severity.ERROR, "no CDI name"),
    "both channels": ({"cdi": ["v/c=1"], "annotations": {"cdi.k8s.io/x": "v/c=1"}}, Severity.WARNING, "asked for twice"),
    "a device under a mount": (
        {"mounts": [("/dev/a", "/srv")], "devices": [("/dev/a", "/dev/null", "rw")]}, Severity.WARNING, "a device and a mount",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_things_are_told(name: str) -> None:
    """Each with what a runtime makes of it, and whose it is; the kubelet passes them all on. Rules: DM-125"""
    parts, severity, text = ODD[name]
    found = remarks(share(**parts))
    told = [each for each in found if text in each.text]
    assert [each.severity for each in told] == [severity], found
    assert str(told[0].origin) == f"plugin {GPU}"


def test_a_volume_over_dev_hides_what_a_runtime_needs() -> None:
    """What the kubelet makes is empty, and a runtime needs a `/dev/null`; a volume elsewhere is nothing to tell."""
    found = remarks(
        share(),
        {"volumeMounts": [{"name": "v", "mountPath": "/dev/"}, {"name": "v", "mountPath": "/data"}]},
        volumes=[{"name": "v", "emptyDir": {}}],
    )
    assert [(each.severity, each.key) for each in found] == [(Severity.ERROR, "/dev/")]
    assert "do not start" in found[0].text
    assert str(found[0].origin) == "pod volume v (emptyDir)"


def test_links_are_told() -> None:
    """Of mounts and devices, with what they lead to, and what is wrong with that."""
    host = FakeHost({"/dev/l": "->/dev/x", "/dev/x": FUSE, "/m": "->/dev/x", "/dev/broken": "->/dev/none"})
    found = remarks(
        share(mounts=[("/m", "/m")], devices=[("/dev/l", "/dev/l", "r"), ("/dev/b", "/dev/broken", "r")]), host=host
    )
    assert [(each.severity, each.key) for each in found] == [
        (Severity.WARNING, "/m"),
        (Severity.WARNING, "/dev/l"),
        (Severity.WARNING, "/dev/b"),
        (Severity.ERROR, "/dev/b"),
    ]
    assert "(/dev/x)" in found[1].text


def test_a_conflict_between_plugins_says_what_was_dropped() -> None:
    """What was dropped, whose it was, and that the kubelet rolls dice. Rules: DM-124"""
    dropped = (Dropped("envs", "A", NIC, "2", "1", GPU), Dropped("cdi_devices", "v/c=1", NIC, "v/c=1", "v/c=1", GPU))
    found = remarks(ContainerSpec((("A", "1"),), provenance=Provenance(envs=(GPU,), dropped=dropped)))
    assert [(each.severity, each.part, each.key, each.rules) for each in found] == [
        (Severity.WARNING, "env", "A", ("DM-124",))
    ]
    assert "random" in found[0].text


def test_of_plugin_and_pod_the_pod_wins_and_that_is_told() -> None:
    """Variables: the process sees the pod's. Mounts: the pod's lies on top. Rules: DM-128, DM-130"""
    found = remarks(
        share(envs={"A": "plugin"}, mounts=[("/m/", "/srv")]),
        {"env": [{"name": "A", "value": "pod"}], "volumeMounts": [{"name": "v", "mountPath": "/m"}]},
        volumes=[{"name": "v", "emptyDir": {}}],
    )
    assert [(each.part, each.rules) for each in found] == [("env", ("DM-128",)), ("mount", ("DM-130",))]
    assert "'pod'" in found[0].text
    assert "pod volume v (emptyDir)" in found[1].text


def test_an_annotation_of_the_kubelets_name_is_overwritten() -> None:
    """An annotation of the kubelet's name is overwritten. Rules: DM-131"""
    found = remarks(share(annotations={"io.kubernetes.container.restartCount": "7"}))
    assert [(each.severity, each.rules) for each in found] == [(Severity.WARNING, ("DM-131",))]


CDI = {
    "/etc/cdi/a.json": json.dumps(
        {
            "cdiVersion": "1.0.0",
            "kind": "v/c",
            "devices": [
                {
                    "name": "1",
                    "containerEdits": {
                        "env": ["A=cdi"],
                        "deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/fuse"}],
                        "mounts": [{"hostPath": "/x", "containerPath": "/m"}],
                    },
                }
            ],
        }
    )
}


def test_conflicts_between_cdi_and_the_rest() -> None:
    """What CDI puts in the place of a plugin's variable, device node and mount. Rules: DM-132"""
    of = share(envs={"A": "1"}, devices=[("/dev/a", "/dev/null", "rw")], mounts=[("/m", "/srv")], cdi=["v/c=1"])
    told = explain(container_config(pod(), "main", of), HOST, read_registry(FakeHost(CDI)))
    assert [(each.part, each.key) for each in told.remarks] == [("env", "A"), ("device", "/dev/a"), ("mount", "/m")]
    assert all("in the place of" in each.text for each in told.remarks)
    assert not told.has_errors


def test_cdi_files_that_do_not_count() -> None:
    """A definition in a lower directory is among what was dropped, a file that is wrong among the warnings.

    Neither is told of a container that asks for no CDI device.

    Rules: DM-132
    """
    files = FakeHost({**CDI, "/run/cdi/b.json": CDI["/etc/cdi/a.json"], "/run/cdi/c.yaml": "cdiVersion: 9.9.9"})
    registry = read_registry(files, ("/etc/cdi", "/run/cdi"))
    told = explain(container_config(pod(), "main", share(cdi=["v/c=1"])), HOST, registry)
    assert [(each.part, each.key, each.value) for each in told.lost] == [("CDI device", "v/c=1", "/etc/cdi/a.json")]
    assert "/run/cdi/b.json" in told.lost[0].why
    assert [(each.severity, each.part, each.key) for each in told.remarks] == [
        (Severity.WARNING, "CDI file", "/run/cdi/c.yaml")
    ]
    assert "9.9.9" in told.remarks[0].text
    assert not told.has_errors
    without = explain(container_config(pod(), "main", share()), HOST, registry)
    assert (without.lost, without.remarks) == ((), ())


def test_a_cdi_directory_that_cannot_be_read() -> None:
    """It is told, since nothing of those after it counts either. Rules: DM-132"""
    registry = read_registry(FakeHost(CDI, refuses="/run/cdi"), ("/etc/cdi", "/run/cdi"))
    told = explain(container_config(pod(), "main", share(cdi=["v/c=1"])), HOST, registry)
    assert [(each.part, each.key) for each in told.remarks] == [("CDI file", "/run/cdi")]
    assert "Permission denied" in told.remarks[0].text


def test_an_explanation_has_each_entry_with_its_origin() -> None:
    """Each entry with its origin, in the order of the message, then what CDI changes. Rules: DM-124, DM-132"""
    of = share(envs={"A": "1"}, devices=[("/dev/b", "/dev/null", "rw")], annotations={"k": "v"}, cdi=["v/c=1"])
    told = explain(
        container_config(pod({"env": [{"name": "B", "value": "2"}]}), "main", of), HOST, read_registry(FakeHost(CDI))
    )
    assert [
        (each.part, each.key, str(each.origin)) for each in told.entries if each.origin.giver.value != "kubelet"
    ] == [
        ("env", "A", f"plugin {GPU}"),
        ("env", "B", "pod env"),
        ("device", "/dev/b", f"plugin {GPU}"),
        ("annotation", "k", f"plugin {GPU}"),
        ("CDI device", "v/c=1", f"plugin {GPU}"),
        ("env", "A", "CDI v/c=1 (/etc/cdi/a.json)"),
        ("device", "/dev/a", "CDI v/c=1 (/etc/cdi/a.json)"),
        ("mount", "/m", "CDI v/c=1 (/etc/cdi/a.json)"),
    ]
    assert all(each.origin.rules for each in told.entries)


def test_an_explanation_of_what_would_be_refused() -> None:
    """It says so instead of raising, and says the rest all the same."""
    told = explain(container_config(pod(), "main", share(cdi=["v/c=9"], envs={"A": "1"})), HOST)
    assert "unresolvable" in told.refused
    assert told.has_errors
    assert told.entries[0].key == "A"


def test_a_host_that_cannot_be_looked_at_is_as_good_as_empty() -> None:
    """A diagnosis never fails."""

    class Closed(FakeHost):
        def look(self, path: str) -> Any:
            raise PermissionError(13, "Permission denied", path)

        resolved = look

    found = remarks(share(devices=[("/dev/a", "/dev/a", "rw")], mounts=[("/m", "/m")]), host=Closed())
    assert [each.severity for each in found] == [Severity.WARNING, Severity.ERROR]
