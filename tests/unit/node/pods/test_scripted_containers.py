"""What manifests say of how simulated containers behave."""

from __future__ import annotations

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.node.pods.scripted_containers import (
    Ending,
    can_be_pulled,
    check,
    ending,
    grace_s,
    image_of,
    stopping_s,
)
from tests.unit.node.example_pods import container, manifest_pod


@pytest.mark.parametrize(
    "value, expected",
    [("0", Ending(0)), ("3 after 1.5s", Ending(3, 1.5)), ("255  after 20", Ending(255, 20)), ("never", None)],
)
def test_an_end_that_is_written_down(value: str, expected: Ending | None) -> None:
    """A code, a code and a time, or never."""
    pod = manifest_pod(init=["i"], annotations={"exit.kubelet-sim/i": value})
    check(pod)
    assert ending(pod, container(pod, "i")) == expected


def test_without_a_word_only_init_containers_end() -> None:
    """At once, and well; app containers and sidecars run on, and all of them stop at once."""
    pod = manifest_pod(init=["i"], sidecars=["s"])
    assert {each.name: ending(pod, each) for each in pod.all_containers()} == {"s": None, "i": Ending(0), "main": None}
    assert {stopping_s(pod, each) for each in pod.all_containers()} == {0.0}


@pytest.mark.parametrize(
    "key, value, said",
    [
        ("exit.kubelet-sim/main", "soon", "CODE after SECONDS"),
        ("exit.kubelet-sim/main", "256", "CODE after SECONDS"),
        ("exit.kubelet-sim/main", "-1", "CODE after SECONDS"),
        ("exit.kubelet-sim/other", "0", "no such container"),
        ("stop.kubelet-sim/main", "a while", "number of seconds"),
        ("stop.kubelet-sim/other", "1", "no such container"),
    ],
)
def test_a_value_that_says_nothing_is_refused(key: str, value: str, said: str) -> None:
    """The error names pod, annotation and value, before anything was applied."""
    with pytest.raises(UsageError, match=said) as caught:
        check(manifest_pod(annotations={key: value}))
    assert key in str(caught.value)


@pytest.mark.parametrize(
    "image, is_there",
    [
        ("", True),
        ("busybox", True),
        ("invalid", True),
        ("registry.example/x:1", True),
        ("registry.invalid/x:1", False),
        ("registry.invalid:5000/x", False),
        ("invalid/x", False),
        ("notinvalid/x", True),
    ],
)
def test_which_images_there_are(image: str, is_there: bool) -> None:
    """Registries below the top-level domain `invalid` do not exist."""
    assert can_be_pulled(image) is is_there


def test_what_else_a_manifest_says() -> None:
    """The image of a container, and the grace period, 30 s unless it is given."""
    pod = manifest_pod(containers=[{"name": "main", "image": "x"}], terminationGracePeriodSeconds=5)
    assert image_of(pod, container(pod, "main")) == "x"
    assert grace_s(pod) == 5
    assert grace_s(manifest_pod()) == 30
    annotated = manifest_pod(annotations={"stop.kubelet-sim/main": "12s"})
    assert stopping_s(annotated, container(annotated, "main")) == 12
