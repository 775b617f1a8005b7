"""Names of resources. Rules: DM-24"""

from __future__ import annotations

import pytest

from kubelet_sim.model.resource_name import is_extended_resource_name, is_native_resource_name, is_qualified_name


@pytest.mark.parametrize(
    "name",
    [
        "example.com/dev", "foo/bar", "1/2", "example.com/Dev_1.x", "kubernetes.io.example.com/x",
        "attachable-volumes-aws/x", "limits.foo/x", "a" * 244 + "/x", "x/" + "a" * 63,
    ],
)  # fmt: skip
def test_accepts_extended_resource_names(name: str) -> None:
    """The left side of the table of DM-24."""
    assert is_extended_resource_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "cpu", "", "hugepages-2Mi", "kubernetes.io/x", "a.kubernetes.io/x", "notkubernetes.io/x", "requests.foo/bar",
        "Example.com/dev", "exa_mple.com/d", "example.com/", "/dev", "example.com/-d", "example.com/d-",
        "a" * 245 + "/x", "x/" + "a" * 64, "a/b/c", "foo.kubernetes.io/x", "example..com/x", "example.com/x\n",
        "example.com\n/x", "exämple.com/x", "example.com/de v", "-a/x", "a-/x",
    ],
)  # fmt: skip
def test_refuses_everything_else(name: str) -> None:
    """The right side of the table of DM-24, and more of the same kinds."""
    assert not is_extended_resource_name(name)


@pytest.mark.parametrize("name, native", [("cpu", True), ("a.kubernetes.io/x", True), ("foo/bar", False)])
def test_tells_the_names_of_kubernetes(name: str, native: bool) -> None:
    """Without a domain, or with kubernetes.io/ anywhere, a name is Kubernetes' own."""
    assert is_native_resource_name(name) is native


@pytest.mark.parametrize("name, valid", [("cpu", True), ("a.b/C_d", True), ("a" * 253 + "/x", True), ("a" * 254 + "/x", False), ("/x", False), ("", False)])  # fmt: skip
def test_a_qualified_name_may_stand_alone(name: str, valid: bool) -> None:
    """The domain is optional, but not empty, and has up to 253 characters."""
    assert is_qualified_name(name) is valid
