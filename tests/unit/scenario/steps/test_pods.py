from __future__ import annotations

import pytest

from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.scenario.steps.pods import with_cdi_annotation

POD = Pod("p", "default", PodUID("u1"), containers=(Container(ContainerName("c0")),))


def _told(*cdi: str) -> dict[str, object]:
    return {"options": {"annotations": [["z", "1"]], "cdi": list(cdi)}}


def test_cdi_names_are_in_an_annotation() -> None:
    """The device manager of 1.28 to 1.31 puts all CDI names of a container into one annotation, too. Rules: DM-133"""
    told = with_cdi_annotation(_told("acme.io/nic=all", "vendor/common=1"), POD, ContainerName("c0"))
    added = ["cdi.k8s.io/devicemanager_u1-c0", "acme.io/nic=all,vendor/common=1"]
    assert told["options"]["annotations"] == [added, ["z", "1"]]


@pytest.mark.parametrize("told", [_told(), _told("no name"), {"options": None}, {"error": "e"}])
def test_no_annotation(told: dict[str, object]) -> None:
    """Without a CDI name, or with one that is malformed, nothing is added. Rules: DM-133"""
    assert with_cdi_annotation(told, POD, ContainerName("c0")) == told
