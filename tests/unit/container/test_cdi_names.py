from __future__ import annotations

import pytest

from kubelet_sim.container.cdi.annotations import all_names, annotation_key, annotation_value, names_in
from kubelet_sim.container.cdi.names import BadName, QualifiedName, parse_name


@pytest.mark.parametrize(
    "text, parts",
    [
        ("vendor.com/device=gpu0", ("vendor.com", "device", "gpu0")),
        ("a.b.c.d/class=x", ("a.b.c.d", "class", "x")),
        ("v/c=0", ("v", "c", "0")),
        ("vendor.com/gpu.shared=0", ("vendor.com", "gpu.shared", "0")),
        ("vendor_1/class-2=a.b:c_d-e", ("vendor_1", "class-2", "a.b:c_d-e")),
        ("Vendor/Class=GPU", ("Vendor", "Class", "GPU")),
        ("vendor.com/net=0000:01:00.0", ("vendor.com", "net", "0000:01:00.0")),
    ],
)
def test_full_names_may_have_dots_colons_and_digits(text: str, parts: tuple[str, str, str]) -> None:
    """Vendors and classes may have dots, devices also colons, and may begin with a digit."""
    name = parse_name(text)
    assert name == QualifiedName(*parts)
    assert str(name) == text
    assert name.kind == text.partition("=")[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gpu0",
        "/dev/null",
        "/dev/a=b",
        "vendor.com=gpu0",
        "vendor.com/device",
        "vendor.com/device=",
        "/device=gpu0",
        "vendor.com/=gpu0",
        "=gpu0",
        "1vendor/device=gpu0",
        "vendor.com/1device=gpu0",
        "vendor.com./device=gpu0",
        "vendor.com/device-=gpu0",
        "vendor.com/device=-gpu",
        "vendor.com/device=gpu:",
        "vendor.com/device=gpu 0",
        "vendor.com/a/b=gpu0",
        "vendör/device=gpu0",
        "vendor.com/device=gpu0,vendor.com/device=gpu1",
        "vendor.com/device=a=b",
        "vendor.com/device=gpu0\n",
    ],
)
def test_malformed_names_are_refused(text: str) -> None:
    """A part that is missing, a character too many, a wrong first or last one, a path: none is a CDI name."""
    with pytest.raises(BadName):
        parse_name(text)


def test_the_kubelet_knew_no_dots_in_classes() -> None:
    """Its own check in 1.28–1.31 is older than CDI 0.6.0. Rules: DM-133"""
    with pytest.raises(BadName, match="class"):
        parse_name("vendor.com/gpu.shared=0", dotted_class=False)
    assert str(parse_name("vendor.com/gpu=0", dotted_class=False)) == "vendor.com/gpu=0"


def test_an_annotations_key_is_made_of_plugin_and_allocation() -> None:
    """Plugin and allocation, with slashes as underscores. Rules: DM-133"""
    assert annotation_key("vendor.device", "pod/a") == "cdi.k8s.io/vendor.device_pod_a"


@pytest.mark.parametrize(
    "plugin, allocation",
    [("", "x"), ("x", ""), ("x", "y" * 62), ("-x", "y"), ("x", "y-"), ("x", "y z"), ("x", "y\n")],
)
def test_keys_that_no_label_could_have_are_refused(plugin: str, allocation: str) -> None:
    """Empty parts, more than 63 characters, and what no label could be. Rules: DM-133"""
    with pytest.raises(BadName):
        annotation_key(plugin, allocation)


def test_a_key_may_have_63_characters_behind_the_prefix() -> None:
    """A key of 63 characters behind the prefix is taken. Rules: DM-133"""
    assert len(annotation_key("x", "y" * 61)) == len("cdi.k8s.io/") + 63


def test_an_annotations_value_is_names_joined_by_commas() -> None:
    """Names joined by commas, each of them checked. Rules: DM-133"""
    assert annotation_value(["v/c=a", "v/c=b"]) == "v/c=a,v/c=b"
    assert annotation_value([]) == ""
    with pytest.raises(BadName):
        annotation_value(["v/c=a", "b"])


def test_names_of_all_annotations_are_found() -> None:
    """Other annotations do not count; one malformed name spoils them all."""
    annotations = {"cdi.k8s.io/one": "v/c=a,v/c=b", "other": "v/c=x", "cdi.k8s.io/two": "w/c=a"}
    assert names_in(annotations) == ("v/c=a", "v/c=b", "w/c=a")
    with pytest.raises(BadName):
        names_in({"cdi.k8s.io/one": "v/c=a, v/c=b"})


def test_both_channels_are_one_request() -> None:
    """The field comes first, and what an annotation repeats is taken once. Rules: DM-132, DM-133"""
    assert all_names(["v/c=b", "v/c=b"], {"cdi.k8s.io/x": "v/c=a,v/c=b"}) == ("v/c=b", "v/c=a")
