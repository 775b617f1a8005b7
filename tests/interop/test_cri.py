"""The CRI form of a container, read by Kubernetes' own package of CRI."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kubelet_sim.container import KubeletContext, container_config, cri
from kubelet_sim.container.config import ContainerConfig
from tests.interop.looking import BUILD_LIMIT_S
from tests.patience import PATIENCE_S
from tests.unit.container import cri_messages
from tests.unit.container.parts import pod, share
from tests.unit.container.test_cri import FULL

pytestmark = pytest.mark.timeout(BUILD_LIMIT_S)
PLAIN = container_config(pod(), "main", share())
MAPPED = container_config(
    pod({"env": [{"name": "EMPTY"}], "securityContext": {"runAsGroup": 5}}, hostUsers=False),
    "main",
    share(envs={"A": "é\n"}, mounts=[("/m", "/hm")], cdi=["v/c=1"]),
    KubeletContext(attempt=1),
)


def message_in_go(reader: Path, document: dict[str, Any]) -> bytes:
    """What Kubernetes' own package makes of the JSON, on the wire."""
    text = json.dumps(document).encode()
    return subprocess.run([reader], input=text, capture_output=True, timeout=PATIENCE_S, check=True).stdout


@pytest.mark.parametrize("config", [FULL, PLAIN, MAPPED], ids=["everything", "nothing", "user namespace"])
def test_kubernetes_own_package_reads_it(cri_reader: Path, config: ContainerConfig) -> None:
    """Every field is one of the real message and keeps its value; our own tests read the same fields from the wire.

    Rules: DM-126, DM-127, DM-128, DM-131, DM-132
    """
    document = cri(config)
    sent = cri_messages.on_the_wire(message_in_go(cri_reader, document))
    assert sent == cri_messages.read(document)


def test_a_field_of_another_name_or_kind_is_an_error(cri_reader: Path) -> None:
    """A field of another name or kind is an error."""
    wrong_ones: tuple[dict[str, Any], ...] = ({"cdi": []}, {"envs": [{"key": 1}]})
    for wrong in wrong_ones:
        with pytest.raises(subprocess.CalledProcessError):
            message_in_go(cri_reader, {**cri(PLAIN), **wrong})
