from __future__ import annotations

from kubelet_sim.model.ids import split_pod_name


def test_a_pod_is_named_with_or_without_its_namespace() -> None:
    """What stands before a slash wins over the option."""
    assert split_pod_name("p") == ("default", "p")
    assert split_pod_name("p", "n") == ("n", "p")
    assert split_pod_name("m/p", "n") == ("m", "p")
